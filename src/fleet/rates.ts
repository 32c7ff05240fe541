// Limits a key's rate over the whole fleet. While the shared log is unavailable, applies the configured
// fallback: this instance's share of the rate, or no limit. Counts the uses of the fallback.
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { RateRequest } from '../store/shared-log.ts'

export interface FleetRates {
  /** Returns null if the call passes; otherwise the time to wait, ms. */
  consume(request: RateRequest): Promise<number | null>
  /** Number of calls counted without the shared log. */
  readonly fallbacks: number
}

/** Waiting time sent with a refusal while the rate cannot be counted, ms. */
const UNCOUNTED_MS = 1_000

export function createFleetRates(
  ask: (request: RateRequest) => Promise<number | null>,
  fallback: 'divide' | 'refuse',
  instances: () => number,
): FleetRates {
  const parts = new Map<string, RateLimiterMemory>()
  let fallbacks = 0
  /** Divides the rate by the number of live instances. */
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
