// What can be wrong with a gateway on the surfaces beside chat, and which checks must catch it. Each is tried on its own
// surface only.
import { changeEvent, changeJson, type Fault, type FaultHooks, failed } from '../fault.ts'
import type { Wanted } from '../fault-wire.ts'

const isMessages = ({ path }: Wanted): boolean => /^\/v1\/messages(\?|$)/.test(path)
const isResponses = ({ path }: Wanted): boolean => path.startsWith('/v1/responses')
const isEmbeddings = ({ path }: Wanted): boolean => path.startsWith('/v1/embeddings')
type Is = (wanted: Wanted) => boolean

/** Changes the JSON of each event. */
const eachEvent =
  (
    is: Is, // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
    change: (json: Record<string, any>) => object | null,
  ): NonNullable<FaultHooks['event']> =>
  (event, _, wanted) =>
    is(wanted) ? changeEvent(event, change) : [event]

/** Changes the JSON of each whole answer. */
const eachBody =
  (
    is: Is, // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
    change: (json: Record<string, any>) => unknown,
  ): NonNullable<FaultHooks['body']> =>
  (body, wanted) =>
    is(wanted) ? changeJson(body, change) : body

/** Changes the JSON of each call. */
const eachCall =
  (
    is: Is, // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
    change: (json: Record<string, any>) => unknown,
  ): NonNullable<FaultHooks['request']> =>
  (wanted) => {
    if (is(wanted)) wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
  }

/** Holds events back until one comes that matches. */
const until = (is: Is, last: RegExp) => (): FaultHooks => {
  const held: string[] = []
  return {
    event(event, _, wanted) {
      if (!is(wanted)) return [event]
      held.push(event)
      return last.test(event) ? held.splice(0) : []
    },
  }
}

/** What hides that a stream broke, or failed, behind an ordinary end. */
const cleanEnd = (is: Is, end: string): FaultHooks => ({
  event: (event, _, wanted) =>
    is(wanted) && /^event: (error|response\.failed)$/m.test(event) ? [] : [event],
  cut: async () => end,
})

// biome-ignore lint/suspicious/noExplicitAny: foreign JSON
const without = (json: Record<string, any>, name: string) => {
  const { [name]: _, ...rest } = json
  return rest
}

export const faults = {
  'messages-held-back': {
    what: 'Events of messages arrive when the stream has ended.',
    caughtBy: ['FLOW-03@messages'],
    hooks: until(isMessages, /message_stop/),
  },
  'responses-held-back': {
    what: 'Events of responses arrive when the stream has ended.',
    caughtBy: ['FLOW-03@responses'],
    hooks: until(isResponses, /response\.(completed|incomplete|failed)/),
  },
  'messages-text-is-lost': {
    what: 'The third delta of a text is left out of messages.',
    caughtBy: ['FLOW-01@messages', 'FLOW-02@messages', 'TELL-05@messages'],
    hooks: {
      event: (event, index, wanted) =>
        isMessages(wanted) && index === 5 && event.includes('text_delta') ? [] : [event],
    },
  },
  'responses-text-is-lost': {
    what: 'A delta of a text is left out of responses.',
    caughtBy: ['FLOW-01@responses', 'FLOW-02@responses', 'TELL-05@responses'],
    hooks: {
      event: (event, index, wanted) =>
        isResponses(wanted) && index === 6 && event.includes('output_text.delta') ? [] : [event],
    },
  },
  'messages-ends-cleanly': {
    what: 'A stream of messages that broke ends with message_stop.',
    caughtBy: ['DIAL-05', 'FLOW-06@messages', 'MSG-14', 'FLOW-09@messages'],
    hooks: cleanEnd(isMessages, 'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
  },
  'responses-ends-cleanly': {
    what: 'A stream of responses that broke just ends.',
    caughtBy: ['RSP-03', 'DIAL-05@responses', 'FLOW-06@responses'],
    hooks: cleanEnd(isResponses, ': the end\n\n'),
  },
  'messages-usage-without-cache': {
    what: 'What came from the cache is missing from the usage that clients of messages get.',
    caughtBy: ['USE-01@messages'],
    hooks: {
      body: eachBody(isMessages, (json) =>
        json.usage ? { ...json, usage: without(json.usage, 'cache_read_input_tokens') } : json,
      ),
    },
  },
  'responses-usage-is-doubled': {
    what: 'The output tokens that clients of responses get are doubled.',
    caughtBy: ['USE-01@responses'],
    hooks: {
      body: eachBody(isResponses, (json) =>
        json.usage
          ? { ...json, usage: { ...json.usage, output_tokens: json.usage.output_tokens * 2 } }
          : json,
      ),
    },
  },
  'knows-all-fields-of-messages': {
    what: 'Members of a call of messages that the gateway does not know are left out.',
    caughtBy: ['DIAL-01', 'DIAL-02/unknown-parts-arrive'],
    hooks: { request: eachCall(isMessages, (json) => without(json, 'x_waybill_probe')) },
  },
  'one-beta-only': {
    what: 'Only the first value of anthropic-beta reaches the provider.',
    caughtBy: ['DIAL-02/unknown-parts-arrive'],
    hooks: {
      request(wanted) {
        const { 'anthropic-beta': betas } = wanted.headers
        if (typeof betas === 'string') wanted.headers['anthropic-beta'] = betas.split(',')[0]!
      },
    },
  },
  'key-goes-along': {
    what: 'A key of the gateway reaches the provider in a header.',
    caughtBy: ['DIAL-02/credentials-stay'],
    hooks: {
      upstream: {
        request(wanted, world) {
          wanted.headers['x-forwarded-key'] = world.env.ADMIN_KEY!
        },
      },
    },
  },
  'messages-without-pings': {
    what: 'Pings of the provider are left out of messages.',
    caughtBy: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => (isMessages(wanted) && event.startsWith('event: ping') ? [] : [event]),
    },
  },
  'responses-without-comments': {
    what: 'Comments of the provider are left out of responses.',
    caughtBy: ['DIAL-03@responses'],
    hooks: { event: (event, _, wanted) => (isResponses(wanted) && event.startsWith(':') ? [] : [event]) },
  },
  'query-is-another-path': {
    what: 'A call of messages with a query is 404.',
    caughtBy: ['MSG-01'],
    hooks: { request: ({ path }) => (/^\/v1\/messages\?/.test(path) ? failed(404) : undefined) },
  },
  'blocks-stay-open': {
    what: 'The end of a block is left out of messages.',
    caughtBy: ['MSG-02', 'MSG-03'],
    hooks: { event: eachEvent(isMessages, (json) => (json.type === 'content_block_stop' ? null : json)) },
  },
  'blocks-from-one': {
    what: 'Blocks of messages are numbered from 1.',
    caughtBy: ['MSG-03'],
    hooks: {
      event: eachEvent(isMessages, (json) =>
        typeof json.index === 'number' ? { ...json, index: json.index + 1 } : json,
      ),
    },
  },
  'input-loses-quotes': {
    what: 'Quotes inside the input of a tool are no longer escaped.',
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
  'signature-is-lost': {
    what: 'Thoughts arrive without their signature.',
    caughtBy: ['MSG-05/thoughts-are-unchanged'],
    hooks: { event: eachEvent(isMessages, (json) => (json.delta?.type === 'signature_delta' ? null : json)) },
  },
  'thoughts-are-not-returned': {
    what: 'Thoughts in a history of messages do not reach the provider.',
    caughtBy: ['MSG-05/thoughts-go-back'],
    hooks: {
      request: eachCall(isMessages, (json) => ({
        ...json,
        messages: json.messages?.map((each: { content: unknown }) => ({
          ...each,
          content: Array.isArray(each.content)
            ? each.content.filter(({ type }) => type === 'text')
            : each.content,
        })),
      })),
    },
  },
  'every-error-is-api-error': {
    what: 'Every error of messages has the type api_error.',
    caughtBy: ['MSG-11/type-of-its-status'],
    hooks: {
      body: eachBody(isMessages, (json) =>
        json.type === 'error' ? { ...json, error: { ...json.error, type: 'api_error' } } : json,
      ),
    },
  },
  'no-request-id': {
    what: 'Answers of messages have no header request-id.',
    caughtBy: ['MSG-11/names-its-request'],
    hooks: {
      responseStart(start, wanted) {
        if (isMessages(wanted)) delete start.headers['request-id']
      },
    },
  },
  'error-in-other-words': {
    what: 'What the provider said is replaced in errors of messages.',
    caughtBy: ['MSG-12', 'FAIL-04@messages'],
    hooks: {
      body: eachBody(isMessages, (json) =>
        json.type === 'error' ? { ...json, error: { ...json.error, message: 'not now' } } : json,
      ),
    },
  },
  'errors-of-chat': {
    what: 'Errors of messages have the shape of chat.',
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
    what: 'Tokens are counted by a call with one token.',
    caughtBy: ['CNT-01'],
    hooks: {
      async request({ path }, world) {
        if (path.includes('count_tokens')) await world.spend({ max_tokens: 1 })
      },
    },
  },
  'counts-want-max-tokens': {
    what: 'A count without max_tokens is refused.',
    caughtBy: ['CNT-04'],
    hooks: {
      request: ({ path, body }) =>
        path.includes('count_tokens') && !body.includes('max_tokens') ? failed(400) : undefined,
    },
  },
  'numbers-from-one': {
    what: 'Events of responses are numbered from 1.',
    caughtBy: ['RSP-01'],
    hooks: {
      event: eachEvent(isResponses, (json) => ({ ...json, sequence_number: json.sequence_number + 1 })),
    },
  },
  'last-event-is-empty': {
    what: 'The response of the last event has no items.',
    caughtBy: ['RSP-02'],
    hooks: {
      event: eachEvent(isResponses, (json) =>
        json.response ? { ...json, response: { ...json.response, output: [] } } : json,
      ),
    },
  },
  'sealed-is-lost': {
    what: 'The field encrypted_content is left out of responses.',
    caughtBy: ['RSP-04/sealed-is-unchanged'],
    hooks: {
      body: eachBody(isResponses, (json) => ({
        ...json,
        output: json.output?.map((item: object) => without(item, 'encrypted_content')),
      })),
    },
  },
  'sealed-is-not-returned': {
    what: 'The field encrypted_content in the input of a call does not reach the provider.',
    caughtBy: ['RSP-04/sealed-goes-back'],
    hooks: {
      request: eachCall(isResponses, (json) => ({
        ...json,
        input: Array.isArray(json.input)
          ? json.input.map((item: object) => without(item, 'encrypted_content'))
          : json.input,
      })),
    },
  },
  'forgets-the-response-before': {
    what: 'The field previous_response_id is dropped.',
    caughtBy: ['RSP-06'],
    hooks: { request: eachCall(isResponses, (json) => without(json, 'previous_response_id')) },
  },
  'first-input-only': {
    what: 'Of several inputs only the first is embedded.',
    caughtBy: ['EMB-01/input-is-unchanged'],
    hooks: {
      request: eachCall(isEmbeddings, (json) => ({
        ...json,
        input: Array.isArray(json.input) ? json.input[0] : json.input,
      })),
    },
  },
  'sorts-vectors': {
    what: 'Vectors are sorted by their index.',
    caughtBy: ['EMB-01/vectors-are-unchanged'],
    hooks: {
      body: eachBody(isEmbeddings, (json) => ({
        ...json,
        data: json.data?.toSorted((a: { index: number }, b: { index: number }) => a.index - b.index),
      })),
    },
  },
} satisfies Record<string, Fault>
