// DIAL-12: Repeated parts of an answer agree with each other. The joined deltas of a stream agree with every
// complete copy. An id agrees with its first occurrence, and an index with the item that began under it. In the
// Messages dialect, the name of an event agrees with its data. In the Responses dialect, the status of the response
// and of each item agrees with the event that ends it.

import { refs, servedBy } from '../dialects/lookup.ts'
import { dialectOf, isCrossed } from '../dialects/registry.ts'
import { stepText } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { type Contradictions, contradictions } from './agreement.ts'
import { answerStep, LONG_NUMBERS } from './DIAL-11.ts'

const QUESTIONS: Readonly<Record<keyof Contradictions, readonly [id: string, expected: string]>> = {
  texts: ['deltas-make-the-whole', 'the same in deltas, finished parts and the last event'],
  ids: ['ids-stay', 'each thing has one id throughout'],
  places: ['indexes-lead-to-what-began', 'the place where it began'],
  names: ['events-are-named', 'the type in its data'],
  states: ['states-agree', 'completed or incomplete, as the event that ends it'],
}

export const saidTwiceAgrees = {
  id: 'DIAL-12',
  shares: 'DIAL-11',
  judge: ({ evidence }) =>
    answerStep.in(evidence).flatMap((exchange) => {
      if (exchange.details.scenario === LONG_NUMBERS) return []
      const { name } = dialectOf(exchange)
      const entry = servedBy(evidence, exchange)
      const got = contradictions(name, exchange.body)
      // The gateway is not responsible for the content of a relayed answer.
      const theirs =
        entry && !isCrossed(exchange, entry) ? contradictions(name, entry.answer.body ?? '') : null
      return (Object.keys(QUESTIONS) as (keyof Contradictions)[]).map((question) => {
        const [id, expected] = QUESTIONS[question]
        const own = got[question].filter((each) => !theirs?.[question].includes(each))
        return finding(
          id,
          own.length === 0,
          `the ${question} of "${stepText(exchange)}"`,
          { expected, actual: listed(own.slice(0, 3), 'so') },
          refs(exchange, entry),
        )
      })
    }),
} satisfies Check
