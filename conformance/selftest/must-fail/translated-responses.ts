// Must-fail gateways that make mistakes when they translate Responses or chat answers.

import { isResponses } from '../dialect-hooks.ts'
import { changeEvent, type Json, type MustFail } from '../gateway.ts'
import { changeAnswer, readBy, toChat, toMessages } from '../translated-hooks.ts'
import type { Wanted } from '../wire.ts'

const here = toChat(isResponses)

/** Changes the tool calls in a chunk or whole answer of chat. */
const eachChatCall = (change: (call: Json) => object) => (json: Json) => ({
  ...json,
  ...(json.choices && {
    choices: json.choices.map((choice: Json) => {
      const part = choice.delta ? 'delta' : 'message'
      const calls = choice[part]?.tool_calls
      return calls ? { ...choice, [part]: { ...choice[part], tool_calls: calls.map(change) } } : choice
    }),
  }),
})

const eachChoice = (change: (choice: Json) => object) => (json: Json) => ({
  ...json,
  ...(json.choices && { choices: json.choices.map(change) }),
})

export const mustFail = {
  'parts-are-not-added': {
    what: 'A translated response lacks content_part.added, and its other events are numbered without a gap.',
    caughtBy: ['RSP-01/parts-come-first'],
    hooks: () => {
      const gone = new WeakMap<Wanted, number>()
      return {
        event: (event, _, wanted) =>
          here(wanted)
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
  'numbers-come-twice': {
    what: 'Two consecutive events in a translated response have the same sequence_number.',
    caughtBy: ['RSP-01'],
    hooks: changeAnswer(isResponses, {
      event: (json) => ({ ...json, sequence_number: json.sequence_number >> 1 }),
    }),
  },
  'never-in-progress': {
    what: 'A translated response has no response.in_progress.',
    caughtBy: ['RSP-01'],
    hooks: () => {
      const left = new WeakSet<Wanted>()
      return {
        event: (event, _, wanted) =>
          here(wanted)
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
    hooks: changeAnswer(isResponses, {
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
        here(wanted)
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
    hooks: readBy(toMessages, {
      whole: eachChatCall((call) => ({
        ...call,
        function: { ...call.function, arguments: JSON.parse(call.function.arguments) },
      })),
    }),
  },
  'thoughts-in-tags': {
    what: 'The reasoning in a chat answer translated from Messages becomes part of the text, inside tags.',
    caughtBy: ['DIAL-11/same-answer'],
    hooks: readBy(toMessages, {
      whole: eachChoice(({ message, ...choice }) => {
        const { reasoning_content: thought, ...rest } = message
        return {
          ...choice,
          message: thought ? { ...rest, content: `<think>${thought}</think>${rest.content ?? ''}` } : message,
        }
      }),
    }),
  },
} satisfies Record<string, MustFail>
