// The most recently used entries of a table.
import { LRUCache } from 'lru-cache'

/**
 * Returns a table of at most `max` entries, which drops the least recently used. Its room grows with its entries: a
 * cache with `max` would reserve all of it at once, which takes as long as the rest of a gateway's start.
 */
export const recent = <Value extends {}>(max: number): LRUCache<string, Value> =>
  new LRUCache({ maxSize: max, sizeCalculation: () => 1 })
