// How many calls a key may make in a window, counted for all instances by the rate limiter's own PostgreSQL backend: one
// upsert a call, none for a key that has used its window up.
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { Link } from './link.ts'

export interface RateRequest {
  readonly keyName: string
  readonly requests: number
  /** Length of the window, ms. */
  readonly per: number
}

/** Null where the call passes, else how long it has to wait, ms. Rejects where the database cannot be asked. */
export type ConsumeRate = (request: RateRequest) => Promise<number | null>

export function openRates(link: Link): ConsumeRate {
  const limiters = new Map<string, RateLimiterPostgres>()
  // The library names its statements, which a pooler in transaction mode mixes up.
  const client = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => ({
      rows: await link.query(text, values, 1_000),
    }),
  }
  const limiterOf = (requests: number, per: number) => {
    const id = `${requests}/${per}`
    let limiter = limiters.get(id)
    if (!limiter) {
      limiter = new RateLimiterPostgres({
        storeClient: client,
        storeType: 'client',
        schemaName: 'waybill',
        tableName: 'rates',
        tableCreated: true,
        clearExpiredByTimeout: false,
        keyPrefix: id,
        points: requests,
        duration: per / 1000,
        inMemoryBlockOnConsumed: requests,
      })
      limiters.set(id, limiter)
    }
    return limiter
  }
  return async ({ keyName, requests, per }) => {
    try {
      await limiterOf(requests, per).consume(keyName)
      return null
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return refused.msBeforeNext
      throw refused
    }
  }
}
