// Shortest expected answer first. Equal times keep the order of the table. `RoutingState.answerTime` defines the
// time and the validity of a measurement.
import type { Target } from '../../core/call.ts'
import type { Pick, Strategy } from '../strategy.ts'

/**
 * A target with unknown latency (never or not recently measured) comes first, so that the next call measures
 * it. No call is made only to measure. While its attempt is open, or after an unanswered attempt, the target
 * comes after all known targets. The first calls after a start therefore try one target each, and a slow
 * target is tried again later.
 */
export const fastest = {
  dependsOnLoad: true,
  readsLatency: true,
  order: (targets, pick) =>
    targets
      .map((target) => ({ target, rank: rank(target, pick) }))
      .sort((a, b) => a.rank - b.rank || 0) // the ranks of two unanswered targets differ by NaN
      .map(({ target }) => target),
} satisfies Strategy

/** Rank above any latency in ms. */
const BEHIND_ALL = 1e9

function rank(target: Target, { latency, open }: Pick): number {
  const waiting = open(target)
  return latency(target) ?? (waiting === 0 ? -1 : BEHIND_ALL + waiting)
}
