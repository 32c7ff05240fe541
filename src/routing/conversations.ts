// Conversations with the targets that have cached their prompts. In memory and bounded; the least recently
// used entries are dropped. In a fleet, gateways exchange their changes.
import { hash } from 'node:crypto'
import { recent } from '../shared/memory.ts'

/**
 * Maximum number of entries, because clients choose sessions. A conversation with a session has up to two
 * entries, and one more for each target if the targets are compared by cost.
 */
const MAX_CONVERSATIONS = 20_000
/** Maximum number of listed changes, because the list may never be fetched. */
const MAX_CHANGED = 2_000
/** Maximum lifetime of an entry at another gateway, ms. */
const MAX_SHARED_MS = 24 * 3_600_000
/** Minimum prompt length that providers cache, in tokens. */
export const MIN_CACHED_TOKENS = 1_024

interface CachedPrompt {
  /** Place that served the conversation: a target, with the key if its provider has several. */
  readonly place: string
  /** Cached input tokens as reported by the provider; 0 if not reported. */
  readonly cached: number
  /** End of the cache's lifetime, ms since the epoch. */
  readonly until: number
}

/** A conversation in the form that gateways exchange. `ms` is the remaining lifetime. */
type ExchangedConversation = Omit<CachedPrompt, 'until'> & { readonly key: string; readonly ms: number }

export class Conversations {
  readonly #now: () => number
  readonly #known = recent<CachedPrompt>(MAX_CONVERSATIONS)
  readonly #changed = recent<true>(MAX_CHANGED)

  constructor(now: () => number) {
    this.#now = now
  }

  get(key: string): CachedPrompt | undefined {
    const found = this.#known.get(key)
    return found && found.until > this.#now() ? found : undefined
  }

  /** Sets the place of a conversation. `lifeMs`: lifetime; Infinity if it does not end. */
  set(key: string, place: string, lifeMs: number, cached = 0): void {
    this.#known.set(key, { place, cached, until: this.#now() + lifeMs })
    this.#changed.set(key, true)
  }

  /** Returns the changes at this gateway since the last call. */
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

  /** Applies changes from other gateways, except to entries that have changed here in the meantime. */
  apply(changes: readonly ExchangedConversation[]): void {
    const time = this.#now()
    for (const { key, place, cached, ms } of changes) {
      if (this.#changed.has(key)) continue
      const until = this.#known.peek(key)?.until === Infinity ? Infinity : time + ms
      this.#known.set(key, { place, cached, until })
    }
  }
}

/**
 * Returns a key for conversations. Different parts give different keys, and a key does not reveal its parts.
 */
export const conversationKey = (...parts: readonly (string | null)[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url')

/**
 * Returns a name for a conversation by its opening; null if the request is too short for any provider's
 * cache.
 */
export function nameByOpening({
  opening,
  inputTokens,
}: {
  readonly opening?: string
  readonly inputTokens: number
}): string | null {
  return opening === undefined || inputTokens < MIN_CACHED_TOKENS ? null : conversationKey('opening', opening)
}

/** Token counts of one call, as reported. */
export interface CachedTokens {
  readonly input: number | null
  readonly cached_input: number | null
  readonly cache_write: number | null
  readonly cache_write_1h?: number | null
  readonly output?: number | null
}

/**
 * Returns the number of cached tokens that a call lost because its conversation moved: tokens cached at the
 * old place that the call could have used and that are not cached at the new place. Null if it did not move,
 * or if its provider does not report cached tokens.
 */
export function cacheLost(
  before: CachedPrompt | undefined,
  place: string,
  { input, cached_input }: CachedTokens,
): number | null {
  if (!before || before.place === place || input === null || cached_input === null) return null
  return Math.max(0, Math.min(before.cached, input) - cached_input)
}
