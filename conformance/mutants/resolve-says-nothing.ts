// An endpoint that is there and empty: nothing changes in it.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Resolve answers with an empty object.',
  kills: ['PURE-04'],
  start: bent({
    body: (body, { path }) => (path.startsWith('/api/cloud/model/resolve') ? '{}' : body),
  }),
} satisfies Mutant
