// What is on the table is ready.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Resolve calls a target ready that cools.',
  kills: ['ROUTE-09'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve') ? body.replaceAll('"cooling"', '"ready"') : body,
  }),
} satisfies Mutant
