// Cents are enough.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Costs are rounded before they are added up.',
  kills: ['LOG-10'],
  start: bent({
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
} satisfies Mutant
