// Who deletes is sorry later.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Records have no cap.',
  kills: ['LIFE-03'],
  start: bent({
    config: (text) => text.replace(/retention: .*/, 'retention: { rows: 100000, days: 30, bytes: 1GiB }'),
  }),
} satisfies Mutant
