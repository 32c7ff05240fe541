// Must-fail gateways that translate a call or its answer wrongly, and need state or code of their own.

import {
  changeAnswer,
  changeEvent,
  changeRequest,
  eachCallOf,
  eachResult,
  isMessages,
  isResponses,
  type Json,
  type MustFail,
  roundNumbers,
  toChat,
  toMessages,
} from '../gateway.ts'
import type { Wanted } from '../wire.ts'

const translatedMessage = toChat(isMessages)
const translatedResponse = toChat(isResponses)

/** Returns an error sent as a delta of the text. */
const errorAsText = (event: string): readonly string[] =>
  changeEvent(event.replace(/^event: error/, 'event: content_block_delta'), (json) =>
    json.type === 'error'
      ? {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: `Error: ${json.error.message}` },
        }
      : json,
  )

export const gateways = {
  'each-chunk-has-an-id': {
    what: 'Each chunk of a chat stream has a different id.',
    caughtBy: ['DIAL-12/ids-stay'],
    hooks: {
      event: (event, index) =>
        changeEvent(event, (json) => (json.choices ? { ...json, id: `chatcmpl-${index}` } : json)),
    },
  },
  'last-result-for-all': {
    what: 'Each tool call in a translated Messages call receives the last tool call’s result.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: changeRequest(translatedMessage, (json) => {
      const parts: Json[] = json.messages?.flatMap(({ content }: Json) => content) ?? []
      const last = parts.findLast((part) => part?.type === 'tool_result')?.content
      return eachResult(json, (result) => ({ ...result, content: last }))
    }),
  },
  'words-beside-calls-are-lost': {
    what: 'A translated Messages call loses the texts in earlier assistant turns that contain tool calls.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: changeRequest(translatedMessage, (json) => ({
      ...json,
      messages: json.messages?.map((each: Json) =>
        Array.isArray(each.content) && each.content.some(({ type }: Json) => type === 'tool_use')
          ? { ...each, content: each.content.filter(({ type }: Json) => type !== 'text') }
          : each,
      ),
    })),
  },
  'last-words-are-lost': {
    what: 'In a translated message, the last delta of each block is missing.',
    caughtBy: ['DIAL-11@messages/same-answer', 'MSG-04/input-is-whole'],
    hooks: () => {
      const held = new WeakMap<Wanted, string>()
      return {
        event(event, _, wanted) {
          if (!translatedMessage(wanted)) return [event]
          const before = held.get(wanted)
          held.delete(wanted)
          if (event.includes('"content_block_delta"')) held.set(wanted, event)
          return [
            ...(before && !event.includes('"content_block_stop"') ? [before] : []),
            ...(held.has(wanted) ? [] : [event]),
          ]
        },
      }
    },
  },
  'long-numbers-are-rounded-in-streams': {
    what: 'Integers in the streamed input of a translated tool call are rounded to doubles.',
    caughtBy: ['DIAL-11@messages/long-numbers-keep-digits'],
    hooks: () => {
      const held = new WeakMap<Wanted, string>()
      return {
        event(event, _, wanted) {
          if (!translatedMessage(wanted)) return [event]
          const part = /"partial_json":("(?:[^"\\]|\\.)*")/.exec(event)?.[1]
          const before = held.get(wanted) ?? ''
          if (part !== undefined) {
            held.set(wanted, before + JSON.parse(part))
            return []
          }
          if (before === '' || !event.includes('"content_block_stop"')) return [event]
          held.delete(wanted)
          const delta = { type: 'input_json_delta', partial_json: roundNumbers(before) }
          const { index } = JSON.parse(/^data: (.*)$/m.exec(event)![1]!)
          const data = JSON.stringify({ type: 'content_block_delta', index, delta })
          return [`event: content_block_delta\ndata: ${data}\n\n`, event]
        },
      }
    },
  },
  'calls-are-spoken': {
    what: 'In a whole translated message, tool calls are written into the text.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: changeAnswer(translatedMessage, {
      whole: (json) =>
        eachCallOf(json, ({ name, input }) => ({ type: 'text', text: JSON.stringify({ name, input }) })),
    }),
  },
  'calls-share-a-name': {
    what: 'Each tool call in a translated stream has the name of the first call.',
    caughtBy: ['MSG-04/input-is-whole'],
    hooks: () => {
      const names = new WeakMap<Wanted, string>()
      return {
        event: (event, _, wanted) =>
          translatedMessage(wanted)
            ? changeEvent(event, (json) => {
                if (json.content_block?.type !== 'tool_use') return json
                const name = names.get(wanted) ?? json.content_block.name
                names.set(wanted, name)
                return { ...json, content_block: { ...json.content_block, name } }
              })
            : [event],
      }
    },
  },
  'errors-are-spoken': {
    what: 'An error inside a translated Messages stream is sent as a text delta.',
    caughtBy: ['MSG-14'],
    hooks: {
      event: (event, _, wanted) => (isMessages(wanted) ? errorAsText(event) : [event]),
    },
  },
  'parts-are-not-added': {
    what: 'A translated response lacks content_part.added, and its other events are numbered without a gap.',
    caughtBy: ['RSP-01/parts-come-first'],
    hooks: () => {
      const gone = new WeakMap<Wanted, number>()
      return {
        event: (event, _, wanted) =>
          translatedResponse(wanted)
            ? changeEvent(event, (json) => {
                const before = gone.get(wanted) ?? 0
                if (json.type === 'response.content_part.added') {
                  gone.set(wanted, before + 1)
                  return null
                }
                return { ...json, sequence_number: json.sequence_number - before }
              })
            : [event],
      }
    },
  },
  'never-in-progress': {
    what: 'A translated response has no response.in_progress.',
    caughtBy: ['RSP-01'],
    hooks: () => {
      const left = new WeakSet<Wanted>()
      return {
        event: (event, _, wanted) =>
          translatedResponse(wanted)
            ? changeEvent(event, (json) => {
                if (json.type === 'response.in_progress') left.add(wanted)
                return json.type === 'response.in_progress'
                  ? null
                  : { ...json, sequence_number: json.sequence_number - (left.has(wanted) ? 1 : 0) }
              })
            : [event],
      }
    },
  },
  'whole-responses-think-aloud': {
    what: 'The reasoning in a whole translated response is part of the message.',
    caughtBy: ['DIAL-11@responses/same-answer', 'DIAL-11@responses/same-reasoning'],
    hooks: changeAnswer(translatedResponse, {
      whole: (json) => ({
        ...json,
        output: json.output?.map((item: Json) =>
          item.type === 'reasoning'
            ? {
                type: 'message',
                id: item.id,
                role: 'assistant',
                status: 'completed',
                content: [...(item.content ?? []), ...(item.summary ?? [])].map(({ text }: Json) => ({
                  type: 'output_text',
                  text,
                  annotations: [],
                })),
              }
            : item,
        ),
      }),
    }),
  },
  'failed-is-completed': {
    what: 'A translated response that failed ends with response.completed.',
    caughtBy: ['FLOW-09@responses/error-is-visible'],
    hooks: {
      event: (event, _, wanted) =>
        translatedResponse(wanted)
          ? changeEvent(event.replace('event: response.failed', 'event: response.completed'), (json) =>
              json.type === 'response.failed'
                ? {
                    ...json,
                    type: 'response.completed',
                    response: { ...json.response, status: 'completed', error: null },
                  }
                : json,
            )
          : [event],
      cut: async () => {
        throw new Error('cut')
      },
    },
  },
  'arguments-are-an-object': {
    what: 'In a whole translated chat answer, tool-call arguments are an object instead of a string.',
    caughtBy: ['DIAL-11/same-answer'],
    hooks: changeAnswer(toMessages, {
      whole(json) {
        for (const { message } of json.choices ?? [])
          for (const call of message.tool_calls ?? [])
            call.function.arguments = JSON.parse(call.function.arguments)
        return json
      },
    }),
  },
  'thoughts-in-tags': {
    what: 'The reasoning in a chat answer translated from Messages becomes part of the text, inside tags.',
    caughtBy: ['DIAL-11/same-answer'],
    hooks: changeAnswer(toMessages, {
      whole(json) {
        for (const { message } of json.choices ?? []) {
          const { reasoning_content: thought } = message
          delete message.reasoning_content
          if (thought) message.content = `<think>${thought}</think>${message.content ?? ''}`
        }
        return json
      },
    }),
  },
} satisfies Record<string, MustFail>
