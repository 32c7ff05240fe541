// Parts that the PURE checks share.

import { ref } from '../dialects/lookup.ts'
import type { Evidence } from '../evidence/evidence.ts'
import { step } from '../evidence/step.ts'
import { type Finding, finding } from '../runner/check.ts'
import { inferencesIn, noneArrived } from './window.ts'

export const readStep = step('read')

/**
 * Returns the finding of a window of reads. The reads must be answered, because unanswered reads prove
 * nothing.
 */
export function readsSpentNothing(evidence: Evidence, what: string): Finding[] {
  const reads = evidence.exchanges.filter(({ step }) => step === readStep.step)
  const paths = [...new Set(reads.map(({ request }) => request.path.split('?')[0]!))]
  const silent = paths.filter(
    (path) =>
      !reads.some(
        ({ request, status }) =>
          // The suite followed this redirect. Its destination is also one of the paths.
          request.method === 'GET' &&
          request.path.split('?')[0] === path &&
          status !== null &&
          status >= 200 &&
          status < 400,
      ),
  )
  return [
    finding(
      'reads-are-answered',
      reads.length > 0 && silent.length === 0,
      `${reads.length} reads of ${paths.length} paths`,
      {
        expected: 'an answer to each path',
        actual: silent.length > 0 ? `none to ${silent.join(', ')}` : 'answered',
      },
      reads.filter(({ request }) => silent.includes(request.path.split('?')[0]!)).map(ref),
    ),
    noneArrived(evidence, `inferences while ${what}`, inferencesIn),
  ]
}
