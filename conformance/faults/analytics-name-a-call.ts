// An example helps.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Routing analytics hold the id of a call.',
  caughtBy: ['LOG-10'],
  start: (directory, env) => {
    let last: unknown = null
    return referenceWith({
      head({ headers }) {
        last = headers['x-gateway-request-id'] ?? last
      },
      body: (body, { path }) =>
        path.startsWith('/api/analytics') ? changeJson(body, (json) => ({ ...json, example: last })) : body,
    })(directory, env)
  },
} satisfies Fault
