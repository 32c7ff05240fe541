// USE-04: Unreported usage is null, and a reported zero is 0. If only a part of the usage is known, that part is on
// record, and the missing part is named.

import { refs } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { pairs, recordAfter } from './use.ts'

const call = step<{ scenario: string }>('call')

export const unknownIsNull = {
  id: 'USE-04',
  async exercise(session) {
    for (const scenario of ['usage-missing', 'usage-zero'])
      for (const stream of [false, true])
        await recordAfter(session, call.with({ scenario }), { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    pairs(evidence, call.in(evidence)).map(({ exchange, reading, record }) => {
      const { scenario } = exchange.details
      const counts = ['input', 'output'].map((name) => at(record, `/tokens/${name}`))
      const expected = scenario === 'usage-zero' ? 0 : null
      return finding(
        'unknown-is-null-zero-is-0',
        record !== undefined && counts.every((count) => count === expected),
        `the tokens on record after ${scenario}, input / output`,
        { expected: `${expected} / ${expected}`, actual: counts.join(' / ') },
        refs(exchange, reading),
      )
    }),
} satisfies Check
