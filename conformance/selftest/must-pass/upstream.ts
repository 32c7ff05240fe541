// Gateways that call their providers in an unusual way.
import { every, stray } from '../../../src/shared/boundary.ts'
import type { Timer } from '../../../src/shared/clock.ts'
import { changeJson, type MustPass, onCall } from '../gateway.ts'

export const mustPass = {
  'is-two-years-old': {
    what: "The gateway leaves out OpenAI's recent fields and a provider's Retry-After, because both are only recommended.",
    mayWarn: ['ROUTE-05', 'ROUTE-06', 'FAIL-04', 'RSP-09', 'MSG-13'],
    hooks: {
      request: onCall(({ prompt_cache_key: _, safety_identifier: __, store: ___, ...rest }) => rest),
      responseStart({ headers }) {
        delete headers['retry-after']
      },
    },
  },
  'tries-its-key-with-nothing': {
    what: 'At start-up and at each read of the models, the gateway tests its key with an empty request. The resulting 400 costs nothing.',
    mayWarn: ['PURE-03'],
    hooks: {
      started: ({ spend }) => void spend({ messages: undefined }).catch(() => {}),
      async request({ method, path }, { spend }) {
        if (method === 'GET' && path === '/v1/models') await spend({ messages: undefined })
      },
    },
  },
  'speaks-in-older-words': {
    what: 'The provider receives the older name of the token limit, a string instead of a list of one, no defaults, and one more field.',
    hooks: {
      upstream: {
        request(wanted) {
          if (wanted.method !== 'POST') return
          const body = changeJson(
            wanted.body.toString('utf8'),
            ({ max_completion_tokens, stream, messages, ...rest }) => ({
              ...rest,
              messages: messages.map((message: { content?: { text?: string }[] }) => {
                const [part, ...more] = Array.isArray(message.content) ? message.content : []
                return part?.text !== undefined && more.length === 0
                  ? { ...message, content: part.text }
                  : message
              }),
              ...(max_completion_tokens !== undefined && { max_tokens: max_completion_tokens }),
              ...(stream === true && { stream }),
              x_sent_by: 'another-gateway',
            }),
          )
          wanted.body = Buffer.from(body)
        },
      },
    },
  },
  'drops-null-members': {
    what: 'The gateway drops request fields that are null.',
    hooks: {
      upstream: {
        request(wanted) {
          if (wanted.method !== 'POST') return
          const said = (value: unknown): unknown =>
            Array.isArray(value)
              ? value.map(said)
              : typeof value === 'object' && value !== null
                ? Object.fromEntries(
                    Object.entries(value).flatMap(([name, each]) =>
                      each === null ? [] : [[name, said(each)]],
                    ),
                  )
                : value
          wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), (json) => said(json) as object))
        },
      },
    },
  },
  'has-an-old-key-too': {
    what: "A provider refuses one of the gateway's two keys with 401, and the gateway repeats the request with the other key.",
    // The gateway behind this hook does not see the first request.
    target: ({ observability, ...target }) => {
      const { attempts: _, ...log } = observability.log!
      return { ...target, observability: { ...observability, log } }
    },
    hooks: {
      upstream: {
        async request(wanted, context) {
          if (wanted.method !== 'POST') return
          await context.provider({
            ...wanted,
            headers: {
              ...wanted.headers,
              ...(wanted.headers['x-api-key'] === undefined
                ? { authorization: 'Bearer sk-the-old-one' }
                : { 'x-api-key': 'sk-the-old-one' }),
            },
          })
        },
      },
    },
  },
  'asks-for-models': {
    what: 'Every two seconds, the gateway requests a model list as a health check, as declared.',
    mayWarn: ['PURE-03'],
    target: (target) => ({ ...target, capabilities: { ...target.capabilities, probe_interval_ms: 2_000 } }),
    hooks: () => {
      let timer: Timer
      return {
        started({ list }) {
          timer = every(2_000, () => list().catch(() => {}), stray)
        },
        stopping: () => void timer.close(),
      }
    },
  },
  'any-order': {
    what: 'The gateway tries targets in any order.',
    hooks: { config: (text) => text.replace('\n  auto:\n', '$&    strategy: random\n') },
  },
  'in-turns': {
    what: 'The gateway rotates through the targets.',
    hooks: { config: (text) => text.replace('\n  auto:\n', '$&    strategy: round-robin\n') },
  },
  'two-deployments': {
    what: 'A route contains one model twice, at two deployments of one provider.',
    target: (target) => ({
      ...target,
      providers: { ...target.providers, openai: { aliases: ['openai-west'] } },
      models: {
        ...target.models,
        direct: target.models.direct.slice(0, 1),
        logical: target.models.logical.map((table) =>
          table.id === 'auto' ? { ...table, targets: [table.targets[0]!, table.targets[0]!] } : table,
        ),
      },
    }),
    hooks: {
      config: (text) =>
        text
          .replace(/\n( +)openai: (\{.*\})/, '\n$1openai: $2\n$1openai-west: $2')
          .replace(
            '- { model: groq/openai/gpt-oss-120b, tier: cheap }',
            '- { model: openai-west/gpt-5-mini }',
          ),
    },
  },
} satisfies Record<string, MustPass>
