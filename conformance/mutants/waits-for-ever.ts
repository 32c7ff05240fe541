// There is no time-out.
import { setTimeout as sleep } from 'node:timers/promises'
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A silent provider is waited for six seconds longer than declared.',
  kills: ['FAIL-05'],
  start: bent({
    async body(body, wanted) {
      if (callIn(wanted) && body.includes('"upstream_timeout"')) await sleep(6_000)
      return body
    },
  }),
} satisfies Mutant
