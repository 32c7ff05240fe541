// Cents are enough.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Costs are rounded before they are added up.',
  caughtBy: ['LOG-10'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/logs')
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data?.map((row: { cost_usd: number }) => ({
              ...row,
              cost_usd: Math.round(row.cost_usd * 100) / 100,
            })),
          }))
        : body,
  }),
} satisfies Fault
