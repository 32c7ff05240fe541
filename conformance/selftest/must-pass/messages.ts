// Gateways that serve Messages calls in an unusual way, natively and translated to chat.

import { eachBody, eachEvent, type Is, isCount, isMessages, toChat } from '../dialect-hooks.ts'
import { changeEvent, changeJson, type Json, type MustPass, parseJson, roundNumbers } from '../gateway.ts'
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

/** Changes a request to a chat provider. */
const upstream = (change: (json: Json) => object) => ({
  request(wanted: Wanted) {
    if (wanted.path.endsWith('/chat/completions'))
      wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
  },
})

export const mustPass = {
  'names-come-behind-the-data': {
    what: 'Each Messages event has its `event:` line after `data:`, because any order is allowed.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [
        isMessages(wanted) ? event.replace(/^(event: .*\n)(data: .*\n)/, '$2$1') : event,
      ],
    },
  },
  'holds-threads-itself': {
    what: 'Every model supports threads, because the gateway stores threads and sends whole conversations to the provider.',
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
    what: 'Integers in whole messages and in requests are rounded to doubles, as RFC 8259 allows.',
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
    what: 'Lines in a Messages stream have no space after the colon and end with CR only.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => [
        isMessages(wanted) ? event.replace(/^(\w+): /gm, '$1:').replaceAll('\n', '\r') : event,
      ],
    },
  },
  'messages-on-several-lines': {
    what: 'The indented JSON of a Messages event is spread over several data lines.',
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
    what: 'A ping and a comment precede each Messages event, including the first.',
    on: ['messages'],
    mayWarn: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) =>
        isMessages(wanted) ? [': still here\n\n', eventOf({ type: 'ping' }), event] : [event],
    },
  },
  'a-delta-for-each-character': {
    what: 'Each character of a text in a Messages stream has its own delta.',
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
    what: 'In a translated message, each tool input arrives in one delta before the end of its block.',
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
    what: 'In a translated message, the first and last delta of each tool input are empty, and the JSON has spaces.',
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
    what: 'A translated Messages stream begins with an empty text block.',
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
    what: 'The reasoning in a translated message does not reach the client.',
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
    what: 'The usage of a Messages answer has details, tiers and regions as with newer providers, and null for missing values.',
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
    what: 'Token counts are written as 12.0, which is the same JSON number as 12.',
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
    what: 'The first event of a translated stream has an estimate of the input, and the last event has the provider’s number.',
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
    what: 'The last event of a Messages stream has the provider’s metrics, as with Bedrock, and blocks have newer members.',
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
    what: 'A message with an image that would need translation is refused before a request is sent.',
    on: ['messages'],
    hooks: { request: refuses(here, /"type":\s*"image"/, 'This model gets no images.') },
  },
  'refuses-settings-elsewhere': {
    what: 'A message with stop sequences, a temperature or top_p is refused if it would need translation.',
    on: ['messages'],
    hooks: {
      request: refuses(here, /"(stop_sequences|temperature|top_p)"/, 'This model has settings of its own.'),
    },
  },
  'refuses-choices-elsewhere': {
    what: 'A message with tool_choice is refused if it would need translation.',
    on: ['messages'],
    hooks: { request: refuses(here, /"tool_choice"/, 'tool_choice cannot be passed to this model.') },
  },
  'says-what-it-dropped': {
    what: 'Translated calls lose the temperature, and a gateway header names this loss.',
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
    what: 'Texts in translated turns and instructions reach the provider as lists with one part for each line.',
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
    what: 'Translation turns a single stop sequence into a string, and uses the older name of the token limit.',
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
    what: 'Translated tool schemas have `$schema` and `strict: false`.',
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
    what: 'An unknown model in a Messages call gets 400 instead of 404.',
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
    what: 'A token count has additional members, and its number is written as 12.0.',
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
    what: 'Messages errors have details, and white space around the JSON.',
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
