// New calls push the old ones down.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Each further page begins with a row of the one before.',
  kills: ['LOG-09'],
  start: (directory, env) => {
    let last: unknown[] = []
    return bent({
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
} satisfies Mutant
