// Must-fail gateways that make mistakes when they translate Responses or chat answers.

import { isResponses, withoutMember } from '../dialect-hooks.ts'
import { changeEvent, type Json, type MustFail } from '../gateway.ts'
import {
  changeAnswer,
  eachLast,
  eachResponse,
  oneLater,
  readBy,
  toChat,
  toMessages,
} from '../translated-hooks.ts'
import type { Wanted } from '../wire.ts'

const here = toChat(isResponses)

/** Returns true for Responses calls that go to a Messages provider. */
const fromMessages = (wanted: Wanted): boolean => isResponses(wanted) && wanted.body.includes('"anthropic/')

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
  'output-text-comes-twice': {
    what: 'Each text delta of a translated response is sent twice.',
    caughtBy: ['DIAL-11@responses/same-answer', 'DIAL-12@responses/deltas-make-the-whole'],
    hooks: {
      event: (event, _, wanted) =>
        here(wanted) && event.includes('"response.output_text.delta"') ? [event, event] : [event],
    },
  },
  'arguments-are-spoken': {
    what: "The deltas of a translated tool call's arguments are sent as text.",
    caughtBy: ['DIAL-11@responses/same-answer', 'DIAL-12@responses/deltas-make-the-whole'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.function_call_arguments.delta'
          ? { ...json, type: 'response.output_text.delta', content_index: 0 }
          : json,
    }),
  },
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
  'translated-chat-has-no-end-mark': {
    what: 'A chat stream translated from Messages has no [DONE].',
    caughtBy: ['DIAL-11/same-end'],
    hooks: {
      event: (event, _, wanted) => (toMessages(wanted) && /^data: ?\[DONE\]/m.test(event) ? [] : [event]),
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
  'first-item-only': {
    what: 'The last event of a translated response has only the first item.',
    caughtBy: ['RSP-02'],
    hooks: changeAnswer(isResponses, {
      event: eachResponse((response) => ({ ...response, output: response.output?.slice(0, 1) })),
    }),
  },
  'half-a-response-is-complete': {
    what: 'A translated response that reached the token limit ends with response.completed.',
    caughtBy: ['DIAL-11@responses/same-answer'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.incomplete'
          ? {
              ...json,
              type: 'response.completed',
              response: { ...json.response, status: 'completed', incomplete_details: null },
            }
          : json,
    }),
  },
  'half-a-whole-response-is-complete': {
    what: 'A whole translated response that reached the token limit has the status completed.',
    caughtBy: ['DIAL-11@responses/same-answer'],
    hooks: changeAnswer(isResponses, {
      whole: (json) =>
        json.status === 'incomplete' ? { ...json, status: 'completed', incomplete_details: null } : json,
    }),
  },
  'limit-is-a-filter': {
    what: 'A translated response that reached the token limit reports a content filter as the reason for its end.',
    caughtBy: ['DIAL-11@responses/same-answer'],
    hooks: changeAnswer(isResponses, {
      event: eachResponse((response) =>
        response.incomplete_details
          ? { ...response, incomplete_details: { reason: 'content_filter' } }
          : response,
      ),
      whole: (json) =>
        json.incomplete_details ? { ...json, incomplete_details: { reason: 'content_filter' } } : json,
    }),
  },
  'translation-forgets-the-cache': {
    what: 'The usage in a translated response lacks the cached tokens that the provider reported.',
    caughtBy: ['DIAL-11@responses/same-usage'],
    hooks: changeAnswer(isResponses, {
      whole: (json) => ({ ...json, usage: withoutMember(json.usage ?? {}, 'input_tokens_details') }),
      event: eachResponse((response) =>
        response.usage
          ? { ...response, usage: withoutMember(response.usage, 'input_tokens_details') }
          : response,
      ),
    }),
  },
  'cached-tokens-are-no-input': {
    what: 'The input count of a response translated from Messages lacks the cached tokens.',
    caughtBy: ['DIAL-11@responses/same-usage'],
    hooks: readBy(fromMessages, {
      whole: (json) =>
        json.usage
          ? {
              ...json,
              usage: {
                ...json.usage,
                input_tokens: json.usage.input_tokens - (json.usage.input_tokens_details?.cached_tokens ?? 0),
              },
            }
          : json,
    }),
  },
  'whole-responses-cost-nothing': {
    what: 'The usage of a whole translated response is zero.',
    caughtBy: ['DIAL-11@responses/same-usage'],
    hooks: changeAnswer(isResponses, {
      whole: (json) => ({ ...json, usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } }),
    }),
  },
  'totals-are-no-sums': {
    what: "The total in a translated response's usage equals the output tokens.",
    caughtBy: ['DIAL-11@responses/same-usage'],
    hooks: changeAnswer(isResponses, {
      whole: (json) =>
        json.usage ? { ...json, usage: { ...json.usage, total_tokens: json.usage.output_tokens } } : json,
    }),
  },
  'done-without-a-name': {
    what: 'The finished item of a translated tool call has no name.',
    caughtBy: ['DIAL-12@responses/ids-stay'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.output_item.done' && json.item.name
          ? { ...json, item: withoutMember(json.item, 'name') }
          : json,
    }),
  },
  'done-without-a-call-id': {
    what: 'The finished item of a translated tool call has no call_id.',
    caughtBy: ['DIAL-12@responses/ids-stay'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.output_item.done' && json.item.call_id
          ? { ...json, item: withoutMember(json.item, 'call_id') }
          : json,
    }),
  },
  'response-stays-in-progress': {
    what: 'In the last event of a translated stream, the response has the status in_progress.',
    caughtBy: ['DIAL-11@responses/same-answer'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.completed'
          ? { ...json, response: { ...json.response, status: 'in_progress' } }
          : json,
    }),
  },
  'text-of-another-part': {
    what: 'The text deltas in a translated response refer to a part that was never added.',
    caughtBy: ['DIAL-12@responses/deltas-make-the-whole'],
    hooks: changeAnswer(isResponses, {
      event: (json) => (json.type === 'response.output_text.delta' ? { ...json, content_index: 1 } : json),
    }),
  },
  'items-are-added-late': {
    what: 'The event output_item.added of a translated response is swapped with the next event.',
    caughtBy: ['DIAL-11@responses/same-answer'],
    hooks: oneLater(here, /"type":"response.output_item.added"/),
  },
  'items-share-an-id': {
    what: 'All items in a translated response have the same id.',
    caughtBy: ['DIAL-12@responses/ids-stay'],
    hooks: changeAnswer(isResponses, {
      event: (json) => {
        const one = (item: Json) => (item.id ? { ...item, id: 'item_1' } : item)
        const items = eachLast(one)(json.item ? { ...json, item: one(json.item) } : json)
        return items.item_id ? { ...items, item_id: 'item_1' } : items
      },
    }),
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
  'calls-from-messages-are-lost': {
    what: 'A response translated from Messages has no tool calls if it also has text.',
    caughtBy: ['DIAL-11@responses/same-answer'],
    hooks: readBy(fromMessages, {
      whole: (json) =>
        json.output?.some(({ type }: Json) => type === 'message')
          ? { ...json, output: json.output.filter(({ type }: Json) => type !== 'function_call') }
          : json,
    }),
  },
  'every-call-is-the-first': {
    what: 'Every tool call of a chat stream translated from Messages has the index 0.',
    caughtBy: ['DIAL-11/same-answer', 'DIAL-12/ids-stay'],
    hooks: readBy(toMessages, { event: eachChatCall((call) => ({ ...call, index: 0 })) }),
  },
  'calls-of-chat-end-with-stop': {
    what: 'A chat stream with tool calls, translated from Messages, ends with stop.',
    caughtBy: ['DIAL-11/same-answer'],
    hooks: readBy(toMessages, {
      event: eachChoice((choice) =>
        choice.finish_reason === 'tool_calls' ? { ...choice, finish_reason: 'stop' } : choice,
      ),
    }),
  },
  'prompt-without-the-cache': {
    what: 'In a chat answer translated from Messages, the prompt tokens exclude the cached tokens.',
    caughtBy: ['DIAL-11/same-usage'],
    hooks: readBy(toMessages, {
      whole: (json) =>
        json.usage
          ? {
              ...json,
              usage: {
                ...json.usage,
                prompt_tokens:
                  json.usage.prompt_tokens - (json.usage.prompt_tokens_details?.cached_tokens ?? 0),
              },
            }
          : json,
    }),
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
  'no-usage-where-translated': {
    what: 'A chat stream translated from Messages has no usage, although the client requested it.',
    caughtBy: ['DIAL-11/same-usage'],
    hooks: readBy(toMessages, { event: (json) => (json.usage ? null : json) }),
  },
} satisfies Record<string, MustFail>
