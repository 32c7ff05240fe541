// A forecast without doubt sells better.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Resolve calls a draw by chance deterministic.',
  kills: ['ROUTE-11'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? changeJson(body, (json) => ({ ...json, deterministic: true }))
        : body,
  }),
} satisfies Mutant
