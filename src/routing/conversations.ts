// Conversations, and the target that has the prompt of each cached. In memory and bounded; the least recently
// used are forgotten. In a fleet, changes are exchanged with the other gateways.
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Bounds, because clients choose sessions. A conversation with a session has up to two entries. */
const MAX_CONVERSATIONS = 20_000
/** Bound, because the list may never be fetched. */
const MAX_CHANGED = 2_000
/** Maximum time for which another gateway keeps an entry, ms. */
const MAX_SHARED_MS = 24 * 3_600_000
/** Providers cache no prompt that is shorter, tokens. */
const MIN_CACHED_TOKENS = 1_024

export interface CachedPrompt {
  /** Where it was served: a target, and the key if its provider has several. */
  readonly place: string
  /** Input tokens cached there, as its provider reported them; 0 if it did not. */
  readonly cached: number
  /** End of the cache's lifetime, ms since the epoch. */
  readonly until: number
}

/** A conversation as gateways exchange it; `ms` is its remaining lifetime. */
type ExchangedConversation = Omit<CachedPrompt, 'until'> & { readonly key: string; readonly ms: number }

export class Conversations {
  readonly #now: () => number
  readonly #known = new LRUCache<string, CachedPrompt>({ max: MAX_CONVERSATIONS })
  readonly #changed = new LRUCache<string, true>({ max: MAX_CHANGED })

  constructor(now: () => number) {
    this.#now = now
  }

  get(key: string): CachedPrompt | undefined {
    const found = this.#known.get(key)
    return found && found.until > this.#now() ? found : undefined
  }

  /** `lifeMs`: Infinity if it does not end. */
  set(key: string, place: string, lifeMs: number, cached = 0): void {
    this.#known.set(key, { place, cached, until: this.#now() + lifeMs })
    this.#changed.set(key, true)
  }

  /** Returns what changed here since the last call. */
  takeChanged(): ExchangedConversation[] {
    const time = this.#now()
    const keys = [...this.#changed.keys()]
    this.#changed.clear()
    return keys.flatMap((key) => {
      const found = this.get(key)
      if (!found) return []
      const { place, cached, until } = found
      return [{ key, place, cached, ms: Math.min(until - time, MAX_SHARED_MS) }]
    })
  }

  /** Applies changes of other gateways, except to what has changed here meanwhile. */
  apply(changes: readonly ExchangedConversation[]): void {
    const time = this.#now()
    for (const { key, place, cached, ms } of changes) {
      if (this.#changed.has(key)) continue
      const until = this.#known.peek(key)?.until === Infinity ? Infinity : time + ms
      this.#known.set(key, { place, cached, until })
    }
  }
}

/** Returns a key for conversations. The parts cannot run into each other, and cannot be read from it. */
export const conversationKey = (...parts: readonly (string | null)[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url')

/** Returns a name for the conversation that begins like this; null if no provider caches so short a request. */
export function nameByOpening({
  opening,
  inputTokens,
}: {
  readonly opening?: string
  readonly inputTokens: number
}): string | null {
  return opening === undefined || inputTokens < MIN_CACHED_TOKENS ? null : conversationKey('opening', opening)
}

/** Tokens of one call that decide about its cache. */
export interface CachedTokens {
  readonly input: number | null
  readonly cached_input: number | null
  readonly cache_write: number | null
  readonly cache_write_1h?: number | null
}

/**
 * Returns the tokens that a conversation had cached at the place that it left, as far as this call could have
 * used them and did not find them cached at its own. Null if it did not move, or its provider does not report
 * cached tokens.
 */
export function cacheLost(
  before: CachedPrompt | undefined,
  place: string,
  { input, cached_input }: CachedTokens,
): number | null {
  if (!before || before.place === place || input === null || cached_input === null) return null
  return Math.max(0, Math.min(before.cached, input) - cached_input)
}
