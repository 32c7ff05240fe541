// USE-03: If the client requested usage in a stream, the usage arrives (Waybill: a usage chunk that only the
// gateway requested is withheld, and no other chunk is withheld).

import { refs } from '../dialects/lookup.ts'
import { readAnswer, readSent } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { INCLUDE, sides } from './use.ts'

const steps = {
  askedFor: step('asked for'),
  notAskedFor: step('not asked for'),
  declined: step('declined'),
}

export const streamUsageAsAsked = {
  id: 'USE-03',
  async exercise(session) {
    await session.chat(steps.askedFor, { stream: true, body: INCLUDE })
    await session.chat(steps.notAskedFor, { stream: true })
    await session.chat(steps.declined, { stream: true, body: { stream_options: { include_usage: false } } })
  },
  judge: ({ evidence, waybill }) => [
    ...steps.askedFor.in(evidence).map((exchange) => {
      const { entry, got } = sides(evidence, exchange)
      return finding(
        'asked-for-is-delivered',
        got !== null,
        'usage that was asked for',
        { expected: 'delivered', actual: got === null ? 'not delivered' : 'delivered' },
        refs(exchange, entry),
      )
    }),
    ...(waybill ? [...steps.notAskedFor.in(evidence), ...steps.declined.in(evidence)] : []).map(
      (exchange) => {
        const { entry, got } = sides(evidence, exchange)
        const [mine, theirs] = [readAnswer(exchange), readSent(entry)]
        const rest =
          mine.content === theirs.content &&
          mine.done === theirs.done &&
          mine.finish.length === theirs.finish.length
        return finding(
          'not-asked-for-is-withheld',
          got === null && rest,
          `usage that was ${exchange.step}`,
          {
            expected: 'withheld, and everything else there',
            actual: `${got === null ? 'withheld' : 'delivered'}, and everything else ${rest ? '' : 'not '}there`,
          },
          refs(exchange, entry),
        )
      },
    ),
  ],
} satisfies Check
