// Gateways that serve Google's clients in an unusual way.
import { isGemini } from '../dialect-hooks.ts'
import { changeJson, type Json, type MustPass } from '../gateway.ts'

/** Refusal of a wrong key in Google's own words. */
const WRONG_KEY = JSON.stringify({
  error: {
    ...{ code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' },
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
  },
})

const notFound = (message: string) => ({
  status: 404,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: { code: 404, message, status: 'NOT_FOUND' } }),
})

export const mustPass = {
  'wrong-google-key-is-400': {
    what: 'A wrong key gets 400 API_KEY_INVALID, as with Google.',
    on: ['gemini'],
    hooks: {
      body: (body, wanted) => (isGemini(wanted) && /"code":401/.test(body) ? WRONG_KEY : body),
      responseStart(start, wanted) {
        if (isGemini(wanted) && start.status === 401) start.status = 400
      },
    },
  },
  'own-google-errors-say-more': {
    what: 'The gateway’s own errors have additional members and are in a list, as Google sends them for streams.',
    on: ['gemini'],
    hooks: {
      body: (body, wanted) => {
        const changed = changeJson(body, (json) => [
          { error: { ...json.error, request: 'r-1' }, trace: 't-1' },
        ])
        const isOwn = isGemini(wanted) && body.includes('"error"') && !body.includes('input image')
        return isOwn ? changed : body
      },
    },
  },
  'no-list-for-google': {
    what: 'The gateway lists models only for OpenAI’s clients, and answers Google’s clients with 404.',
    on: ['gemini'],
    hooks: {
      request: ({ method, path }) =>
        method === 'GET' && path.startsWith('/v1beta/models') ? notFound('Not here.') : undefined,
    },
  },
  'no-counts-for-google': {
    what: 'The gateway does not count tokens for Google’s clients, and answers with 404.',
    on: ['gemini'],
    hooks: {
      request: ({ path }) => (path.includes(':countTokens') ? notFound('Not here.') : undefined),
    },
  },
  'gemini-in-another-order': {
    what: 'The body reaches the provider with a different member order and different white space.',
    on: ['gemini'],
    hooks: {
      request(wanted) {
        if (!isGemini(wanted)) return
        const turned = (json: Json) => Object.fromEntries(Object.entries(json).reverse())
        const body = changeJson(wanted.body.toString('utf8'), turned)
        wanted.body = Buffer.from(body.replace(/^\{/, '{ '))
      },
    },
  },
} satisfies Record<string, MustPass>
