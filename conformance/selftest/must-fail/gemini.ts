// Must-fail gateways with mistakes in the endpoints for Google's clients.

import { changeRequest, eachBody, eachEvent, isGemini, until, withoutMember } from '../dialect-hooks.ts'
import { type Json, type MustFail, onRead, RECORD } from '../gateway.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }
const refuse = (status: number, error: object) => ({
  ...{ status, headers: JSON_HEADERS, body: JSON.stringify({ error }) },
})
const isCount = ({ path }: { path: string }): boolean => path.includes(':countTokens')

/** Changes the parts of an answer. */
const eachPart =
  (change: (part: Json) => object) =>
  (json: Json): object => ({
    ...json,
    candidates: json.candidates?.map((candidate: Json) => ({
      ...candidate,
      content: { ...candidate.content, parts: candidate.content?.parts?.map(change) },
    })),
  })

/** Replaces a finish reason that is newer than the gateway. */
const knownReasons = (json: Json): object => ({
  ...json,
  candidates: json.candidates?.map((candidate: Json) =>
    /TOMORROW/.test(candidate.finishReason) ? { ...candidate, finishReason: 'OTHER' } : candidate,
  ),
})

const withoutFeedback = (json: Json): object => withoutMember(json, 'promptFeedback')

export const mustFail = {
  'google-key-in-one-place': {
    what: 'The gateway ignores a key in the URL.',
    caughtBy: ['GEM-01/key-is-accepted'],
    hooks: {
      request(wanted) {
        wanted.path = wanted.path.replace(/([?&])key=[^&]*/, '$1')
      },
    },
  },
  'google-key-goes-along': {
    what: 'A gateway key is sent to Google.',
    caughtBy: ['GEM-01/key-stays-here'],
    hooks: {
      upstream: {
        request(wanted, context) {
          if (!isGemini(wanted)) return
          wanted.path += `${wanted.path.includes('?') ? '&' : '?'}gateway=${context.env.ADMIN_KEY}`
        },
      },
    },
  },
  'google-errors-of-openai': {
    what: 'Google’s clients receive the gateway’s own errors in OpenAI’s format.',
    caughtBy: ['GEM-01/wrong-key-is-refused', 'GEM-04/error-is-in-shape'],
    hooks: {
      body: eachBody(isGemini, (json) =>
        json.error ? { error: { message: json.error.message, type: 'invalid_request_error' } } : json,
      ),
    },
  },
  'google-key-is-not-compared': {
    what: 'Every key in Google’s format is accepted.',
    caughtBy: ['GEM-01/wrong-key-asks-nobody'],
    hooks: {
      request(wanted, context) {
        const { 'x-goog-api-key': key } = wanted.headers
        if (String(key).startsWith('AIza')) wanted.headers['x-goog-api-key'] = context.env.ADMIN_KEY
      },
    },
  },
  'gemini-slashes-only-plain': {
    what: 'A model id with encoded slashes is not found.',
    caughtBy: ['GEM-02/model-from-the-path'],
    hooks: {
      request: ({ path }) =>
        path.includes('%2F')
          ? refuse(404, { code: 404, message: 'No such model.', status: 'NOT_FOUND' })
          : undefined,
    },
  },
  'gemini-known-members-only': {
    what: 'The gateway drops unknown members of a call.',
    caughtBy: ['GEM-02/body-is-unchanged'],
    hooks: changeRequest(isGemini, (json) => withoutMember(json, 'waybillProbe')),
  },
  'gemini-without-query': {
    what: 'The gateway does not pass on the query.',
    caughtBy: ['GEM-02/query-arrives'],
    hooks: {
      request(wanted) {
        wanted.path = wanted.path.replace(/([?&])waybillProbe=kept/, '$1')
      },
    },
  },
  'gemini-without-headers': {
    what: 'The gateway drops unknown headers from Google.',
    caughtBy: ['GEM-02/headers-arrive'],
    hooks: {
      request(wanted) {
        delete wanted.headers['x-goog-waybill-probe']
      },
    },
  },
  'gemini-other-line-ends': {
    what: 'A stream has different line endings from the provider’s.',
    caughtBy: ['GEM-03/same-events'],
    hooks: { event: (event, _, wanted) => [isGemini(wanted) ? event.replaceAll('\r\n', '\n') : event] },
  },
  'gemini-without-signatures': {
    what: 'The gateway drops thought signatures.',
    caughtBy: ['GEM-03/same-events'],
    hooks: {
      event: eachEvent(
        isGemini,
        eachPart((part) => withoutMember(part, 'thoughtSignature')),
      ),
    },
  },
  'gemini-list-written-again': {
    what: 'A stream in list form is parsed and written again.',
    caughtBy: ['GEM-03/same-list'],
    hooks: { body: eachBody(isGemini, (json) => json) },
  },
  'gemini-clean-end': {
    what: 'A stream that the provider breaks off ends normally.',
    caughtBy: ['GEM-04/broken-stream-has-no-end', 'FLOW-06@gemini'],
    hooks: {
      event: (event, _, wanted) => (isGemini(wanted) && event.includes('"error"') ? [] : [event]),
      cut: async () => 'data: {"candidates":[{"finishReason":"STOP","index":0}]}\r\n\r\n',
    },
  },
  'gemini-refusal-in-own-words': {
    what: "The gateway replaces the text of a provider's refusal.",
    caughtBy: ['GEM-04/refusal-arrives-word-for-word'],
    hooks: {
      body: eachBody(isGemini, (json) =>
        json.error ? { error: { ...json.error, message: 'The provider refused it.' } } : json,
      ),
    },
  },
  'gemini-refusal-is-500': {
    what: 'A refusal by the provider becomes a 500.',
    caughtBy: ['GEM-04/refusal-keeps-its-status'],
    hooks: {
      responseStart(start, wanted) {
        if (isGemini(wanted) && start.status === 400) start.status = 500
      },
    },
  },
  'thoughts-are-free': {
    what: 'The recorded output excludes thoughts.',
    caughtBy: ['GEM-05/kinds-are-kept-apart'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        tokens: { ...json.tokens, output: json.tokens?.output - (json.tokens?.reasoning ?? 0) },
      })),
    },
  },
  'gemini-known-reasons-only': {
    what: 'A finish reason that the gateway does not know becomes OTHER.',
    caughtBy: ['GEM-06/finish-reason-arrives'],
    hooks: { body: eachBody(isGemini, knownReasons), event: eachEvent(isGemini, knownReasons) },
  },
  'blocked-prompt-is-empty': {
    what: 'A blocked prompt arrives as an empty answer.',
    caughtBy: ['GEM-06/blocked-prompt-arrives'],
    hooks: { body: eachBody(isGemini, withoutFeedback), event: eachEvent(isGemini, withoutFeedback) },
  },
  'unknown-gemini-is-400': {
    what: 'Google’s clients receive 400 for an unknown model id.',
    caughtBy: ['GEM-07/default-or-not-found'],
    hooks: {
      request: ({ path }) =>
        path.includes('gemini-of-tomorrow')
          ? refuse(400, { code: 400, message: 'No such model.', status: 'INVALID_ARGUMENT' })
          : undefined,
    },
  },
  'gemini-counts-by-asking': {
    what: 'The gateway counts tokens by making a call.',
    caughtBy: ['GEM-08/counts-never-spend'],
    hooks: {
      async request(wanted, context) {
        if (isCount(wanted)) await context.spend()
      },
    },
  },
  'gemini-counts-nothing': {
    what: 'Every token count is 0.',
    caughtBy: ['GEM-08/is-counted'],
    hooks: { body: eachBody(isCount, () => ({ totalTokens: 0 })) },
  },
  'openai-list-for-google': {
    what: 'Google’s clients receive the model list in OpenAI’s format.',
    caughtBy: ['GEM-09/list-is-in-shape'],
    hooks: {
      body: onRead(/^\/v1beta\/models(\?|$)/, ({ models }) => ({
        ...{ object: 'list', data: models?.map(({ name }: Json) => ({ id: name, object: 'model' })) },
      })),
    },
  },
  'google-model-without-prefix': {
    what: 'The name of a single model lacks the prefix `models/`.',
    caughtBy: ['GEM-09/one-is-in-shape'],
    hooks: {
      body: onRead(/^\/v1beta\/models\/[^:]+$/, (json) => ({
        ...json,
        name: String(json.name).replace(/^models\//, ''),
      })),
    },
  },
  'gemini-loses-an-event': {
    what: 'The gateway drops the second event of a stream.',
    caughtBy: ['FLOW-01@gemini'],
    hooks: { event: (event, index, wanted) => (isGemini(wanted) && index === 1 ? [] : [event]) },
  },
  'gemini-holds-back': {
    what: 'The gateway holds back a stream until its end.',
    caughtBy: ['FLOW-03@gemini'],
    hooks: until(isGemini, /finishReason/),
  },
  'gemini-without-arguments': {
    what: 'Tool calls arrive without their arguments.',
    caughtBy: ['FLOW-08@gemini'],
    hooks: {
      event: eachEvent(
        isGemini,
        eachPart(({ functionCall: call, ...part }) => ({
          ...part,
          ...(call && { functionCall: { ...call, args: {} } }),
        })),
      ),
    },
  },
  'gemini-names-no-server': {
    what: 'In answers to Google’s clients, the response header names another model.',
    caughtBy: ['TELL-01@gemini'],
    hooks: {
      responseStart(start, wanted) {
        if (isGemini(wanted)) start.headers['x-gateway-model'] = 'gemini-of-yesterday'
      },
    },
  },
  'gemini-cached-at-full-price': {
    what: 'Cached input costs as much as ordinary input.',
    caughtBy: ['COST-02@gemini/cached-input'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        cost_usd: json.cost_usd + ((json.tokens?.cached_input ?? 0) * 0.45) / 1e6,
      })),
    },
  },
} satisfies Record<string, MustFail>
