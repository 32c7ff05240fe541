// USE-01: The usage that the client sees equals what the serving provider reported.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { refs } from '../lookup.ts'
import { countsIn, INCLUDE, sides } from './use.ts'

export const usageReachesTheClient = {
  id: 'USE-01',
  async exercise(session) {
    for (const scenario of ['plain', 'usage-cached', 'reasoning']) {
      const script = [{ scenario }]
      await session.chat(`${scenario}`, { script })
      await session.chat(`${scenario}, streamed`, { script, stream: true, body: INCLUDE })
    }
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const { entry, got, sent } = sides(evidence, exchange)
      const ok = sent !== null && isDeepStrictEqual(countsIn(got), countsIn(sent))
      return finding(
        'same-usage',
        ok,
        `${exchange.label}: the client saw ${countsIn(got).join(' / ')}, the provider reported ${countsIn(sent).join(' / ')}`,
        refs(exchange, entry),
      )
    }),
} satisfies Check
