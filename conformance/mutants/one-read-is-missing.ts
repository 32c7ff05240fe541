// What is declared and not there spends nothing, and proves nothing.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'One of the declared read paths is answered with 404.',
  kills: ['PURE-01'],
  start: bent({
    head(head, { path }) {
      if (path.startsWith('/api/sessions')) head.status = 404
    },
  }),
} satisfies Mutant
