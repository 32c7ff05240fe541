// FLOW-04: Comments and pings neither end nor corrupt a stream.
import type { Check } from '../check.ts'
import { sameAnswer, streamEach } from './flow.ts'

export const commentsAreHarmless = {
  id: 'FLOW-04',
  exercise: streamEach('comments', 'pings'),
  judge: ({ evidence }) => evidence.exchanges.map((exchange) => sameAnswer(evidence, exchange)),
} satisfies Check
