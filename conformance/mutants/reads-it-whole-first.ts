// How long it is, one knows at the end.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A body that is too long is refused only when all of it was read.',
  kills: ['FAIL-03'],
  start: bent({
    async request({ headers }) {
      if (Number(headers['content-length']) > 2 ** 26) await new Promise(() => {})
    },
  }),
} satisfies Mutant
