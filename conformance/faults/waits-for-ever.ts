// There is no time-out.
import { setTimeout as sleep } from 'node:timers/promises'
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A silent provider is waited for six seconds longer than declared.',
  caughtBy: ['FAIL-05'],
  start: referenceWith({
    async body(body, wanted) {
      if (callIn(wanted) && body.includes('"upstream_timeout"')) await sleep(6_000)
      return body
    },
  }),
} satisfies Fault
