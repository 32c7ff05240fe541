// An example helps.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Routing analytics hold the id of a call.',
  kills: ['LOG-10'],
  start: (directory, env) => {
    let last: unknown = null
    return bent({
      head({ headers }) {
        last = headers['x-gateway-request-id'] ?? last
      },
      body: (body, { path }) =>
        path.startsWith('/api/analytics') ? changeJson(body, (json) => ({ ...json, example: last })) : body,
    })(directory, env)
  },
} satisfies Mutant
