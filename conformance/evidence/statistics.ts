// Probabilities of results by chance: the basis of statistical findings. Pure.

/** Maximum probability of a false alarm, from the contract. */
const MAX_FALSE_ALARM = 1e-6

/** Returns the probability of at least `k` hits in `n` draws that each hit with probability `p`. */
export function atLeast(k: number, n: number, p: number): number {
  if (k <= 0) return 1
  if (p <= 0 || k > n) return 0
  if (p >= 1) return 1
  let logarithm = n * Math.log1p(-p) // logarithm of the probability of no hit
  let sum = 0
  for (let hits = 0; hits <= n; hits++) {
    if (hits >= k) sum += Math.exp(logarithm)
    logarithm += Math.log((n - hits) / (hits + 1)) + Math.log(p) - Math.log1p(-p)
  }
  return Math.min(1, sum)
}

/**
 * Returns true if `hits` of `n` draws is plausible for a share of `p`. Ten such tests together stay within
 * the bound.
 */
export const isPlausible = (hits: number, n: number, p: number): boolean =>
  Math.min(atLeast(hits, n, p), atLeast(n - hits, n, 1 - p)) > MAX_FALSE_ALARM / 20

/**
 * Returns true if requests in a window exceed what background traffic explains. `background` was counted in
 * other windows that lasted at least as long together; without background traffic, a single request is
 * enough.
 */
export const isToldApart = (came: number, background: number): boolean =>
  came > 0 && (background === 0 || atLeast(came, came + background, 0.5) <= MAX_FALSE_ALARM)
