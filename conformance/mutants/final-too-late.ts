// Records are closed by a job that runs now and then.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A record is final four seconds after the end.',
  kills: ['LOG-04'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            Date.now() - Date.parse(json.completed_at ?? json.created_at) < 4_000
              ? { ...json, state: 'streaming' }
              : json,
          )
        : body,
  }),
} satisfies Mutant
