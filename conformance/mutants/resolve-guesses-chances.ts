// One in three.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Resolve gives every candidate the same probability.',
  kills: ['ROUTE-11'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? body.replace(/"probability":\s*[\d.]+/g, '"probability":0.3333')
        : body,
  }),
} satisfies Mutant
