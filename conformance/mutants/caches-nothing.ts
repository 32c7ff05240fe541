// Disk is cheap, memory is not.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The cache that is configured never hits.',
  kills: ['USE-08'],
  start: bent({
    config: (text) => text.replace('cache: { enabled: true }', 'cache: { enabled: false }'),
  }),
} satisfies Mutant
