// How likely something is by chance alone: what a statistical check may hold against a gateway. Pure.

/** The contract's bound for a false alarm. */
const FALSE_ALARM = 1e-6

/** The probability that of `n` draws, each of which hits with probability `p`, at least `k` hit. */
export function atLeast(k: number, n: number, p: number): number {
  if (k <= 0) return 1
  if (p <= 0 || k > n) return 0
  if (p >= 1) return 1
  let logarithm = n * Math.log1p(-p) // of the probability that none hits
  let sum = 0
  for (let hits = 0; hits <= n; hits++) {
    if (hits >= k) sum += Math.exp(logarithm)
    logarithm += Math.log((n - hits) / (hits + 1)) + Math.log(p) - Math.log1p(-p)
  }
  return Math.min(1, sum)
}

/** Whether `hits` of `n` draws is what a share of `p` can come to. Ten such questions keep within the bound together. */
export const isPlausible = (hits: number, n: number, p: number): boolean =>
  Math.min(atLeast(hits, n, p), atLeast(n - hits, n, 1 - p)) > FALSE_ALARM / 20

/**
 * Whether what came in a window cannot be what comes by itself, of which `background` was counted in others that
 * lasted at least as long together. Where nothing comes by itself, anything is told apart.
 */
export const isToldApart = (came: number, background: number): boolean =>
  came > 0 && (background === 0 || atLeast(came, came + background, 0.5) <= FALSE_ALARM)
