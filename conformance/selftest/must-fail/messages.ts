// Must-fail gateways for Messages and token counts. Each runs in its own dialect only.

import {
  changeRequest,
  cleanEnd,
  eachBody,
  eachEvent,
  eachResult,
  isCount,
  isMessages,
  until,
  withoutMember,
} from '../dialect-hooks.ts'
import { changeJson, failWith, type MustFail, onRead } from '../gateway.ts'

export const mustFail = {
  'messages-held-back': {
    what: 'Messages events arrive only after the end of the stream.',
    caughtBy: ['FLOW-03@messages'],
    hooks: until(isMessages, /message_stop/),
  },
  'messages-text-is-lost': {
    what: 'The gateway drops the third text delta of a Messages stream.',
    caughtBy: ['FLOW-01@messages', 'FLOW-02@messages', 'TELL-05@messages'],
    hooks: {
      event: (event, index, wanted) =>
        isMessages(wanted) && index === 5 && event.includes('text_delta') ? [] : [event],
    },
  },
  'messages-ends-cleanly': {
    what: 'A Messages stream that broke off ends with message_stop.',
    caughtBy: ['DIAL-05', 'FLOW-06@messages', 'MSG-14', 'FLOW-09@messages'],
    hooks: cleanEnd(isMessages, 'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
  },
  'messages-usage-without-cache': {
    what: 'The usage that Messages clients receive lacks the cached tokens.',
    caughtBy: ['USE-01@messages'],
    hooks: {
      body: eachBody(isMessages, (json) =>
        json.usage ? { ...json, usage: withoutMember(json.usage, 'cache_read_input_tokens') } : json,
      ),
    },
  },
  'query-is-another-path': {
    what: 'A Messages call with a query in its URL gets 404.',
    caughtBy: ['MSG-01'],
    hooks: { request: ({ path }) => (/^\/v1\/messages\?/.test(path) ? failWith(404) : undefined) },
  },
  'blocks-stay-open': {
    what: 'The gateway drops the event that ends each Messages block.',
    caughtBy: ['MSG-02', 'MSG-03'],
    hooks: { event: eachEvent(isMessages, (json) => (json.type === 'content_block_stop' ? null : json)) },
  },
  'blocks-from-one': {
    what: 'Messages blocks are numbered from 1.',
    caughtBy: ['MSG-03'],
    hooks: {
      event: eachEvent(isMessages, (json) =>
        typeof json.index === 'number' ? { ...json, index: json.index + 1 } : json,
      ),
    },
  },
  'input-loses-quotes': {
    what: 'Quotes inside a tool input lose their escapes.',
    caughtBy: ['MSG-04', 'MSG-04/input-is-whole'],
    hooks: {
      event: eachEvent(isMessages, (json) =>
        json.delta?.partial_json === undefined
          ? json
          : {
              ...json,
              delta: { ...json.delta, partial_json: json.delta.partial_json.replaceAll('\\"', '"') },
            },
      ),
    },
  },
  'no-input-without-arguments': {
    what: 'A tool call without arguments has no `input` member.',
    caughtBy: ['MSG-04/input-is-an-object'],
    hooks: {
      event: eachEvent(isMessages, (json) =>
        json.content_block?.type === 'tool_use'
          ? { ...json, content_block: withoutMember(json.content_block, 'input') }
          : json,
      ),
    },
  },
  'signature-is-lost': {
    what: 'Thoughts arrive without their signature.',
    caughtBy: ['MSG-05/thoughts-are-unchanged'],
    hooks: { event: eachEvent(isMessages, (json) => (json.delta?.type === 'signature_delta' ? null : json)) },
  },
  'thoughts-are-not-returned': {
    what: 'Thoughts in earlier turns of a Messages call do not reach the provider.',
    caughtBy: ['MSG-05/thoughts-go-back'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      messages: json.messages?.map((each: { content: unknown }) => ({
        ...each,
        content: Array.isArray(each.content)
          ? each.content.filter(({ type }) => type === 'text')
          : each.content,
      })),
    })),
  },
  'too-large-is-invalid': {
    what: 'An error with the status 413 has the type invalid_request_error.',
    caughtBy: ['MSG-11/type-of-its-status'],
    hooks: {
      body: (body, wanted) =>
        isMessages(wanted) ? body.replace('request_too_large', 'invalid_request_error') : body,
    },
  },
  'every-error-is-api-error': {
    what: 'Every Messages error has the type api_error.',
    caughtBy: ['MSG-11/type-of-its-status'],
    hooks: {
      body: eachBody(isMessages, (json) =>
        json.type === 'error' ? { ...json, error: { ...json.error, type: 'api_error' } } : json,
      ),
    },
  },
  'no-request-id': {
    what: 'Messages answers have no `request-id` header.',
    caughtBy: ['MSG-11/names-its-request'],
    hooks: {
      responseStart(start, wanted) {
        if (isMessages(wanted)) delete start.headers['request-id']
      },
    },
  },
  'error-in-other-words': {
    what: 'Messages errors lack the provider’s text.',
    caughtBy: ['MSG-12', 'FAIL-04@messages'],
    hooks: {
      body: eachBody(isMessages, (json) =>
        json.type === 'error' ? { ...json, error: { ...json.error, message: 'not now' } } : json,
      ),
    },
  },
  'errors-of-chat': {
    what: 'Messages errors have the format of chat errors.',
    caughtBy: ['FAIL-01@messages'],
    hooks: {
      body: eachBody(isMessages, (json) =>
        json.type === 'error' ? { error: { message: json.error.message } } : json,
      ),
    },
  },
  'should-retry-is-lost': {
    what: 'The header x-should-retry is not passed on.',
    caughtBy: ['MSG-13'],
    hooks: {
      responseStart(start) {
        delete start.headers['x-should-retry']
      },
    },
  },
  'counts-by-calling': {
    what: 'The gateway counts tokens by making a call with one token.',
    caughtBy: ['CNT-01'],
    hooks: {
      async request({ path }, context) {
        if (path.includes('count_tokens')) await context.spend({ max_tokens: 1 })
      },
    },
  },
  'counts-want-max-tokens': {
    what: 'A token count without max_tokens is refused.',
    caughtBy: ['CNT-04'],
    hooks: {
      request: ({ path, body }) =>
        path.includes('count_tokens') && !body.includes('max_tokens') ? failWith(400) : undefined,
    },
  },
  'every-end-is-end-turn': {
    what: 'Every Messages answer ends with end_turn.',
    caughtBy: ['MSG-06'],
    hooks: {
      body: eachBody(isMessages, (json) => (json.stop_reason ? { ...json, stop_reason: 'end_turn' } : json)),
      event: eachEvent(isMessages, (json) =>
        json.delta?.stop_reason ? { ...json, delta: { ...json.delta, stop_reason: 'end_turn' } } : json,
      ),
    },
  },
  'starts-without-usage': {
    what: 'The event message_start has no usage.',
    caughtBy: ['MSG-08/begins-with-numbers'],
    hooks: {
      event: eachEvent(isMessages, (json) =>
        json.message ? { ...json, message: withoutMember(json.message, 'usage') } : json,
      ),
    },
  },
  'usage-of-the-start': {
    what: 'The event message_delta repeats the usage of message_start.',
    caughtBy: ['MSG-08/ends-with-the-final-ones'],
    hooks: {
      event: eachEvent(isMessages, (json) =>
        json.type === 'message_delta' ? { ...json, usage: { output_tokens: 1 } } : json,
      ),
    },
  },
  'messages-without-a-role': {
    what: 'Whole Messages answers have no role.',
    caughtBy: ['MSG-15'],
    hooks: { body: eachBody(isMessages, (json) => withoutMember(json, 'role')) },
  },
  'cache-is-no-input': {
    what: 'The recorded input excludes cached tokens.',
    caughtBy: ['MSG-07', 'MSG-09'],
    hooks: {
      body: onRead('/api/usage/request-logs/', (json) =>
        json.tokens
          ? {
              ...json,
              tokens: { ...json.tokens, input: json.tokens.input - (json.tokens.cached_input ?? 0) },
            }
          : json,
      ),
    },
  },
  'images-become-text': {
    what: 'An image in a tool result reaches the provider as JSON text.',
    caughtBy: ['MSG-17/image-is-no-text'],
    hooks: changeRequest(isMessages, (json) =>
      eachResult(json, (result) => ({ ...result, content: JSON.stringify(result.content) })),
    ),
  },
  'images-get-lost': {
    what: 'An image in a tool result does not reach the provider.',
    caughtBy: ['MSG-17/image-arrives-or-is-named'],
    hooks: changeRequest(isMessages, (json) =>
      eachResult(json, (result) => ({ ...result, content: 'seen' })),
    ),
  },
  'cache-control-is-left-out': {
    what: 'The field cache_control does not reach a Messages provider.',
    caughtBy: ['MSG-18'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      system: Array.isArray(json.system)
        ? json.system.map((block: object) => withoutMember(block, 'cache_control'))
        : json.system,
    })),
  },
  'client-line-is-left-out': {
    what: 'The first part of a system prompt does not reach a Messages provider.',
    caughtBy: ['MSG-19'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      system: Array.isArray(json.system) ? json.system.slice(1) : json.system,
    })),
  },
  'hello-wants-a-key': {
    what: 'The path /api/hello requires a key.',
    caughtBy: ['MSG-21'],
    hooks: { request: ({ path }) => (path === '/api/hello' ? failWith(401) : undefined) },
  },
  'one-list-for-all': {
    what: "A Messages client receives the model list in OpenAI's format.",
    caughtBy: ['MSG-22'],
    hooks: {
      request({ path, headers }) {
        if (path === '/v1/models') delete headers['anthropic-version']
      },
    },
  },
  'unknown-id-goes-somewhere': {
    what: 'A Messages call with an unknown model id goes to an existing model.',
    caughtBy: ['MSG-23'],
    hooks: changeRequest(isMessages, (json) =>
      String(json.model).includes('nobody') ? { ...json, model: 'auto/claude' } : json,
    ),
  },
  'counts-the-prompt-only': {
    what: 'The token estimate leaves out tools, tool results and the system prompt.',
    caughtBy: ['CNT-02/estimate-holds-all'],
    hooks: changeRequest(isCount, ({ model, messages }) => ({ model, messages: messages?.slice(0, 1) })),
  },
  'counts-otherwise': {
    what: 'The gateway reports one token less than the provider’s count.',
    caughtBy: ['CNT-02/as-the-provider-counts'],
    hooks: { body: eachBody(isCount, (json) => ({ ...json, input_tokens: json.input_tokens - 1 })) },
  },
  'failed-count-cools': {
    what: 'The gateway skips the first target of a route after a failed token count.',
    caughtBy: ['CNT-03'],
    hooks: () => {
      let counted = 0
      return {
        request(wanted) {
          if (isCount(wanted)) counted++
          else if (counted >= 3)
            wanted.body = Buffer.from(
              changeJson(wanted.body.toString('utf8'), (json) =>
                json.model === 'auto/claude' ? { ...json, model: 'anthropic/claude-haiku-4-5' } : json,
              ),
            )
        },
      }
    },
  },
} satisfies Record<string, MustFail>
