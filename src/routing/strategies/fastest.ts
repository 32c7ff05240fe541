// Shortest recent latency first; equal ones keep the order of the table. See `RoutingState.latency` for its
// definition and how long a measurement holds.
import type { Target } from '../../core/call.ts'
import type { Pick, Strategy } from '../strategy.ts'

/**
 * A target of unknown latency (never measured, or too long ago) comes first, so that a call that is made
 * anyway measures it; no call is made only to measure. While an attempt is open there, the target comes after
 * all known ones, and so it does after a try without an answer. Thus the first calls after a start try one
 * target each, and a target that was slow once gets another chance.
 */
export const fastest = {
  dependsOnLoad: true,
  order: (targets, pick) =>
    targets
      .map((target) => ({ target, rank: rank(target, pick) }))
      .sort((a, b) => a.rank - b.rank || 0) // two without an answer differ by NaN
      .map(({ target }) => target),
} satisfies Strategy

/** A rank greater than any latency in ms. */
const BEHIND_ALL = 1e9

function rank(target: Target, { latency, open }: Pick): number {
  const waiting = open(target)
  return latency(target) ?? (waiting === 0 ? -1 : BEHIND_ALL + waiting)
}
