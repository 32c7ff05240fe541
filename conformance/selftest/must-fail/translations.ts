// Must-fail gateways with mistakes in translated calls only: in the client's answer, or in the provider's
// request. Also contains gateways that lose a part of a native request.

import { changeRequest, eachResult, isMessages, isResponses, until, withoutMember } from '../dialect-hooks.ts'
import { changeEvent, failWith, type Json, type MustFail } from '../gateway.ts'
import { changeAnswer, eachLast, eachResponse, isChat, toChat, toMessages } from '../translated-hooks.ts'
import type { Wanted } from '../wire.ts'

const goesOn = (wanted: Wanted): boolean =>
  isResponses(wanted) && wanted.body.includes('"previous_response_id"')

/** Returns the answer to an unknown previous_response_id. */
const notFound = () => ({
  status: 400,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: { message: 'not found', code: 'previous_response_not_found' } }),
})

/** Removes the parts of one type from the turns of a call; plain text counts as type `text`. */
const withoutParts = (type: string) => (json: Json) => ({
  ...json,
  messages: json.messages?.map((each: Json) => ({
    ...each,
    content: Array.isArray(each.content)
      ? each.content.filter((part: Json) => part.type !== type)
      : each.content,
  })),
})

export const mustFail = {
  'text-comes-twice': {
    what: 'Each text delta of a translated message is sent twice.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: {
      event: (event, _, wanted) =>
        toChat(isMessages)(wanted) && event.includes('"text_delta"') ? [event, event] : [event],
    },
  },
  'length-is-an-ordinary-end': {
    what: 'A translated chat answer that was cut off ends like a complete answer.',
    caughtBy: ['DIAL-11/same-answer'],
    hooks: {
      body: (body, wanted) =>
        toMessages(wanted) ? body.replace('"finish_reason":"length"', '"finish_reason":"stop"') : body,
    },
  },
  'second-call-is-lost': {
    what: 'If an answer has several tool calls, a whole translated response has only the first.',
    caughtBy: ['DIAL-11@responses/same-answer'],
    hooks: changeAnswer(isResponses, {
      whole: (json) => ({
        ...json,
        output: json.output?.filter(
          ({ type }: Json, index: number, all: Json[]) =>
            type !== 'function_call' || all.findIndex((each) => each.type === type) === index,
        ),
      }),
    }),
  },
  'completed-without-usage': {
    what: 'The last event of a translated response has no usage.',
    caughtBy: ['DIAL-11@responses/same-usage'],
    hooks: changeAnswer(isResponses, { event: eachResponse((response) => withoutMember(response, 'usage')) }),
  },
  'cached-tokens-are-not-told': {
    what: 'The usage in a translated response does not say which tokens came from the cache.',
    caughtBy: ['DIAL-11@responses/same-usage'],
    hooks: changeAnswer(isResponses, {
      event: eachResponse((response) => ({
        ...response,
        ...(response.usage && { usage: withoutMember(response.usage, 'input_tokens_details') }),
      })),
    }),
  },
  'thoughts-of-its-own': {
    what: 'The gateway adds its own reasoning to translated messages.',
    caughtBy: ['DIAL-11@messages/same-reasoning'],
    hooks: changeAnswer(isMessages, {
      event: (json) =>
        json.delta?.thinking === undefined ? json : { ...json, delta: { ...json.delta, thinking: 'Hm. ' } },
    }),
  },
  'done-without-arguments': {
    what: 'The finished item of a translated tool call has empty arguments.',
    caughtBy: ['DIAL-12@responses/deltas-make-the-whole'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.output_item.done' && json.item.type === 'function_call'
          ? { ...json, item: { ...json.item, arguments: '' } }
          : json,
    }),
  },
  'done-in-other-words': {
    what: 'The event output_text.done of a translated response has a different text from the deltas.',
    caughtBy: ['DIAL-12@responses/deltas-make-the-whole'],
    hooks: changeAnswer(isResponses, {
      event: (json) => (json.type === 'response.output_text.done' ? { ...json, text: 'said' } : json),
    }),
  },
  'last-text-is-empty': {
    what: 'In the last event of a translated response, the message has no text.',
    caughtBy: ['DIAL-12@responses/deltas-make-the-whole'],
    hooks: changeAnswer(isResponses, {
      event: eachLast((item) => (item.type === 'message' ? { ...item, content: [] } : item)),
    }),
  },
  'starts-with-its-content': {
    what: 'The event message_start of a translated message contains a block that is then sent again.',
    caughtBy: ['DIAL-12@messages/deltas-make-the-whole'],
    hooks: changeAnswer(isMessages, {
      event: (json) =>
        json.message
          ? { ...json, message: { ...json.message, content: [{ type: 'text', text: '' }] } }
          : json,
    }),
  },
  'done-and-in-progress': {
    what: 'The finished items in a translated response have the status in_progress.',
    caughtBy: ['DIAL-12@responses/states-agree'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.output_item.done'
          ? { ...json, item: { ...json.item, status: 'in_progress' } }
          : json,
    }),
  },
  'last-items-are-in-progress': {
    what: 'In the last event of a translated response, the items have the status in_progress.',
    caughtBy: ['DIAL-12@responses/states-agree'],
    hooks: changeAnswer(isResponses, {
      event: eachLast((item) => (item.status ? { ...item, status: 'in_progress' } : item)),
    }),
  },
  'calls-change-their-ids': {
    what: 'In the last event of a translated response, the tool calls have different ids from those in earlier events.',
    caughtBy: ['DIAL-12@responses/ids-stay'],
    hooks: changeAnswer(isResponses, {
      event: eachLast((item) => (item.call_id ? { ...item, call_id: `${item.call_id}_2` } : item)),
    }),
  },
  'items-change-their-ids': {
    what: 'The deltas in a translated response refer to items that were never added.',
    caughtBy: ['DIAL-12@responses/ids-stay'],
    hooks: changeAnswer(isResponses, {
      event: (json) => (json.item_id ? { ...json, item_id: 'msg_other' } : json),
    }),
  },
  'response-changes-its-id': {
    what: 'The last event of a translated response has a different id from the first.',
    caughtBy: ['DIAL-12@responses/ids-stay'],
    hooks: changeAnswer(isResponses, {
      event: (json) =>
        json.type === 'response.completed' ? { ...json, response: { ...json.response, id: 'resp_2' } } : json,
    }),
  },
  'done-is-left-out': {
    what: 'A translated chat stream has no [DONE].',
    caughtBy: ['DIAL-11/same-end'],
    hooks: {
      event: (event, _, wanted) => (toMessages(wanted) && event.includes('[DONE]') ? [] : [event]),
    },
  },
  'translation-is-held-back': {
    what: 'Events of a translated message arrive only after the end of the stream.',
    caughtBy: ['FLOW-03@messages'],
    hooks: until(toChat(isMessages), /message_stop/),
  },
  'translation-ends-cleanly': {
    what: 'A translated message ends with message_stop although the provider’s stream broke off.',
    caughtBy: ['DIAL-05', 'MSG-14', 'FLOW-06@messages', 'FLOW-09@messages'],
    hooks: {
      event: (event, _, wanted) =>
        toChat(isMessages)(wanted) && event.startsWith('event: error') ? [] : [event],
      async cut(wanted) {
        if (!toChat(isMessages)(wanted)) throw new Error('cut')
        return 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
      },
    },
  },
  'translated-errors-of-chat': {
    what: 'If a translated Messages call is refused, the error has the format of a chat error.',
    caughtBy: ['FAIL-01@messages', 'MSG-11/type-of-its-status'],
    hooks: changeAnswer(isMessages, {
      whole: (json) => (json.type === 'error' ? { error: { message: json.error.message } } : json),
    }),
  },
  'translated-errors-in-other-words': {
    what: 'If a translated Messages call is refused, the error lacks the provider’s text.',
    caughtBy: ['MSG-12', 'FAIL-04@messages/keeps-status-and-message'],
    hooks: changeAnswer(isMessages, {
      whole: (json) =>
        json.type === 'error' ? { ...json, error: { ...json.error, message: 'not now' } } : json,
    }),
  },
  'calls-share-an-id': {
    what: 'All tool calls in a translated message have the same id.',
    caughtBy: ['DIAL-12@messages/ids-stay'],
    hooks: changeAnswer(isMessages, {
      event: (json) =>
        json.content_block?.id ? { ...json, content_block: { ...json.content_block, id: 'call_1' } } : json,
    }),
  },
  'every-item-is-the-first': {
    what: 'Every output_index of a translated response is 0.',
    caughtBy: ['DIAL-12@responses/indexes-lead-to-what-began'],
    hooks: changeAnswer(isResponses, {
      event: (json) => (json.output_index === undefined ? json : { ...json, output_index: 0 }),
    }),
  },
  'deltas-of-another-kind': {
    what: 'Tool-call deltas in a translated message are sent as text.',
    caughtBy: ['DIAL-12@messages/indexes-lead-to-what-began'],
    hooks: changeAnswer(isMessages, {
      event: (json) =>
        json.delta?.partial_json === undefined
          ? json
          : { ...json, delta: { type: 'text_delta', text: json.delta.partial_json } },
    }),
  },
  'messages-without-event-lines': {
    what: 'The events of a translated message have no `event:` line, so the official clients skip them.',
    caughtBy: ['DIAL-12@messages/events-are-named'],
    hooks: {
      event: (event, _, wanted) => [toChat(isMessages)(wanted) ? event.replace(/^event: .*\n/, '') : event],
    },
  },
  'each-chunk-has-an-id': {
    what: 'Each chunk of a chat stream has a different id.',
    caughtBy: ['DIAL-12/ids-stay'],
    hooks: {
      event: (event, index) =>
        changeEvent(event, (json) => (json.choices ? { ...json, id: `chatcmpl-${index}` } : json)),
    },
  },
  'translation-drops-tools': {
    what: 'Tools in a translated Messages call do not reach the provider.',
    caughtBy: ['DIAL-13@messages/tools-arrive'],
    hooks: changeRequest(toChat(isMessages), (json) => withoutMember(json, 'tools')),
  },
  'translation-keeps-names-only': {
    what: 'Tools in a translated Responses call reach the provider without their schema properties.',
    caughtBy: ['DIAL-13@responses/tools-arrive'],
    hooks: changeRequest(toChat(isResponses), (json) => ({
      ...json,
      tools: json.tools?.map((tool: Json) => ({ ...tool, parameters: { type: 'object', properties: {} } })),
    })),
  },
  'translation-drops-the-system': {
    what: 'The system prompt of a translated Messages call does not reach the provider.',
    caughtBy: ['DIAL-13@messages/instructions-arrive'],
    hooks: changeRequest(toChat(isMessages), (json) => withoutMember(json, 'system')),
  },
  'translation-drops-instructions': {
    what: 'The instructions of a translated Responses call do not reach the provider.',
    caughtBy: ['DIAL-13@responses/instructions-arrive'],
    hooks: changeRequest(toChat(isResponses), (json) => withoutMember(json, 'instructions')),
  },
  'translation-has-its-own-limit': {
    what: 'The gateway replaces the token limit of a translated Messages call with its own.',
    caughtBy: ['DIAL-13@messages/settings-arrive'],
    hooks: changeRequest(toChat(isMessages), (json) => ({ ...json, max_tokens: 4_096 })),
  },
  'translation-drops-stop-sequences': {
    what: 'Stop sequences in a translated chat call do not reach the provider.',
    caughtBy: ['DIAL-13/settings-arrive'],
    hooks: changeRequest(toMessages, (json) => withoutMember(json, 'stop')),
  },
  'translation-rounds-the-temperature': {
    what: 'The gateway rounds the temperature in a translated Responses call.',
    caughtBy: ['DIAL-13@responses/settings-arrive'],
    hooks: changeRequest(toChat(isResponses), (json) =>
      json.temperature === undefined ? json : { ...json, temperature: Math.round(json.temperature) },
    ),
  },
  'queries-are-left-out': {
    what: 'The URL query of a call does not reach a provider of the same dialect.',
    caughtBy: ['DIAL-02/unknown-query-arrives', 'DIAL-02@responses/unknown-query-arrives'],
    hooks: {
      upstream: {
        request(wanted) {
          wanted.path = wanted.path.replace(/\?.*$/, '')
        },
      },
    },
  },
  'tools-are-not-cached': {
    what: 'A tool’s cache_control field does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      ...(json.tools && { tools: json.tools.map((tool: Json) => withoutMember(tool, 'cache_control')) }),
    })),
  },
  'failed-results-look-well': {
    what: 'A tool result’s is_error flag does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: changeRequest(isMessages, (json) =>
      eachResult(json, (result) => withoutMember(result, 'is_error')),
    ),
  },
  'thinking-is-not-asked-for': {
    what: 'The field thinking does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: changeRequest(isMessages, (json) => withoutMember(json, 'thinking')),
  },
  'text-as-input-is-empty': {
    what: 'A text input reaches a Responses provider as a list without the text.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: changeRequest(isResponses, (json) =>
      typeof json.input === 'string' ? { ...json, input: [{ role: 'user', content: '' }] } : json,
    ),
  },
  'include-is-left-out': {
    what: 'The field include does not reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: changeRequest(isResponses, (json) => withoutMember(json, 'include')),
  },
  'second-result-is-left-out': {
    what: 'If a chat call has several tool results, only the first reaches the provider.',
    caughtBy: ['ROUTE-05/fields-arrive'],
    hooks: changeRequest(isChat, (json) => ({
      ...json,
      messages: json.messages?.filter(
        ({ role }: Json, index: number, all: Json[]) =>
          role !== 'tool' || all.findIndex((each) => each.role === 'tool') === index,
      ),
    })),
  },
  'agents-have-no-session': {
    what: 'The gateway ignores the header x-claude-code-session-id.',
    caughtBy: ['DIAL-10/caller-is-on-record'],
    hooks: {
      request({ headers }) {
        delete headers['x-claude-code-session-id']
      },
    },
  },
  'kept-ids-are-refused': {
    what: 'Every call with a previous_response_id is refused as unknown.',
    caughtBy: ['RSP-06/history-is-never-dropped'],
    hooks: { request: (wanted) => (goesOn(wanted) ? notFound() : undefined) },
  },
  'unknown-ids-are-rate-limited': {
    what: 'An unknown previous_response_id is answered with 429.',
    caughtBy: ['RSP-06/unknown-is-called-so'],
    hooks: { request: (wanted) => (wanted.body.includes('resp_of_nobody') ? failWith(429) : undefined) },
  },
  'what-was-not-kept-goes-on': {
    what: 'The gateway stores the id of an answer that the provider does not store.',
    caughtBy: ['RSP-05/what-was-not-kept-is-unknown'],
    hooks: changeRequest(
      (wanted) => goesOn(wanted) && !wanted.body.includes('resp_of_nobody'),
      (json) => withoutMember(json, 'previous_response_id'),
    ),
  },
  'failures-are-refusals': {
    what: "A provider's failure reaches the client as 400.",
    caughtBy: ['FAIL-04/keeps-5xx', 'FAIL-04@messages/keeps-5xx'],
    hooks: {
      responseStart(start, { method }) {
        if (method === 'POST' && start.status >= 500) start.status = 400
      },
    },
  },
  'overloaded-is-a-failure': {
    what: 'A 529 from the provider reaches the client as 500.',
    caughtBy: ['FAIL-04/keeps-overloaded', 'FAIL-04@messages/keeps-overloaded'],
    hooks: {
      responseStart(start) {
        if (start.status === 529) start.status = 500
      },
    },
  },
  'busy-for-an-hour': {
    what: 'Every 429 says that the client should retry in an hour.',
    caughtBy: ['FAIL-04/keeps-retry-after', 'RSP-09/retry-after-is-passed-on', 'MSG-13/retry-words-arrive'],
    hooks: {
      responseStart(start) {
        if (start.status === 429) start.headers['retry-after'] = '3600'
      },
    },
  },
  'must-becomes-may': {
    what: 'A forced tool becomes optional in a translated Messages call.',
    caughtBy: ['DIAL-13@messages/choice-arrives'],
    hooks: changeRequest(toChat(isMessages), (json) => withoutMember(json, 'tool_choice')),
  },
  'translation-drops-images': {
    what: "A user's image in a translated Messages call does not reach the provider.",
    caughtBy: ['DIAL-13@messages/images-arrive'],
    hooks: changeRequest(toChat(isMessages), withoutParts('image')),
  },
  'last-result-for-all': {
    what: 'Each tool call in a translated Messages call receives the last tool call’s result.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: changeRequest(toChat(isMessages), (json) => {
      const parts: Json[] = json.messages?.flatMap(({ content }: Json) => content) ?? []
      const last = parts.findLast((part) => part?.type === 'tool_result')?.content
      return eachResult(json, (result) => ({ ...result, content: last }))
    }),
  },
  'translation-drops-the-format': {
    what: 'The answer schema in a translated Responses call does not reach the provider.',
    caughtBy: ['DIAL-13@responses/format-arrives'],
    hooks: changeRequest(toChat(isResponses), (json) => withoutMember(json, 'text')),
  },
  'translation-sends-the-last-turn': {
    what: 'Only the last turn of a translated Messages call reaches the provider.',
    caughtBy: ['DIAL-13@messages/turns-arrive'],
    hooks: changeRequest(toChat(isMessages), (json) => ({ ...json, messages: json.messages?.slice(-1) })),
  },
} satisfies Record<string, MustFail>
