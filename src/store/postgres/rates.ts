// Counts a key's calls in a window for all instances, with the rate limiter's own PostgreSQL backend. Each
// call costs one upsert; a key that has used up its window costs none.
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { SharedLog } from '../shared-log.ts'
import type { Link } from './link.ts'

export function openRates(link: Link): SharedLog['consumeRate'] {
  const limiters = new Map<string, RateLimiterPostgres>()
  // The library names its statements, and a pooler in transaction mode mixes up named statements.
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
