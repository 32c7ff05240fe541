// A key's rate over the whole fleet; while the shared log is unavailable, what the configuration sets instead: this
// instance's part of it, or nothing. Counts how often that happened.
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { RateRequest } from '../store/postgres/rates.ts'

export interface FleetRates {
  /** Null where the call passes, else how long it has to wait, ms. */
  consume(request: RateRequest): Promise<number | null>
  /** How many calls were counted without the shared log. */
  readonly fallbacks: number
}

/** How long a refused call is told to wait while the rate is not counted, ms. */
const UNCOUNTED_MS = 1_000

export function createFleetRates(
  ask: (request: RateRequest) => Promise<number | null>,
  fallback: 'divide' | 'refuse',
  instances: () => number,
): FleetRates {
  const parts = new Map<string, RateLimiterMemory>()
  let fallbacks = 0
  /** It is as wide as the instances that were alive when it was made. */
  const partOf = ({ requests, per }: RateRequest): RateLimiterMemory => {
    const points = Math.max(1, Math.floor(requests / Math.max(1, instances())))
    const id = `${points}/${per}`
    const part = parts.get(id) ?? new RateLimiterMemory({ points, duration: per / 1000 })
    parts.set(id, part)
    return part
  }
  return {
    get fallbacks() {
      return fallbacks
    },
    async consume(request) {
      try {
        return await ask(request)
      } catch {
        fallbacks++
        if (fallback === 'refuse') return UNCOUNTED_MS
        return partOf(request)
          .consume(request.keyName)
          .then(
            () => null,
            (refused: RateLimiterRes) => refused.msBeforeNext,
          )
      }
    },
  }
}
