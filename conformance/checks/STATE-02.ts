// STATE-02: If no target can hold a thread, a call with `thread` is refused without an inference (Waybill: 400,
// with `thread_unsupported_request` in `error.details.error_code`), or no turn continues the thread.
import { ref, refs, requestsOf, servedBy, where } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { stepText } from '../evidence/step.ts'
import { endText, listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { firstOf, hasCode, isAnswered, isRefused, keepsHistory, threadSteps } from './STATE-01.ts'

export const threadsAreHeldOrRefused = {
  id: 'STATE-02',
  needs: ['messages'],
  dialect: 'messages',
  shares: 'STATE-01',
  judge: ({ evidence, waybill }) =>
    threadSteps.next.in(evidence).flatMap((exchange) => {
      const first = firstOf(evidence, exchange)
      const entries = requestsOf(evidence, exchange).filter(isAnswered)
      const made = servedBy(evidence, first)
      const isHeld = first.status === 200 && made !== null && !isCrossed(first, made)
      const see = [...refs(first, exchange), ...entries.map(ref)]
      const history = finding(
        'no-turn-loses-its-history',
        entries.every((entry) => keepsHistory(evidence, first, entry)),
        `the turn of "${stepText(exchange)}"`,
        {
          expected: 'the provider holds the thread or gets all of it, or nothing is sent',
          actual: `${endText(exchange)}; answered by ${listed(entries.map(where), 'nobody')}`,
        },
        see,
      )
      if (isHeld || !waybill) return [history]
      const words = first.status === 400 && hasCode(first, 'thread_unsupported_request')
      return [
        history,
        finding(
          'refused-in-its-words',
          words && isRefused(first, requestsOf(evidence, first)),
          `the beginning of "${stepText(first)}"`,
          { expected: '400 thread_unsupported_request, and nothing is spent', actual: endText(first) },
          see,
        ),
      ]
    }),
} satisfies Check
