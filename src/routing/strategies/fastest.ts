// By recent latency, the shortest first; equal ones keep the order of the table. What latency is, and how long a
// measurement holds, says `Memory.latency`.
import type { Target } from '../../call.ts'
import type { Pick, Strategy } from '../strategy.ts'

/**
 * A target whose latency is not known (never measured, or too long ago) comes first, so that the call that is to be
 * made anyway measures it; no call is made only to measure. While an attempt is open there its answer is waited for:
 * until then the target comes behind all that are known, and so it does after a try that had no answer. At a cold
 * start the first calls thus try one target each, and a target that was slow once gets another chance.
 */
export const fastest = {
  dependsOnLoad: true,
  order: (targets, pick) =>
    targets
      .map((target) => ({ target, rank: rank(target, pick) }))
      .sort((a, b) => a.rank - b.rank || 0) // two that did not answer differ by NaN
      .map(({ target }) => target),
} satisfies Strategy

/** Longer than any latency, ms. */
const BEHIND_ALL = 1e9

function rank(target: Target, { latency, open }: Pick): number {
  const waiting = open(target)
  return latency(target) ?? (waiting === 0 ? -1 : BEHIND_ALL + waiting)
}
