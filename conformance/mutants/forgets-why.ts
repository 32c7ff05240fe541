// It failed; that is enough.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Attempts on record have no reason.',
  kills: ['LOG-05'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            attempt_log: json.attempt_log?.map((each: object) => ({ ...each, error_code: null })),
          }))
        : body,
  }),
} satisfies Mutant
