// Failures are no usage.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The usage history leaves failed calls out.',
  caughtBy: ['LOG-10'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/history')
        ? changeJson(body, (json) => ({
            ...json,
            totals: { ...json.totals, calls: json.totals?.calls - json.totals?.failed },
          }))
        : body,
  }),
} satisfies Fault
