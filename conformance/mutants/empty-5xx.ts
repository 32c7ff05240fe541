// A status says enough.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A broken provider becomes an error without a body.',
  kills: ['FAIL-05'],
  start: bent({
    body: (body, wanted) => (callIn(wanted) && /"upstream_/.test(body) ? '' : body),
  }),
} satisfies Mutant
