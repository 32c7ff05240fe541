// Attempts are planned, then written down, then perhaps made.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'An attempt stands on record that no provider saw.',
  kills: ['LOG-07'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            attempt_log: [...(json.attempt_log ?? []), json.attempt_log?.[0]],
          }))
        : body,
  }),
} satisfies Mutant
