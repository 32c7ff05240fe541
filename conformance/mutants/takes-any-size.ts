// Memory is there to be used.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A body over the limit is taken.',
  kills: ['FAIL-03'],
  start: bent({
    config: (text) => text.replace('body_limit: 64KiB', 'body_limit: 20MiB'),
  }),
} satisfies Mutant
