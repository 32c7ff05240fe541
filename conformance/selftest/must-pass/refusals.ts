// Gateways that refuse requests, or relay a refusal, in an unusual way.
import { clock } from '../../../src/shared/clock.ts'
import { CHAT, callIn, changeJson, failWith, type MustPass } from '../gateway.ts'

/** Temperature in the requests of FIT-08; other temperatures are accepted. */
const REFUSED = 0.37

/** Returns the target without a declared memory of refusals. */
const learnsNothing: NonNullable<MustPass['target']> = (target) => {
  const { learns_refusals: _, ...capabilities } = target.capabilities
  return { ...target, capabilities }
}

export const mustPass = {
  'adjusts-and-says-so': {
    what: 'The gateway leaves out a refused parameter on its second attempt, and names the parameter in a response header.',
    target: learnsNothing,
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call?.temperature !== REFUSED) return
        const { temperature, ...rest } = call
        await spend({ messages: call.messages, temperature })
        wanted.body = Buffer.from(JSON.stringify(rest))
        wanted.headers['content-length'] = String(wanted.body.length)
        wanted.headers['x-left-out'] = 'temperature'
      },
      responseStart(head, { headers }) {
        if (headers['x-left-out']) head.headers['x-params-dropped'] = 'temperature'
      },
    },
  },
  'asks-another-target-with-all-of-it': {
    what: 'After a provider refuses a parameter, another provider gets the parameter and accepts it.',
    target: learnsNothing,
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call?.temperature !== REFUSED) return
        await spend({ messages: call.messages, temperature: REFUSED })
        wanted.body = Buffer.from(JSON.stringify({ ...call, model: 'groq/openai/gpt-oss-120b' }))
        wanted.headers['content-length'] = String(wanted.body.length)
      },
    },
  },
  'refuses-temperatures-itself': {
    what: 'The gateway itself refuses a call with a temperature, without a request to a provider.',
    target: learnsNothing,
    hooks: {
      request: (wanted) => (callIn(wanted)?.temperature === REFUSED ? failWith(400) : undefined),
    },
  },
  'refuses-what-it-learned': {
    what: 'The gateway itself refuses a call with a previously refused parameter, without a request to a provider.',
    hooks: () => {
      const learned = new Set<string>()
      return {
        request(wanted, { directory }) {
          if (callIn(wanted)?.temperature !== REFUSED) return
          if (learned.has(directory)) return failWith(400)
          learned.add(directory)
        },
      }
    },
  },
  'all-is-500': {
    what: 'Every failure of a provider becomes a 500.',
    hooks: {
      responseStart(head, { path }) {
        if (path === CHAT && head.status > 500) head.status = 500
      },
    },
  },
  'unknown-models-are-403': {
    what: 'An unknown model gets 403, because the key may not use it.',
    hooks: {
      responseStart(head, { path }) {
        if (path === CHAT && head.status === 404) head.status = 403
      },
    },
  },
  'problems-with-an-error': {
    what: 'Errors are problem details (RFC 9457) that also have the usual `error` field.',
    hooks: {
      responseStart({ status, headers }) {
        if (status >= 400 && /json/.test(headers['content-type'] ?? ''))
          headers['content-type'] = 'application/problem+json'
      },
      body: (body) =>
        changeJson(body, (json) =>
          json.error?.message
            ? { type: 'about:blank', title: 'It failed', detail: json.error.message, ...json }
            : json,
        ),
    },
  },
  'numbers-for-codes': {
    what: 'The code of an error is the HTTP status as a number, and its type is null.',
    hooks: {
      body: (body) =>
        changeJson(body, (json) =>
          json.error?.message ? { ...json, error: { ...json.error, code: 500, type: null } } : json,
        ),
    },
  },
  'errors-of-streams-are-events': {
    what: 'A stream that fails before its first event has an error status and contains the error as an event.',
    hooks: {
      responseStart(head, wanted) {
        if (head.status >= 400 && callIn(wanted)?.stream === true)
          head.headers['content-type'] = 'text/event-stream; charset=utf-8'
      },
      body: (body, wanted) =>
        callIn(wanted)?.stream === true ? `data: ${JSON.stringify(JSON.parse(body))}\n\n` : body,
    },
  },
  'adds-its-own-words': {
    what: "The gateway's error message contains the provider’s message inside a sentence.",
    hooks: {
      body: (body, wanted) =>
        callIn(wanted)
          ? changeJson(body, (json) =>
              json.error?.message
                ? {
                    ...json,
                    error: {
                      ...json.error,
                      message: `OpenAIException - ${json.error.message} (no fallback)`,
                    },
                  }
                : json,
            )
          : body,
    },
  },
  'retry-after-as-a-date': {
    what: 'The header Retry-After is a date, the second format that HTTP allows.',
    hooks: {
      responseStart({ headers }) {
        const seconds = Number(headers['retry-after'])
        if (headers['retry-after'] !== undefined)
          headers['retry-after'] = new Date(clock.now() + seconds * 1_000).toUTCString()
      },
    },
  },
  'names-the-scheme': {
    what: 'A 401 names its scheme in WWW-Authenticate and has a body without a code.',
    hooks: {
      responseStart({ status, headers }) {
        if (status === 401) headers['www-authenticate'] = 'Bearer realm="another"'
      },
      body: (body) =>
        changeJson(body, (json) =>
          json.error?.message ? { error: { message: json.error.message, type: 'auth' } } : json,
        ),
    },
  },
  'hides-the-key-trouble': {
    what: 'If a provider refuses the gateway’s own key, the client gets 502, because the client’s key is valid.',
    hooks: {
      responseStart(head, wanted) {
        if (head.status === 401 && wanted.headers.authorization && callIn(wanted)?.messages)
          if (head.headers['x-gateway-provider'] !== undefined) head.status = 502
      },
    },
  },
  'wrong-keys-are-403': {
    what: 'A missing key gets 401, and an unknown key gets 403.',
    hooks: {
      responseStart(head, { headers }) {
        if (head.status === 401 && headers.authorization) head.status = 403
      },
    },
  },
  'keys-have-roles': {
    what: "Both keys get 403 for reading the routes, and the log's key gets 403 for exporting the log. Unknown keys get 401.",
    hooks: {
      responseStart(head, { path, headers }, { env }) {
        if (head.status !== 200) return
        const isAdmin = headers.authorization === `Bearer ${env.ADMIN_KEY}`
        if (path === '/api/routes' || (isAdmin && path.startsWith('/api/usage/export'))) head.status = 403
      },
    },
  },
  'leaves-refusing-to-its-provider': {
    what: 'Invalid bodies, even two in a row, are forwarded to the provider as empty requests, which the provider refuses.',
    hooks: {
      async request(wanted, context) {
        if (wanted.method !== 'POST' || wanted.path !== CHAT || callIn(wanted)?.model) return
        await context.spend({ messages: undefined })
        return failWith(400)
      },
    },
  },
  'says-the-query-back': {
    what: 'The error for an unknown path repeats the path and query to the client that sent them.',
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/nothing') ? JSON.stringify({ error: { message: `nothing is at ${path}` } }) : body,
    },
  },
  'clients-bring-the-key': {
    what: "The client’s key is the provider’s own key, and a provider's message about the key is passed on to the client.",
    target: (target) => {
      const { caller_credentials: _, ...capabilities } = target.capabilities
      const env = { ...target.env, CLIENT_KEY: '{{key.client}}' }
      return { ...target, capabilities, env, keys: { client: '{{mock.openai.key}}' } }
    },
    hooks: {
      request({ headers }, { env }) {
        for (const name of ['authorization', 'x-api-key'])
          if (headers[name] !== undefined)
            headers[name] = String(headers[name]).replace(env.OPENAI_KEY!, env.CLIENT_KEY!)
      },
      body: (body, { path }, { env }) =>
        path === CHAT ? body.replace(/(API key provided: )[^"]+/, `$1${env.OPENAI_KEY}`) : body,
    },
  },
  'refuses-to-reason': {
    what: 'A reasoning effort for a model without reasoning gets 400, as with OpenAI, and no request is sent.',
    // The configuration with a budget has no such model, so it declares no budget.
    target: (target) => {
      const { budget: _, ...capabilities } = target.capabilities
      return { ...target, capabilities, models: { ...target.models, call: 'groq/openai/gpt-oss-120b' } }
    },
    hooks: {
      request(wanted) {
        const call = callIn(wanted)
        return call && ('reasoning_effort' in call || 'verbosity' in call) ? failWith(400) : undefined
      },
    },
  },
} satisfies Record<string, MustPass>
