// Gateways that handle keys and credentials in an unusual way.
import type { MustPass } from '../gateway.ts'

export const mustPass = {
  'fills-one-key-first': {
    what: 'The first of a provider’s keys serves every session until the provider refuses it.',
    hooks: {
      upstream: {
        request({ headers }, { env }) {
          if (headers.authorization === `Bearer ${env.OPENAI_SECOND_KEY}`)
            headers.authorization = `Bearer ${env.OPENAI_KEY}`
        },
      },
    },
  },
  'no-fallback-from-a-callers-login': {
    what: "A call that fails with the caller's credential is not sent to providers that the gateway pays for.",
    hooks: {
      config: (text) =>
        text.includes('auth: caller')
          ? text.replace(', { model: groq/openai/gpt-oss-120b } ] }', ' ] }')
          : text,
    },
  },
  'another-header-for-its-key': {
    what: "In calls with a caller's credential, the gateway key is sent in another header.",
    target: (target) => ({
      ...target,
      capabilities: {
        ...target.capabilities,
        caller_credentials: { ...target.capabilities.caller_credentials!, key_header: 'x-proxy-token' },
      },
    }),
    hooks: {
      request({ headers }) {
        const { 'x-proxy-token': key, ...others } = headers
        if (key === undefined) return
        for (const name of Object.keys(headers)) delete headers[name]
        Object.assign(headers, others, { 'x-gateway-key': key })
      },
    },
  },
} satisfies Record<string, MustPass>
