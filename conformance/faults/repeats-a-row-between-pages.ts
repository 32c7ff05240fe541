// New calls push the old ones down.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Each further page begins with a row of the one before.',
  caughtBy: ['LOG-09'],
  start: (directory, env) => {
    let last: unknown[] = []
    return referenceWith({
      body: (body, { path }) =>
        path.startsWith('/api/usage/request-logs?')
          ? changeJson(body, (json) => {
              const data = path.includes('cursor=') ? [...last, ...(json.data ?? [])] : json.data
              last = json.data?.slice(-1) ?? []
              return { ...json, data }
            })
          : body,
    })(directory, env)
  },
} satisfies Fault
