// Only the attempt that mattered is kept.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record lists the last attempt only.',
  kills: ['LOG-07'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, attempt_log: json.attempt_log?.slice(-1) }))
        : body,
  }),
} satisfies Mutant
