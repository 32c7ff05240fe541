// Gateways that serve Messages calls in an unusual way, natively and translated to chat.

import {
  changeEvent,
  changeJson,
  eachBody,
  eachEvent,
  isMessages,
  type Json,
  type MustPass,
  parseJson,
  toChat,
} from '../gateway.ts'
import type { Wanted } from '../wire.ts'

const here = toChat(isMessages)

const eventOf = (json: Json): string => `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`

const errorOf = (message: string) => ({
  status: 400,
  headers: { 'content-type': 'application/json', 'request-id': 'req_of_the_gateway' },
  body: JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
})

/** Changes a request to a chat provider. */
const upstream = (change: (json: Json) => object) => ({
  request(wanted: Wanted) {
    if (wanted.path.endsWith('/chat/completions'))
      wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
  },
})

export const gateways = {
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
