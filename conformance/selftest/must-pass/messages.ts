// Gateways that serve messages in an unusual way, natively and translated from chat.

import { eachBody, eachEvent, type Is, isCount, isMessages } from '../dialect-hooks.ts'
import { changeEvent, changeJson, type Json, type MustPass, parseJson, roundNumbers } from '../gateway.ts'
import { toChat } from '../translated-hooks.ts'
import type { Wanted } from '../wire.ts'

const here = toChat(isMessages)

const eventOf = (json: Json): string => `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`

const errorOf = (message: string) => ({
  status: 400,
  headers: { 'content-type': 'application/json', 'request-id': 'req_of_the_gateway' },
  body: JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
})

const refuses = (is: Is, sign: RegExp, message: string) => (wanted: Wanted) =>
  is(wanted) && sign.test(wanted.body.toString('utf8')) ? errorOf(message) : undefined

/** Changes a request to a provider of chat. */
const upstream = (change: (json: Json) => object) => ({
  request(wanted: Wanted) {
    if (wanted.path.endsWith('/chat/completions'))
      wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
  },
})

export const mustPass = {
  'names-come-behind-the-data': {
    what: 'The `event:` line of each event of messages comes after its `data:`; the order of fields is free.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [
        isMessages(wanted) ? event.replace(/^(event: .*\n)(data: .*\n)/, '$2$1') : event,
      ],
    },
  },
  'holds-threads-itself': {
    what: 'Every model can hold a thread: the gateway stores it, and sends the provider all of it.',
    on: ['messages'],
    hooks: () => {
      const threads = new Map<unknown, readonly Json[]>()
      const turns = new WeakMap<Wanted, readonly Json[]>()
      return {
        request(wanted) {
          if (!isMessages(wanted) || !wanted.body.includes('"thread"')) return
          const { thread, ...json } = parseJson(wanted.body.toString('utf8'))
          if (!thread) return
          const before = thread.type === 'continue' ? threads.get(thread.previous_message_id) : []
          if (!before) return { ...errorOf('this thread is not known'), status: 404 }
          const messages = [...before, ...json.messages]
          turns.set(wanted, messages)
          wanted.body = Buffer.from(JSON.stringify({ ...json, messages }))
        },
        body(body, wanted) {
          const { id, role, content } = turns.has(wanted) ? parseJson(body) : {}
          if (id !== undefined) threads.set(id, [...turns.get(wanted)!, { role, content }])
          return body
        },
      }
    },
  },
  'rounds-long-numbers': {
    what: 'Integers of whole messages and in requests are those of a double, as RFC 8259 allows.',
    on: ['messages'],
    mayWarn: ['DIAL-01', 'DIAL-11@messages'],
    hooks: {
      request(wanted) {
        if (isMessages(wanted)) wanted.body = Buffer.from(roundNumbers(wanted.body.toString()))
      },
      body: (body, wanted) => (isMessages(wanted) ? roundNumbers(body) : body),
    },
  },
  'messages-with-bare-colons': {
    what: 'Lines of messages have no space behind the colon and end with CR alone.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [
        isMessages(wanted) ? event.replace(/^(\w+): /gm, '$1:').replaceAll('\n', '\r') : event,
      ],
    },
  },
  'messages-on-several-lines': {
    what: 'The JSON of an event of messages is indented, on several data lines.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [
        isMessages(wanted)
          ? event.replace(/^data: (.*)$/m, (_, json) =>
              JSON.stringify(parseJson(json), null, 2).replace(/^/gm, 'data: '),
            )
          : event,
      ],
    },
  },
  'pings-everywhere': {
    what: 'A ping and a comment come before each event of messages, the first included.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) =>
        isMessages(wanted) ? [': still here\n\n', eventOf({ type: 'ping' }), event] : [event],
    },
  },
  'a-delta-for-each-character': {
    what: 'Each character of a text of messages has a delta of its own.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => {
        if (!isMessages(wanted) || !event.includes('"text_delta"')) return [event]
        const json = parseJson(/^data: (.*)$/m.exec(event)![1]!)
        return [...json.delta.text].map((text) => eventOf({ ...json, delta: { ...json.delta, text } }))
      },
    },
  },
  'inputs-in-one-piece': {
    what: 'The input of a tool call comes in one delta, before its block stops; messages are translated.',
    on: ['messages'],
    hooks: () => {
      const held = new WeakMap<Wanted, string>()
      return {
        event(event, _, wanted) {
          if (!here(wanted)) return [event]
          const json = parseJson(/^data: (.*)$/m.exec(event)?.[1] ?? '{}')
          if (json.delta?.type === 'input_json_delta') {
            held.set(wanted, (held.get(wanted) ?? '') + json.delta.partial_json)
            return []
          }
          const partial_json = held.get(wanted)
          if (partial_json === undefined || json.type !== 'content_block_stop') return [event]
          held.delete(wanted)
          const delta = { type: 'input_json_delta', partial_json }
          return [eventOf({ type: 'content_block_delta', index: json.index, delta }), event]
        },
      }
    },
  },
  'inputs-begin-with-nothing': {
    what: 'The first and the last delta of each input are empty, and its JSON has spaces; messages are translated.',
    on: ['messages'],
    hooks: {
      event: (event, _, wanted) => {
        if (!here(wanted) || !event.includes('"input_json_delta"')) return [event]
        const json = parseJson(/^data: (.*)$/m.exec(event)![1]!)
        const empty = eventOf({ ...json, delta: { type: 'input_json_delta', partial_json: '' } })
        return [empty, event, empty]
      },
    },
  },
  'begins-with-an-empty-text': {
    what: 'A translated stream of messages begins with a text block without text.',
    on: ['messages'],
    hooks: {
      event: (event, _, wanted) => {
        if (!here(wanted)) return [event]
        const changed = changeEvent(event, (json) =>
          typeof json.index === 'number' ? { ...json, index: json.index + 1 } : json,
        )
        return event.includes('"message_start"')
          ? [
              ...changed,
              eventOf({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
              eventOf({ type: 'content_block_stop', index: 0 }),
            ]
          : changed
      },
      body: eachBody(here, (json) =>
        json.content ? { ...json, content: [{ type: 'text', text: '' }, ...json.content] } : json,
      ),
    },
  },
  'keeps-thoughts-to-itself': {
    what: 'The reasoning of a translated message does not reach the client.',
    on: ['messages'],
    hooks: () => {
      const left = new WeakMap<Wanted, { gone: number; open: boolean }>()
      return {
        body: eachBody(here, (json) =>
          json.content
            ? { ...json, content: json.content.filter(({ type }: Json) => type !== 'thinking') }
            : json,
        ),
        event(event, _, wanted) {
          if (!here(wanted)) return [event]
          const state = left.get(wanted) ?? { gone: 0, open: false }
          left.set(wanted, state)
          return changeEvent(event, (json) => {
            if (json.content_block?.type === 'thinking') state.open = true
            if (state.open) {
              if (json.type === 'content_block_stop')
                Object.assign(state, { open: false, gone: state.gone + 1 })
              return null
            }
            return typeof json.index === 'number' ? { ...json, index: json.index - state.gone } : json
          })
        },
      }
    },
  },
  'usage-of-the-newest-kind': {
    what: 'Usage of messages has details, tiers and places that newer providers report, and null where there is nothing.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: eachEvent(isMessages, (json) =>
        json.type === 'message_delta'
          ? { ...json, context_management: { applied_edits: [] }, usage: more(json.usage) }
          : json.message
            ? { ...json, message: { ...json.message, container: null, usage: more(json.message.usage) } }
            : json,
      ),
      body: eachBody(isMessages, (json) =>
        json.usage ? { ...json, stop_details: null, container: null, usage: more(json.usage) } : json,
      ),
    },
  },
  'tokens-with-a-point': {
    what: 'Numbers of tokens are written as 12.0, which is the same JSON number.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [
        isMessages(wanted) ? event.replace(/(_tokens":\d+)(?=[,}])/g, '$1.0') : event,
      ],
      body: (body, wanted) =>
        isMessages(wanted) ? body.replace(/(_tokens":\s*\d+)(?=\s*[,}])/g, '$1.0') : body,
    },
  },
  'guesses-the-input-first': {
    what: 'The first event of a translated stream has an estimate of the input; the last has the provider’s number.',
    on: ['messages'],
    hooks: {
      event: eachEvent(here, (json) =>
        json.message
          ? { ...json, message: { ...json.message, usage: { input_tokens: 9, output_tokens: 1 } } }
          : json,
      ),
    },
  },
  'metrics-at-the-end': {
    what: 'The last event of messages has the provider’s metrics, as those of Bedrock do; blocks have newer members.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: eachEvent(isMessages, (json) => {
        if (json.type === 'message_stop')
          return { ...json, 'amazon-bedrock-invocationMetrics': { inputTokenCount: 1, firstByteLatency: 3 } }
        if (json.content_block?.type === 'text')
          return { ...json, content_block: { ...json.content_block, citations: null } }
        return json.content_block?.type === 'tool_use'
          ? { ...json, content_block: { ...json.content_block, caller: { type: 'direct' } } }
          : json
      }),
    },
  },
  'refuses-images-elsewhere': {
    what: 'A message with an image is refused before anything is sent where it would be translated.',
    on: ['messages'],
    hooks: { request: refuses(here, /"type":\s*"image"/, 'This model gets no images.') },
  },
  'refuses-settings-elsewhere': {
    what: 'A message with stop sequences, a temperature or top_p is refused where it would be translated.',
    on: ['messages'],
    hooks: {
      request: refuses(here, /"(stop_sequences|temperature|top_p)"/, 'This model has settings of its own.'),
    },
  },
  'refuses-choices-elsewhere': {
    what: 'A message with tool_choice is refused where it would be translated, as too special.',
    on: ['messages'],
    hooks: { request: refuses(here, /"tool_choice"/, 'tool_choice cannot be passed to this model.') },
  },
  'says-what-it-dropped': {
    what: 'A temperature is not passed on where it would be translated, and a header of the gateway says so.',
    on: ['messages'],
    hooks: {
      request(wanted) {
        if (!here(wanted) || !wanted.body.includes('"temperature"')) return
        wanted.headers['x-request-was'] = 'cut'
        wanted.body = Buffer.from(
          changeJson(wanted.body.toString('utf8'), ({ temperature: _, ...rest }) => rest),
        )
      },
      responseStart({ headers }, wanted) {
        if (wanted.headers['x-request-was']) headers['x-dropped-params'] = 'temperature'
      },
    },
  },
  'instructions-of-a-developer': {
    what: 'A translated system prompt reaches the provider with the role developer.',
    on: ['messages'],
    hooks: {
      upstream: upstream((json) => ({
        ...json,
        messages: json.messages?.map((each: Json) =>
          each.role === 'system' ? { ...each, role: 'developer' } : each,
        ),
      })),
    },
  },
  'everything-is-a-part': {
    what: 'Texts of translated turns and instructions are lists of parts at the provider, one for each line.',
    on: ['messages'],
    hooks: {
      upstream: upstream((json) => ({
        ...json,
        messages: json.messages?.map((each: Json) =>
          typeof each.content === 'string' && each.content !== ''
            ? {
                ...each,
                content: each.content.split(/(?<=\n)/).map((text: string) => ({ type: 'text', text })),
              }
            : each,
        ),
      })),
    },
  },
  'one-stop-is-a-text': {
    what: 'Of translated settings, a single stop sequence is a text, and the limit has its older name.',
    on: ['messages'],
    hooks: {
      upstream: upstream(({ stop, max_completion_tokens, ...json }) => ({
        ...json,
        ...(stop !== undefined && { stop: Array.isArray(stop) && stop.length === 1 ? stop[0] : stop }),
        ...(max_completion_tokens !== undefined && { max_tokens: max_completion_tokens }),
      })),
    },
  },
  'schemas-name-their-standard': {
    what: 'The schemas of translated tools have `$schema`, and `strict` says false.',
    on: ['messages'],
    hooks: {
      upstream: upstream((json) => ({
        ...json,
        ...(json.tools && {
          tools: json.tools.map((tool: Json) => ({
            ...tool,
            function: {
              ...tool.function,
              strict: false,
              parameters: {
                $schema: 'https://json-schema.org/draft/2020-12/schema',
                ...tool.function?.parameters,
              },
            },
          })),
        }),
      })),
    },
  },
  'unknown-messages-models-are-bad': {
    what: 'An unknown model of messages is 400 instead of 404.',
    on: ['messages'],
    hooks: {
      responseStart(start, wanted) {
        if (isMessages(wanted) && start.status === 404) start.status = 400
      },
      body: (body, wanted) =>
        isMessages(wanted) ? body.replace('not_found_error', 'invalid_request_error') : body,
    },
  },
  'counts-with-details': {
    what: 'A count has further members, and its number is written as 12.0.',
    on: ['messages'],
    hooks: {
      body: (body, wanted) =>
        isCount(wanted)
          ? body.replace(
              /"input_tokens":\s*(\d+)/,
              '"input_tokens": $1.0, "context_management": null, "estimate": true',
            )
          : body,
    },
  },
  'errors-of-messages-have-more': {
    what: 'Errors of messages have details, and white space around them.',
    on: ['messages'],
    hooks: {
      body: (body, wanted) =>
        isMessages(wanted)
          ? `\n ${changeJson(body, (json) => (json.type === 'error' ? { request_id: null, ...json, error: { details: null, ...json.error }, status: 'failed' } : json))} \r\n`
          : body,
    },
  },
} satisfies Record<string, MustPass>

function more(usage: Json): Json {
  return {
    service_tier: 'standard',
    inference_geo: 'not_available',
    server_tool_use: null,
    iterations: null,
    ...usage,
  }
}
