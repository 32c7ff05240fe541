// There might be something else.
import { setTimeout as sleep } from 'node:timers/promises'
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'It ends seven seconds after its last stream.',
  kills: ['LIFE-02'],
  start: (directory, env) => {
    let first = true
    return bent({
      async stopping() {
        if (first) await sleep(7_000)
        first = false
      },
    })(directory, env)
  },
} satisfies Mutant
