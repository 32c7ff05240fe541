// Whoever binds a public address knows why.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A public address without keys is no reason to refuse.',
  kills: ['KEEP-06'],
  start: bent({
    config: (text) => text.replace('host: 0.0.0.0, ', ''),
  }),
} satisfies Mutant
