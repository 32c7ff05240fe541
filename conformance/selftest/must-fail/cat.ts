// Must-fail gateways for the checks of CAT.
import { changeJson, failWith, type MustFail } from '../gateway.ts'

export const mustFail = {
  'bare-catalog': {
    what: 'The model list is a bare array.',
    caughtBy: ['CAT-01'],
    hooks: {
      body: (body, { path }) => (path === '/v1/models' ? changeJson(body, (json) => json.data) : body),
    },
  },
  'catalog-by-session': {
    what: 'The model list has one more entry for requests with a session.',
    caughtBy: ['CAT-03'],
    hooks: {
      body: (body, { path, headers }) =>
        path === '/v1/models' && headers['x-gateway-session-id']
          ? changeJson(body, (json) => ({
              ...json,
              data: [...json.data, { ...json.data[0], id: 'last-used' }],
            }))
          : body,
    },
  },
  'catalog-counts-calls': {
    what: 'The model list changes after a call.',
    caughtBy: ['CAT-03'],
    hooks: {
      body: (body, { path }, { count }) =>
        path === '/v1/models' ? changeJson(body, (json) => ({ ...json, used: count })) : body,
    },
  },
  'lists-now-and-then': {
    what: 'Every third read of the catalog is refused.',
    caughtBy: ['CAT-03/readings-are-answered'],
    hooks: () => {
      let readings = 0
      return {
        request: ({ path }) => (path === '/v1/models' && ++readings % 3 === 0 ? failWith(503) : undefined),
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
