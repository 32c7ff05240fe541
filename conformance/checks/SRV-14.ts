// SRV-14: Repeated parts of a stream agree with each other: each chunk has the answer's id, and the joined deltas
// agree with every complete copy.
import { ref } from '../dialects/lookup.ts'
import { dialectOf } from '../dialects/registry.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { contradictions } from './dial/agreement.ts'
import { streamedCall } from './SRV-02.ts'
import { answered } from './server.ts'

export const streamsAgreeWithThemselves = {
  id: 'SRV-14',
  shares: 'SRV-02',
  judge: ({ evidence }) =>
    streamedCall.in(evidence).flatMap((exchange) => {
      const found = Object.values(contradictions(dialectOf(exchange).name, exchange.body)).flat()
      return [
        answered(exchange, 'a streamed call'),
        finding(
          'repeated-values-agree',
          found.length === 0,
          'values that a stream repeats',
          { expected: 'the same at each place', actual: listed(found.slice(0, 3), 'so') },
          [ref(exchange)],
        ),
      ]
    }),
} satisfies Check
