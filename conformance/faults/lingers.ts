// There might be something else.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, referenceWith } from '../fault.ts'

let first = true

export const fault = {
  what: 'It ends seven seconds after its last stream.',
  caughtBy: ['LIFE-02'],
  start: referenceWith({
    async stopping() {
      if (first) await sleep(7_000)
      first = false
    },
  }),
} satisfies Fault
