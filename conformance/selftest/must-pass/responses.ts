// Gateways that serve, continue or store Responses in an unusual way, natively, translated or over a WebSocket.

import { responseIdIn } from '../../checks/responses/parts.ts'
import { at, jsonOf, readEvents } from '../../evidence/reading.ts'
import {
  changeJson,
  eachBody,
  failWith,
  type Is,
  isResponses,
  type Json,
  LIST,
  type MustPass,
  parseJson,
  toChat,
} from '../gateway.ts'
import type { GatewayHooks, Wanted } from '../wire.ts'

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

const ownIds = (text: string): string =>
  text.replace(/"(id|item_id|previous_response_id)":(\s*)"(resp|msg|fc|rs)_/g, '"$1":$2"$3_gw-')
const ownIdsBack = (text: string): string =>
  text.replace(/"(id|item_id|previous_response_id)":(\s*)"(resp|msg|fc|rs)_gw-/g, '"$1":$2"$3_')
const ownIdBack = (path: string): string => path.replace('/resp_gw-', '/resp_')

const isMessage = ({ method, headers }: Wanted): boolean => method === 'POST' && headers.upgrade !== undefined

/** Returns the items of a member that may be a text. */
const itemsIn = (json: unknown): object[] =>
  typeof json === 'string' ? [{ role: 'user', content: json }] : Array.isArray(json) ? json : []

/** Returns the output of an answer, whole or streamed. */
function outputIn(body: string): object[] {
  const last = readEvents(body).map(({ data }) => at(jsonOf(data), '/response/output'))
  return itemsIn(at(jsonOf(body), '/output') ?? last.findLast((each) => each !== undefined))
}

/** Conversations by the id of their last answer. They outlive the gateway, as in a store on disk. */
const conversations = new Map<unknown, readonly object[]>()

/** Stores every conversation itself, and sends all of it each time. */
const keepsConversations: GatewayHooks = {
  request(wanted) {
    const call = jsonOf(wanted.body.toString()) as Json | undefined
    if (!isResponses(wanted) || wanted.method !== 'POST' || typeof call !== 'object' || call === null) return
    const { previous_response_id: previous, ...rest } = call
    const before = conversations.get(previous)
    if (before === undefined) return
    wanted.body = Buffer.from(JSON.stringify({ ...rest, input: [...before, ...itemsIn(call.input)] }))
  },
  body(body, wanted) {
    keep(body, wanted)
    return body
  },
  event(event, _, wanted) {
    if (event.includes('response.completed')) keep(event, wanted)
    return [event]
  },
}

function keep(body: string, wanted: Wanted): void {
  const id = isResponses(wanted) && wanted.method === 'POST' ? responseIdIn({ body }) : null
  if (id !== null)
    conversations.set(id, [...itemsIn(at(jsonOf(wanted.body.toString()), '/input')), ...outputIn(body)])
}

export const gateways = {
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
  'sends-whole-conversations': {
    what: 'The gateway stores conversations, and continues a response by sending the whole conversation to the provider.',
    on: ['responses'],
    // The provider does not know which responses were deleted here.
    target: ({ dialects, ...target }) => ({
      ...target,
      dialects: { ...dialects, responses: { ...dialects.responses!, keeps: false } },
    }),
    hooks: keepsConversations,
  },
  'closes-on-bad-messages': {
    what: 'An unreadable message closes its WebSocket with code 1007 instead of causing an error.',
    on: ['responses'],
    hooks: {
      request: (wanted) =>
        isMessage(wanted) && typeof at(jsonOf(wanted.body.toString()), '/model') !== 'string'
          ? { status: 1007, headers: {}, body: 'not a call' }
          : undefined,
    },
  },
  'failures-are-responses': {
    what: 'A failure over a WebSocket is reported as a failed response instead of an error.',
    on: ['responses'],
    hooks: {
      event(event, _, wanted) {
        const json = jsonOf(/^data: (.*)$/m.exec(event)?.[1] ?? '') as Json | undefined
        if (!isMessage(wanted) || json?.type !== 'error') return [event]
        const response = {
          id: 'resp_of_nobody',
          object: 'response',
          status: 'failed',
          error: json.error,
          output: [],
        }
        return [`data: ${JSON.stringify({ type: 'response.failed', sequence_number: 0, response })}\n\n`]
      },
    },
  },
  'gone-is-410': {
    what: 'A deleted response gets 410, and DELETE gets 204 without a body.',
    on: ['responses'],
    hooks: () => {
      const gone = new Set<string>()
      return {
        request: ({ method, path }) => (method === 'GET' && gone.has(path) ? failWith(410) : undefined),
        responseStart(start, { method, path, headers }) {
          if (method !== 'DELETE' || start.status !== 200 || headers.upgrade) return
          gone.add(path)
          start.status = 204
          delete start.headers['content-length']
          delete start.headers['content-type']
        },
        body: (body, { method }) => (method === 'DELETE' ? '' : body),
      }
    },
  },
  'a-record-for-the-socket-too': {
    what: 'The log lists WebSocket connections in addition to the responses.',
    on: ['responses'],
    hooks: () => {
      const connections: string[] = []
      return {
        request({ method, headers }) {
          if (method === 'GET' && headers.upgrade) connections.push(`connection-${connections.length}`)
        },
        body: (body, { path }) =>
          path.startsWith(LIST)
            ? changeJson(body, (json) => ({
                ...json,
                data: [...connections.map((id) => ({ ...json.data[0], id })), ...json.data],
              }))
            : body,
      }
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
