// Gateways that serve Responses calls in an unusual way, natively and translated.

import { eachBody, type Is, isResponses, toChat } from '../dialect-hooks.ts'
import { changeJson, type Json, type MustPass, parseJson } from '../gateway.ts'
import type { Wanted } from '../wire.ts'

const here = toChat(isResponses)

/** Replaces each event of a stream, and renumbers all of them. */
const renumbered = (is: Is, change: (json: Json, wanted: Wanted) => readonly Json[]) => () => {
  const numbers = new WeakMap<Wanted, number>()
  return {
    event(event: string, _: number, wanted: Wanted): readonly string[] {
      const data = /^data: (\{.*)$/m.exec(event)?.[1]
      if (!is(wanted) || data === undefined) return [event]
      return change(parseJson(data), wanted).map((json) => {
        const sequence_number = numbers.get(wanted) ?? 0
        numbers.set(wanted, sequence_number + 1)
        return `event: ${json.type}\ndata: ${JSON.stringify({ ...json, sequence_number })}\n\n`
      })
    },
  }
}

const refused = (message: string) => ({
  status: 400,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    error: { message, type: 'invalid_request_error', param: null, code: 'unsupported_parameter' },
  }),
})

const refuses = (sign: RegExp, message: string) => (wanted: Wanted) =>
  here(wanted) && sign.test(wanted.body.toString('utf8')) ? refused(message) : undefined

const ownIds = (text: string): string =>
  text.replace(/"(id|item_id|previous_response_id)":(\s*)"(resp|msg|fc|rs)_/g, '"$1":$2"$3_gw-')
const ownIdsBack = (text: string): string =>
  text.replace(/"(id|item_id|previous_response_id)":(\s*)"(resp|msg|fc|rs)_gw-/g, '"$1":$2"$3_')
const ownIdBack = (path: string): string => path.replace('/resp_gw-', '/resp_')

export const mustPass = {
  'responses-without-event-lines': {
    what: 'Responses events have no `event:` line, because Responses clients read the type in the data.',
    on: ['responses'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [isResponses(wanted) ? event.replace(/^event: .*\n/, '') : event],
    },
  },
  'responses-with-ids-and-cr': {
    what: 'Responses events have an id, their name after the data, and lines that end with CR LF.',
    on: ['responses'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, index, wanted) => [
        isResponses(wanted)
          ? `id: ${index}\n${event.replace(/^(event: .*\n)(data: .*\n)/, '$2$1')}`.replaceAll('\n', '\r\n')
          : event,
      ],
    },
  },
  'text-in-halves': {
    what: 'Each text delta of a Responses stream is split in two, and the events are renumbered.',
    on: ['responses'],
    mayWarn: ['DIAL-03'],
    hooks: renumbered(isResponses, (json) =>
      json.type === 'response.output_text.delta'
        ? halves(json.delta).map((delta) => ({ ...json, delta }))
        : [json],
    ),
  },
  'queued-first': {
    what: 'A translated response has the status queued before in_progress.',
    on: ['responses'],
    hooks: renumbered(here, (json) =>
      json.type === 'response.created'
        ? [json, { ...json, type: 'response.queued', response: { ...json.response, status: 'queued' } }]
        : [json],
    ),
  },
  'hides-lengths': {
    what: 'Responses deltas are padded with random text in `obfuscation`, as OpenAI does, and have logprobs.',
    on: ['responses'],
    mayWarn: ['DIAL-03'],
    hooks: renumbered(isResponses, (json) =>
      json.type.endsWith('.delta') ? [{ ...json, obfuscation: 'x7Gh', logprobs: [] }] : [json],
    ),
  },
  'alive-between-events': {
    what: 'A translated response contains the gateway’s numbered keepalives and unknown events between the other events.',
    on: ['responses'],
    hooks: renumbered(here, (json) =>
      [
        json,
        { type: 'keepalive' },
        { type: 'response.gateway.note', item_id: null, text: 'on its way' },
      ].slice(0, /completed|incomplete|failed/.test(json.type) ? 1 : 3),
    ),
  },
  'thinks-in-silence': {
    what: 'The reasoning in a translated response does not reach the client.',
    on: ['responses'],
    hooks: () => {
      const gone = new WeakMap<Wanted, Set<number>>()
      const { event } = renumbered(here, (json, wanted) => {
        const lost = gone.get(wanted) ?? new Set<number>()
        gone.set(wanted, lost)
        if (json.item?.type === 'reasoning') lost.add(json.output_index)
        if (lost.has(json.output_index)) return []
        if (json.response?.output)
          return [{ ...json, response: { ...json.response, output: withoutReasoning(json.response.output) } }]
        return json.output_index === undefined
          ? [json]
          : [
              {
                ...json,
                output_index: json.output_index - [...lost].filter((n) => n < json.output_index).length,
              },
            ]
      })()
      return {
        event,
        body: eachBody(here, (json) =>
          json.output ? { ...json, output: withoutReasoning(json.output) } : json,
        ),
      }
    },
  },
  'ids-of-the-house': {
    what: 'The gateway gives responses and their items its own ids in every event, and accepts these ids in requests.',
    on: ['responses'],
    mayWarn: ['DIAL-03', 'DIAL-01'],
    hooks: {
      event: (event, _, wanted) => [isResponses(wanted) ? ownIds(event) : event],
      body: (body, wanted) => (isResponses(wanted) ? ownIds(body) : body),
      request(wanted) {
        if (!isResponses(wanted)) return
        wanted.body = Buffer.from(ownIdsBack(wanted.body.toString('utf8')))
        wanted.path = ownIdBack(wanted.path)
      },
    },
  },
  'responses-with-more-members': {
    what: 'Whole responses have the convenience member output_text, a tier, billing, and times with fractions.',
    on: ['responses'],
    hooks: {
      body: eachBody(isResponses, (json) =>
        json.object === 'response'
          ? {
              output_text: 'see output',
              ...json,
              service_tier: 'default',
              billing: { payer: 'developer' },
              created_at: Math.floor(json.created_at ?? 0) + 0.5,
              completed_at: null,
            }
          : json,
      ),
    },
  },
  'numbers-with-a-point': {
    what: 'Token counts and indexes of responses are written as 12.0, which is the same JSON number as 12.',
    on: ['responses'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [
        isResponses(wanted) ? event.replace(/((?:_tokens|_index|_number)":\d+)(?=[,}])/g, '$1.0') : event,
      ],
      body: (body, wanted) =>
        isResponses(wanted) ? body.replace(/(_tokens":\s*\d+)(?=\s*[,}])/g, '$1.0') : body,
    },
  },
  'refuses-formats-elsewhere': {
    what: 'A Responses call with a schema for the answer is refused if it would need translation.',
    on: ['responses'],
    hooks: { request: refuses(/"json_schema"/, 'This model follows no schema.') },
  },
  'refuses-tools-elsewhere': {
    what: 'A Responses call with a tool choice, or with tools other than functions, is refused if it would need translation.',
    on: ['responses'],
    hooks: {
      request: refuses(
        /"tool_choice"|"type":\s*"(custom|namespace|web_search|tool_search|additional_tools)/,
        'This model has functions only.',
      ),
    },
  },
  'arguments-in-one-piece': {
    what: 'Tool-call arguments in a translated response arrive in one delta.',
    on: ['responses'],
    hooks: () => {
      const held = new WeakMap<Wanted, string>()
      return renumbered(here, (json, wanted) => {
        if (json.type === 'response.function_call_arguments.delta') {
          held.set(wanted, (held.get(wanted) ?? '') + json.delta)
          return []
        }
        const delta = held.get(wanted)
        if (delta === undefined || json.type !== 'response.function_call_arguments.done') return [json]
        held.delete(wanted)
        const { item_id, output_index } = json
        return [{ type: 'response.function_call_arguments.delta', item_id, output_index, delta }, json]
      })()
    },
  },
  'responses-end-with-done': {
    what: "The last event of responses is followed by chat's `data: [DONE]`, which clients of responses skip.",
    on: ['responses'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) =>
        isResponses(wanted) && /"type":\s*"response\.(completed|incomplete|failed)"/.test(event)
          ? [event, 'data: [DONE]\n\n']
          : [event],
    },
  },
  'busy-in-milliseconds-too': {
    what: 'A 429 has retry-after-ms in addition to Retry-After, and its error message contains the time.',
    on: ['responses', 'messages'],
    hooks: {
      responseStart({ headers }) {
        const after = Number(headers['retry-after'])
        if (after > 0) headers['retry-after-ms'] = String(after * 1000)
      },
      body: (body, wanted) =>
        wanted.method === 'POST'
          ? changeJson(body, (json) =>
              json.error?.message ? { ...json, error: { ...json.error, retry_after: null } } : json,
            )
          : body,
    },
  },
} satisfies Record<string, MustPass>

function halves(text: string): readonly string[] {
  const letters = [...text]
  const half = letters.length >> 1
  return [letters.slice(0, half).join(''), letters.slice(half).join('')]
}

function withoutReasoning(items: readonly Json[]): Json[] {
  return items.filter(({ type }) => type !== 'reasoning')
}
