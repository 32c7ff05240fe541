// Failures are no usage.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The usage history leaves failed calls out.',
  kills: ['LOG-10'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/history')
        ? changeJson(body, (json) => ({
            ...json,
            totals: { ...json.totals, calls: json.totals?.calls - json.totals?.failed },
          }))
        : body,
  }),
} satisfies Mutant
