// Must-fail gateways for the checks of TELL and FLOW: what answers tell about their call, and streams.
import { callIn, type MustFail } from '../gateway.ts'

export const gateways = {
  'one-session-on-responses': {
    what: 'Responses calls without a session get a session.',
    caughtBy: ['TELL-04@responses/closed-sets'],
    hooks: {
      responseStart({ headers }, { path }) {
        if (path === '/v1/responses') headers['x-gateway-session-id'] ??= 'default'
      },
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
  'decodes-each-chunk': {
    what: 'Characters that are split between two chunks are garbled.',
    caughtBy: ['FLOW-02'],
    hooks: {
      upstream: { chunk: (bytes) => bytes.toString('utf8') },
    },
  },
  'ends-with-a-stream': {
    what: 'The gateway crashes if the client or the provider breaks off a stream.',
    caughtBy: ['FLOW-06', 'LOG-01', 'LOG-06', 'LOG-07'],
    asCommand: true,
    hooks: {
      cut: () => process.exit(1),
    },
  },
  'loses-the-tail': {
    what: 'The last text events of a long stream are lost.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: (event, index) => (index > 5_000 && /"content":\s*"\d/.test(event) ? [] : [event]),
    },
  },
  'swaps-events': {
    what: 'Two events arrive in the wrong order.',
    caughtBy: ['FLOW-01'],
    hooks: () => {
      let held = ''
      return {
        event(event, index) {
          if (index === 3) held = event
          return index === 3 ? [] : index === 4 ? [event, held] : [event]
        },
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
