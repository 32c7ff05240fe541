// Gateways with an unusual catalog, unusual models, or unusual paths to models.
import { CHAT, changeJson, type MustPass, onRead } from '../gateway.ts'

const CATALOG = '/v1/models'
let turn = 0

/** Returns the same members, at every depth, in a different order each time. */
const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .map(([name, each]) => [name, shuffled(each)] as const)
            .sort(() => (turn % 2 === 0 ? 1 : -1)),
        )
      : value

export const mustPass = {
  'sends-tools-to-responses': {
    what: 'Calls with tools go to the provider in the Responses dialect, because the model accepts tools only there.',
    hooks: {
      config: (text) =>
        text.replace('{ sampling: any, chat_tools: yes }', '{ sampling: any, chat_tools: no }'),
    },
  },
  'catalog-of-hash-maps': {
    what: 'The fields of a catalog entry and of its objects are in any order.',
    hooks: {
      body: (body, { path }) => {
        if (path !== CATALOG) return body
        turn++
        return changeJson(body, (json) => ({
          ...json,
          data: json.data.map((entry: object) =>
            shuffled({ ...entry, pricing: { input: 1, output: 2, cached: { read: 3, write: 4 } } }),
          ),
        }))
      },
    },
  },
  'catalog-of-sets': {
    what: 'The capabilities of a model are listed in any order.',
    hooks: () => {
      let readings = 0
      return {
        body: onRead(/^\/v1\/models(\?|$)/, (json) => {
          const features = Math.floor(readings++ / 2) % 2 === 0 ? ['chat', 'vision'] : ['vision', 'chat']
          return { ...json, data: json.data.map((entry: object) => ({ ...entry, features })) }
        }),
      }
    },
  },
  'catalog-with-a-wildcard': {
    what: 'The catalog lists a provider with all its models as `openai/*`.',
    hooks: {
      body: onRead(CATALOG, (json) => ({
        ...json,
        data: [
          ...json.data.filter(({ id }: { id: string }) => !/^(openai|groq)\//.test(id)),
          ...['openai/*', 'groq/*'].map((id) => ({ id, object: 'model', created: 0, owned_by: 'another' })),
        ],
      })),
    },
  },
  'catalog-in-pages': {
    what: 'The catalog has fields for paging, and its first page contains all entries.',
    hooks: {
      body: onRead(CATALOG, (json) => ({
        ...json,
        first_id: json.data[0]?.id,
        last_id: json.data.at(-1)?.id,
        has_more: false,
        total: json.data.length,
      })),
    },
  },
  'names-of-its-own': {
    what: 'The gateway gives models its own names, which do not contain the provider.',
    target: (target) => ({
      ...target,
      models: {
        logical: target.models.logical.filter(({ id }) => id === 'auto'),
        direct: [{ id: 'auto/single', provider: 'openai', model: 'gpt-5-mini' }],
      },
    }),
    hooks: {},
  },
  'one-model-at-two-providers': {
    what: 'Two providers have a model with the same id, and a route goes to both.',
    target: (target) => ({
      ...target,
      models: {
        logical: target.models.logical.map((table) =>
          table.id === 'auto'
            ? { ...table, targets: [table.targets[0]!, { provider: 'groq', model: 'gpt-5-mini' }] }
            : table,
        ),
        direct: [target.models.direct[0]!],
      },
    }),
    hooks: {
      config: (text) => text.replace('groq/openai/gpt-oss-120b, tier', 'groq/gpt-5-mini, tier'),
    },
  },
  'only-models': {
    what: 'The gateway has models but no routes, resolve path, sessions or keys.',
    target: ({ models, ...target }) => {
      const { resolve: _, session: __, gateway_keys: ___, ...capabilities } = target.capabilities
      return { ...target, models: { logical: [], direct: models.direct }, capabilities }
    },
    hooks: {},
  },
  'only-routes': {
    what: 'The gateway has routes but no models that can be called by their own names.',
    target: (target) => ({ ...target, models: { ...target.models, direct: [] } }),
    hooks: {
      request: ({ body, path }) =>
        path === CHAT && /"model":\s*"(openai|groq)\//.test(body.toString('utf8'))
          ? {
              status: 404,
              headers: { 'content-type': 'application/json' },
              body: '{"error":{"message":"only routes can be called"}}',
            }
          : undefined,
    },
  },
  'tries-again': {
    what: 'A failed target is tried once more before the next target, as declared.',
    target: (target) => ({ ...target, capabilities: { ...target.capabilities, retry_delay_ms: 1_000 } }),
    hooks: { config: (text) => text.replace('retries: 0', 'retries: 1') },
  },
} satisfies Record<string, MustPass>
