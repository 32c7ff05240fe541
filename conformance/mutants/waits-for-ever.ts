// There is no time-out.
import { setTimeout as sleep } from 'node:timers/promises'
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A silent provider is waited for, long after the declared time.',
  kills: ['FAIL-05'],
  start: bent({
    async body(body, wanted) {
      if (callIn(wanted) && /"upstream_/.test(body)) await sleep(20_000)
      return body
    },
  }),
} satisfies Mutant
