// An error that repeats what was asked.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A key in a query is repeated in the answer.',
  kills: ['KEEP-01'],
  start: bent({
    body: (body, { path }) =>
      path.includes('?key=') ? body.replace('"message":"', `"message":"${path} `) : body,
  }),
} satisfies Mutant
