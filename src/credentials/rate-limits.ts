// Reads a provider's limits from the headers of an answer, under any of their names. Pure.
import type { IncomingHttpHeaders } from 'node:http'
import { resetTimeIn } from '../shared/reset-time.ts'

/** Remaining capacity of one limit, and the time of its reset, ms since the epoch. */
export interface Remaining {
  readonly left: number
  readonly resetsAt: number
}

interface RateLimits {
  readonly requests: Remaining | null
  readonly tokens: Remaining | null
}

/** Validity of a limit if the provider does not report its reset, ms. */
const UNKNOWN_RESET_MS = 60_000

/** Maximum time to a reset, ms. A provider that reports a later one may mean another unit. */
const MAX_RESET_MS = 86_400_000

/** Header names for the remaining capacity, each with the header for its reset. */
const REQUESTS = [
  ['x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
  ['anthropic-ratelimit-requests-remaining', 'anthropic-ratelimit-requests-reset'],
] as const
const TOKENS = [
  ['x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens'],
  ['anthropic-ratelimit-tokens-remaining', 'anthropic-ratelimit-tokens-reset'],
  ['anthropic-ratelimit-input-tokens-remaining', 'anthropic-ratelimit-input-tokens-reset'],
  ['anthropic-ratelimit-output-tokens-remaining', 'anthropic-ratelimit-output-tokens-reset'],
] as const

export const rateLimitsIn = (headers: IncomingHttpHeaders, now: number): RateLimits => ({
  requests: least(REQUESTS, headers, now),
  tokens: least(TOKENS, headers, now),
})

/** Returns the limit with the least remaining capacity; null if there is none. */
function least(
  names: readonly (readonly [string, string])[],
  headers: IncomingHttpHeaders,
  now: number,
): Remaining | null {
  const all = names.flatMap(([remaining, reset]): Remaining[] => {
    const text = headers[remaining]
    const left = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null
    if (left === null) return []
    const resetsAt = resetTimeIn(String(headers[reset] ?? ''), now) ?? now + UNKNOWN_RESET_MS
    return [{ left, resetsAt: Math.min(resetsAt, now + MAX_RESET_MS) }]
  })
  return all.toSorted((a, b) => a.left - b.left)[0] ?? null
}
