// Must-fail gateways for the checks of TELL.

import { randomUUID } from 'node:crypto'
import { callIn, type MustFail, onRead, RECORD } from '../gateway.ts'

export const mustFail = {
  'one-session-on-responses': {
    what: 'Responses calls without a session get a session.',
    caughtBy: ['TELL-04@responses/closed-sets'],
    hooks: {
      responseStart({ headers }, { path }) {
        if (path === '/v1/responses') headers['x-gateway-session-id'] ??= 'default'
      },
    },
  },
  'a-cache-of-its-own-kind': {
    what: 'The cache header has the value NONE.',
    caughtBy: ['TELL-04'],
    hooks: {
      responseStart({ headers }) {
        if (headers['x-gateway-cache']) headers['x-gateway-cache'] = 'NONE'
      },
    },
  },
  advertises: {
    what: 'Answers end with a sentence from the gateway.',
    caughtBy: ['TELL-05'],
    hooks: {
      body: (body, wanted) =>
        callIn(wanted) ? body.replace(/("content":\s*"[^"]+)"/, '$1 (served by a fine gateway)"') : body,
    },
  },
  'another-id': {
    what: 'The request id in the headers differs from the recorded id.',
    caughtBy: ['TELL-03'],
    hooks: {
      responseStart({ headers }) {
        if (headers['x-gateway-request-id']) headers['x-gateway-request-id'] = randomUUID()
      },
    },
  },
  'cleans-names-on-record': {
    what: 'Non-ASCII characters in a model name become question marks in the record.',
    caughtBy: ['TELL-06'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        requested_model: json.requested_model?.replace(/[^ -~]/g, '?'),
      })),
    },
  },
  'invents-sessions': {
    what: 'The answer to a call without a session names a session.',
    caughtBy: ['TELL-04'],
    hooks: {
      responseStart({ headers }, wanted) {
        if (callIn(wanted)) headers['x-gateway-session-id'] ??= 'session-of-nobody'
      },
    },
  },
  'names-the-first-tried': {
    what: 'After a fallback, the response headers name the target that failed.',
    caughtBy: ['TELL-02'],
    hooks: {
      responseStart(head, wanted) {
        if (callIn(wanted)?.model !== 'auto') return
        head.headers['x-gateway-provider'] = 'openai'
        head.headers['x-gateway-model'] = 'gpt-5-mini'
      },
    },
  },
  'names-the-requested': {
    what: 'The response headers name the requested model instead of the model that served the call.',
    caughtBy: ['TELL-01'],
    hooks: {
      responseStart(head, wanted) {
        const call = callIn(wanted)
        if (call) head.headers['x-gateway-model'] = String(call.model)
      },
    },
  },
  'raw-names-in-headers': {
    what: 'A header contains a name that is not encoded.',
    caughtBy: ['TELL-06'],
    hooks: {
      responseStart({ headers }, wanted) {
        const model = String(callIn(wanted)?.model ?? '').replace(/\p{Cc}/gu, '')
        if (model)
          headers['x-requested-model'] = Buffer.from(model)
            .toString('latin1')
            .replace(/\p{Cc}/gu, '')
      },
    },
  },
  'raw-names-in-the-line': {
    what: 'The status line prints a name unescaped.',
    caughtBy: ['TELL-06'],
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/statusline')
          ? `${body}${new URL(path, 'http://gateway').searchParams.get('model')}\n`
          : body,
    },
  },
  'session-on-reads': {
    what: 'Read endpoints send a session header.',
    caughtBy: ['TELL-04'],
    hooks: {
      responseStart({ headers }, wanted) {
        const session = wanted.headers['x-gateway-session-id']
        if (!callIn(wanted) && session) headers['x-gateway-session-id'] = session
      },
    },
  },
  'silent-on-streams': {
    what: 'Streams have no header that names the provider.',
    caughtBy: ['TELL-01'],
    hooks: {
      responseStart({ headers }) {
        if (/event-stream/.test(headers['content-type'] ?? '')) delete headers['x-gateway-provider']
      },
    },
  },
  'tags-the-stream': {
    what: 'The first event of a stream contains a tag with the route.',
    caughtBy: ['TELL-05'],
    hooks: {
      event: (event) => [event.replace(/"content":"(?=[^"])/, '"content":"<route>openai</route>')],
    },
  },
  'one-id-for-all': {
    what: 'Every answer has the request id of the first answer.',
    caughtBy: ['TELL-03'],
    hooks: () => {
      let first: string | string[] | undefined
      return {
        responseStart({ headers }) {
          first ??= headers['x-gateway-request-id']
          if (headers['x-gateway-request-id']) headers['x-gateway-request-id'] = first
        },
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
