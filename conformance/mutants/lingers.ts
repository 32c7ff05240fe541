// There might be something else.
import { setTimeout as sleep } from 'node:timers/promises'
import { bent, type Mutant } from '../mutant.ts'

let first = true

export const mutant = {
  what: 'It ends seven seconds after its last stream.',
  kills: ['LIFE-02'],
  start: bent({
    async stopping() {
      if (first) await sleep(7_000)
      first = false
    },
  }),
} satisfies Mutant
