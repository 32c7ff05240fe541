// Perhaps it still comes.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Calls that a kill interrupted stay open on record.',
  kills: ['LIFE-01'],
  asCommand: true,
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs') ? body.replaceAll('"interrupted"', '"streaming"') : body,
  }),
} satisfies Mutant
