// What the checks of PURE share.
import { type Finding, finding } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import { ref } from '../lookup.ts'
import { inferencesIn, noneArrived } from '../window.ts'

/** The finding of a window of reads, which were answered, or it would prove nothing. */
export function readsSpentNothing(evidence: Evidence, what: string): Finding[] {
  const reads = evidence.exchanges.filter(({ label }) => label === 'read')
  const paths = [...new Set(reads.map(({ request }) => request.path.split('?')[0]!))]
  const silent = paths.filter(
    (path) =>
      !reads.some(
        ({ request, status }) =>
          request.method === 'GET' && request.path.split('?')[0] === path && status === 200,
      ),
  )
  return [
    finding(
      'reads-are-answered',
      reads.length > 0 && silent.length === 0,
      `${reads.length} reads were made; never answered with 200: ${silent.join(', ') || 'none'}`,
      reads.filter(({ request }) => silent.includes(request.path.split('?')[0]!)).map(ref),
    ),
    noneArrived(evidence, `inferences while ${what}`, inferencesIn),
  ]
}
