// Must-fail gateways for Responses.

import {
  changeRequest,
  cleanEnd,
  eachBody,
  eachEvent,
  isMessages,
  isResponses,
  until,
  withoutMember,
} from '../dialect-hooks.ts'
import { failWith, type MustFail, onRead } from '../gateway.ts'

/** Removes the encrypted reasoning from a request. */
const withoutSealed = changeRequest(isResponses, (json) => ({
  ...json,
  input: Array.isArray(json.input)
    ? json.input.map((item: object) => withoutMember(item, 'encrypted_content'))
    : json.input,
}))

export const mustFail = {
  'responses-held-back': {
    what: 'Responses events arrive only after the end of the stream.',
    caughtBy: ['FLOW-03@responses'],
    hooks: until(isResponses, /response\.(completed|incomplete|failed)/),
  },
  'responses-text-is-lost': {
    what: 'The gateway drops a text delta of a Responses stream.',
    caughtBy: ['FLOW-01@responses', 'FLOW-02@responses', 'TELL-05@responses'],
    hooks: {
      event: (event, index, wanted) =>
        isResponses(wanted) && index === 6 && event.includes('output_text.delta') ? [] : [event],
    },
  },
  'responses-ends-cleanly': {
    what: 'A Responses stream that the provider broke off ends normally.',
    caughtBy: ['RSP-03', 'DIAL-05@responses', 'FLOW-06@responses'],
    hooks: cleanEnd(isResponses, ': the end\n\n'),
  },
  'responses-usage-is-doubled': {
    what: 'The output tokens reported to Responses clients are doubled.',
    caughtBy: ['USE-01@responses'],
    hooks: {
      body: eachBody(isResponses, (json) =>
        json.usage
          ? { ...json, usage: { ...json.usage, output_tokens: json.usage.output_tokens * 2 } }
          : json,
      ),
    },
  },
  'responses-without-comments': {
    what: 'The gateway removes the provider’s comments from Responses streams.',
    caughtBy: ['DIAL-03@responses'],
    hooks: { event: (event, _, wanted) => (isResponses(wanted) && event.startsWith(':') ? [] : [event]) },
  },
  'numbers-from-one': {
    what: 'Responses events are numbered from 1.',
    caughtBy: ['RSP-01'],
    hooks: {
      event: eachEvent(isResponses, (json) => ({ ...json, sequence_number: json.sequence_number + 1 })),
    },
  },
  'last-event-is-empty': {
    what: 'The response in the last event has no items.',
    caughtBy: ['RSP-02'],
    hooks: {
      event: eachEvent(isResponses, (json) =>
        json.response ? { ...json, response: { ...json.response, output: [] } } : json,
      ),
    },
  },
  'sealed-is-lost': {
    what: 'The gateway removes the field encrypted_content from responses.',
    caughtBy: ['RSP-04/sealed-is-unchanged'],
    hooks: {
      body: eachBody(isResponses, (json) => ({
        ...json,
        output: json.output?.map((item: object) => withoutMember(item, 'encrypted_content')),
      })),
    },
  },
  'sealed-is-not-returned': {
    what: 'The field encrypted_content in the input of a call does not reach the provider.',
    caughtBy: ['RSP-04/sealed-goes-back'],
    hooks: withoutSealed,
  },
  'forgets-the-response-before': {
    what: 'The field previous_response_id is dropped.',
    caughtBy: ['RSP-06'],
    hooks: changeRequest(isResponses, (json) => withoutMember(json, 'previous_response_id')),
  },
  'kinds-are-not-recorded': {
    what: 'Cached and reasoning tokens are not recorded.',
    caughtBy: ['RSP-13'],
    hooks: {
      body: onRead('/api/usage/request-logs/', (json) =>
        json.tokens ? { ...json, tokens: { ...json.tokens, cached_input: null, reasoning: null } } : json,
      ),
    },
  },
  'store-is-left-out': {
    what: 'The field store does not reach the provider.',
    caughtBy: ['RSP-05'],
    hooks: changeRequest(isResponses, (json) => withoutMember(json, 'store')),
  },
  'functions-only': {
    what: 'The provider receives only function tools.',
    caughtBy: ['RSP-07/tools-arrive'],
    hooks: changeRequest(isResponses, (json) => ({
      ...json,
      ...(Array.isArray(json.tools) && {
        tools: json.tools.filter(({ type }: { type: string }) => type === 'function'),
      }),
    })),
  },
  'items-of-functions-only': {
    what: 'Custom-tool items and search items do not reach the provider.',
    caughtBy: ['RSP-07/items-arrive'],
    hooks: changeRequest(isResponses, (json) => ({
      ...json,
      input: Array.isArray(json.input)
        ? json.input.filter(({ type }: { type?: string }) => !/custom|search/.test(type ?? ''))
        : json.input,
    })),
  },
  'tools-stay-as-they-were': {
    what: 'Items that add tools do not reach the provider.',
    caughtBy: ['RSP-07/added-tools-arrive'],
    hooks: changeRequest(isResponses, (json) => ({
      ...json,
      input: Array.isArray(json.input)
        ? json.input.filter(({ type }: { type?: string }) => type !== 'additional_tools')
        : json.input,
    })),
  },
  'upgrade-is-not-found': {
    what: 'An upgrade to a WebSocket gets 404.',
    caughtBy: ['RSP-08'],
    hooks: { request: ({ headers }) => (headers.upgrade ? failWith(404) : undefined) },
  },
  'busy-without-a-word': {
    what: 'A 429 for a Responses call has no Retry-After.',
    caughtBy: ['RSP-09/retry-after-is-passed-on', 'RSP-09/every-429-says-when'],
    hooks: {
      responseStart(start, wanted) {
        if (isResponses(wanted)) delete start.headers['retry-after']
      },
    },
  },
  'tells-openai-model': {
    what: 'Responses answers name the model in the header openai-model.',
    caughtBy: ['RSP-10/logical-id-stays', 'RSP-10/never-told'],
    hooks: {
      responseStart(start, wanted) {
        if (isResponses(wanted)) start.headers['openai-model'] = 'gpt-of-another-name'
      },
    },
  },
  'state-is-not-told': {
    what: 'The provider’s header x-codex-turn-state does not reach the client.',
    caughtBy: ['RSP-11/state-is-told'],
    hooks: {
      responseStart(start) {
        delete start.headers['x-codex-turn-state']
      },
    },
  },
  'state-does-not-go-back': {
    what: 'The client’s header x-codex-turn-state does not reach the provider.',
    caughtBy: ['RSP-11/state-goes-back'],
    hooks: {
      request({ headers }) {
        delete headers['x-codex-turn-state']
      },
    },
  },
  'compaction-is-dropped': {
    what: 'The gateway removes a compaction_trigger from a call.',
    caughtBy: ['RSP-12'],
    hooks: changeRequest(isResponses, (json) => ({
      ...json,
      input: Array.isArray(json.input)
        ? json.input.filter(({ type }: { type?: string }) => type !== 'compaction_trigger')
        : json.input,
    })),
  },
  'never-sends-sealed': {
    what: 'The gateway removes encrypted reasoning although no provider has refused it.',
    caughtBy: ['RSP-14'],
    hooks: withoutSealed,
  },
  'reasoning-wants-content': {
    what: 'A reasoning item without content is refused.',
    caughtBy: ['RSP-15'],
    hooks: {
      request: (wanted) =>
        isResponses(wanted) && wanted.body.includes('"content":null') ? failWith(400) : undefined,
    },
  },
  'seals-are-opened': {
    what: 'Reasoning that another model family sealed reaches the provider without its wrapper.',
    caughtBy: ['DIAL-07', 'DIAL-07@responses'],
    hooks: {
      request(wanted) {
        const unwrapped = wanted.body.toString('utf8').replaceAll('wb1:elsewhere:', '')
        if (isMessages(wanted) || isResponses(wanted)) wanted.body = Buffer.from(unwrapped)
      },
    },
  },
} satisfies Record<string, MustFail>
