// There is no time-out.
import { setTimeout as sleep } from 'node:timers/promises'
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A silent provider is waited for, ten times as long as declared.',
  kills: ['FAIL-05'],
  start: bent({
    async body(body, wanted) {
      if (callIn(wanted) && /"upstream_/.test(body)) await sleep(9_000)
      return body
    },
  }),
} satisfies Mutant
