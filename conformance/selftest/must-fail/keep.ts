// Must-fail gateways for the checks of KEEP.
import { callIn, failWith, type MustFail } from '../gateway.ts'

/** Path of the provider that receives the caller's credential. */
const CALLERS = '/openai/'

export const gateways = {
  'answers-errors-itself': {
    what: 'Every call after the second is answered with an error, and no provider is called.',
    caughtBy: ['KEEP-01', 'FLOW-06', 'FLOW-09', 'FAIL-05'],
    hooks: () => {
      let calls = 0
      return {
        request(wanted) {
          if (!callIn(wanted) || ++calls < 2) return
          const error = { message: 'Not today.', type: 'server_error', param: null, code: null }
          const headers = { 'content-type': 'application/json' }
          return { status: 502, headers, body: JSON.stringify({ error }) }
        },
      }
    },
  },
  'echoes-keys': {
    what: 'An error message contains the provider’s key.',
    caughtBy: ['KEEP-01'],
    hooks: {
      body: (body, _, { env }) =>
        body.includes('"error"') ? body.replace('"message":"', `"message":"${env.OPENAI_KEY}: `) : body,
    },
  },
  'forwards-the-client-key': {
    what: 'The client’s key reaches the provider.',
    caughtBy: ['KEEP-02'],
    hooks: () => {
      let key = ''
      return {
        request(wanted) {
          if (callIn(wanted)) key = String(wanted.headers.authorization ?? wanted.headers['x-api-key'])
        },
        upstream: {
          request(wanted) {
            wanted.headers['x-forwarded-authorization'] = key
          },
        },
      }
    },
  },
  'a-key-in-a-url-will-do': {
    what: 'Read endpoints accept a key in the query.',
    caughtBy: ['KEEP-03/key-in-a-url-is-refused'],
    hooks: {
      request(wanted) {
        const [path, query = ''] = wanted.path.split('?') as [string, string?]
        const { access_token: key, ...rest } = Object.fromEntries(new URLSearchParams(query))
        if (key === undefined) return
        wanted.path = `${path}?${new URLSearchParams(rest)}`
        wanted.headers.authorization = `Bearer ${key}`
      },
    },
  },
  'repeats-the-query': {
    what: 'The answer repeats a key from the query.',
    caughtBy: ['KEEP-01'],
    hooks: {
      body: (body, { path }) =>
        path.includes('?key=') ? body.replace('"message":"', `"message":"${path} `) : body,
    },
  },
  'answers-from-memory': {
    what: 'Only the first call reaches a provider.',
    caughtBy: ['KEEP-02/calls-reach-a-provider', 'ROUTE-01'],
    hooks: () => {
      let calls = 0
      return { request: (wanted) => (callIn(wanted) && ++calls > 1 ? failWith(502) : undefined) }
    },
  },
  'locks-out-whom-it-does-not-know-alike': {
    what: 'Every key, valid or not, gets 403 for model lists.',
    caughtBy: ['KEEP-03/answered-with-the-key'],
    profile: 'observable',
    hooks: {
      request: ({ method, path, headers }) =>
        method === 'GET' && path.endsWith('/models') && headers.authorization ? failWith(403) : undefined,
    },
  },
  'sends-the-callers-token-on-fallback': {
    what: "After a failure, the next provider receives the caller's credential in a separate header.",
    caughtBy: ['KEEP-10/not-on-fallback'],
    hooks: () => {
      let token: string | undefined
      return {
        request({ headers }) {
          if (headers['x-gateway-key']) token = headers.authorization
        },
        upstream: {
          request({ path, headers }) {
            if (token && !path.startsWith(CALLERS)) headers['x-forwarded-authorization'] = token
          },
        },
      }
    },
  },
  'lends-the-callers-token': {
    what: "One caller's credential is used for the next caller without a credential.",
    caughtBy: ['KEEP-10/not-lent'],
    hooks: () => {
      let token: string | undefined
      return {
        request({ headers }) {
          if (headers['x-gateway-key']) token = headers.authorization ??= token
        },
      }
    },
  },
  'passes-its-own-key-on': {
    what: "The gateway key sent with the caller's credential also goes to the provider.",
    caughtBy: ['KEEP-10/gateway-key-stays'],
    hooks: () => {
      let key: string | undefined
      return {
        request({ headers }) {
          key = headers['x-gateway-key']?.toString() ?? key
        },
        upstream: {
          request({ headers }) {
            if (key) headers['x-gateway-key'] = key
          },
        },
      }
    },
  },
  'splits-sessions-over-keys': {
    what: "The gateway rotates a provider's keys regardless of the session.",
    caughtBy: ['KEEP-11/session-keeps-its-key'],
    hooks: () => {
      let calls = 0
      return {
        upstream: {
          request({ headers }, { env }) {
            const keys = [env.OPENAI_KEY, env.OPENAI_SECOND_KEY].map((key) => `Bearer ${key}`)
            if (keys.includes(headers.authorization!)) headers.authorization = keys[calls++ % 2]!
          },
        },
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
