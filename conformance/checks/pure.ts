// What the checks of PURE share.
import { type Finding, finding } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import { ref } from '../lookup.ts'
import { step } from '../step.ts'
import { inferencesIn, noneArrived } from '../window.ts'

export const read = step('read')

/** The finding of a window of reads, which were answered, or it would prove nothing. */
export function readsSpentNothing(evidence: Evidence, what: string): Finding[] {
  const reads = evidence.exchanges.filter(({ step }) => step === read.step)
  const paths = [...new Set(reads.map(({ request }) => request.path.split('?')[0]!))]
  const silent = paths.filter(
    (path) =>
      !reads.some(
        ({ request, status }) =>
          // A redirect was followed, and what it leads to is among the paths.
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
