// Gateways with unusual whole answers and names.
import { clock } from '../../../src/shared/clock.ts'
import { type MustPass, onEvent, onRead, parseJson } from '../gateway.ts'

let made = 1_700_000_000

export const mustPass = {
  'a-percent-sign-in-a-name': {
    what: 'Headers name a provider as "100% openai", as declared, because only Waybill\'s headers are percent-encoded.',
    target: (target) => ({
      ...target,
      providers: { ...target.providers, openai: { aliases: ['100% openai'] } },
    }),
    hooks: {
      responseStart({ headers }) {
        if (headers['x-gateway-provider'] === 'openai') headers['x-gateway-provider'] = '100% openai'
      },
    },
  },
  'shouts-its-providers': {
    what: 'Providers are written in capitals.',
    hooks: {
      responseStart({ headers }) {
        const provider = headers['x-gateway-provider']
        if (provider !== undefined) headers['x-gateway-provider'] = String(provider).toUpperCase()
      },
    },
  },
  'names-the-provider-with-the-model': {
    what: 'The gateway always reports a model with its provider as a prefix.',
    hooks: {
      responseStart({ headers }) {
        const { 'x-gateway-provider': provider, 'x-gateway-model': model } = headers
        if (provider && model) headers['x-gateway-model'] = `${provider}/${model}`
      },
    },
  },
  'answers-with-the-requested-model': {
    what: 'The `model` of an answer is the requested model.',
    hooks: { config: (text) => text.replace('\n  auto:\n', '$&    answer_model: requested\n') },
  },
  'ids-of-its-own': {
    what: 'Answers have ids, times and a fingerprint made by the gateway.',
    hooks: {
      body: onRead(/^\/v1\/chat\/completions$/, (json) =>
        json.choices
          ? { ...json, id: 'own-1', created: 1, system_fingerprint: 'another', x_gateway: { took: 7 } }
          : json,
      ),
      event: onEvent((json) => ({ ...json, id: 'own-1', created: 1, system_fingerprint: null })),
    },
  },
  'writes-json-with-spaces': {
    what: 'JSON is indented and has its fields in another order.',
    hooks: {
      body(body) {
        try {
          const json = parseJson(body)
          return JSON.stringify(
            Array.isArray(json) ? json : Object.fromEntries(Object.entries(json).reverse()),
            null,
            2,
          )
        } catch {
          return body
        }
      },
    },
  },
  'catalog-with-a-clock': {
    what: 'Each catalog entry states when the entry was last checked.',
    hooks: {
      body: onRead(/^\/v1\/models(\?|$)/, (json) => ({
        ...json,
        data: json.data.map((entry: object) => ({
          ...entry,
          last_checked: clock.now() + Math.random(),
        })),
      })),
    },
  },
  'catalog-in-any-order': {
    what: 'The catalog is rebuilt for each read, with its entries in any order.',
    hooks: {
      body: onRead(/^\/v1\/models$/, (json) => {
        const data = json.data.map((entry: object) => ({ ...entry, created: made++ }))
        return { ...json, data: made % 2 === 0 ? data : data.toReversed() }
      }),
    },
  },
  'lists-a-model-twice': {
    what: 'The catalog lists a model twice if two providers have it.',
    hooks: {
      body: onRead(/^\/v1\/models(\?|$)/, (json) => ({
        ...json,
        data: [...json.data, { ...json.data[0], owned_by: 'another' }],
      })),
    },
  },
} satisfies Record<string, MustPass>
