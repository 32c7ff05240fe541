// USE-04: Not reported is null; a reported zero is 0.
import { type Check, finding } from '../check.ts'
import { refs } from '../lookup.ts'
import { at } from '../reading.ts'
import { pairs, recordAfter } from './use.ts'

export const unknownIsNull = {
  id: 'USE-04',
  async exercise(session) {
    for (const scenario of ['usage-missing', 'usage-zero'])
      for (const stream of [false, true])
        await recordAfter(session, scenario, { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    ['usage-missing', 'usage-zero'].flatMap((scenario) =>
      pairs(evidence, scenario).map(({ exchange, reading, record }) => {
        const counts = ['input', 'output'].map((name) => at(record, `/tokens/${name}`))
        const expected = scenario === 'usage-zero' ? 0 : null
        return finding(
          'unknown-is-null-zero-is-0',
          record !== undefined && counts.every((count) => count === expected),
          `${scenario}: ${counts.join(' / ')} on record`,
          refs(exchange, reading),
        )
      }),
    ),
} satisfies Check
