// Simulates the prompt caches of targets that did not serve a conversation, from the calls on record. A prompt
// is known only by its length, its time, and the part of it that its provider found cached. In memory and
// bounded, like conversations.
import { timeOfId } from '../core/call.ts'
import type { PastCall } from '../core/record.ts'
import { recent } from '../shared/memory.ts'

/** The way in which a model caches prompts. */
export interface CacheFacts {
  /** `request`: only what the request marks is cached. */
  readonly by: 'provider' | 'request'
  /** Shortest cached prompt, tokens. */
  readonly min: number
  /** Cached tokens are a multiple of this number. */
  readonly step: number
}

/** Input tokens of one call as its target would have cached them. */
interface CachedInput {
  readonly cached_input: number
  readonly cache_write: number
  readonly cache_write_1h: number
}

interface Conversation {
  /** Tokens of the last prompt, and the part of them that its target could cache. */
  prompt: number
  cacheable: number
  /** Target that served the last prompt, and the end of its cache's lifetime. */
  place: string
  until: number
  /** Beginning of the prompt that other conversations share. */
  opening: number
  /** Beginning of the prompt that each target has cached. */
  readonly prefixes: Map<string, { tokens: number; until: number }>
}

const HOUR_MS = 3_600_000
const MAX_CONVERSATIONS = 20_000
/** Number of cases from which a share is used as it is. */
const MIN_CASES = 500
/** Path at which clients mark what is to be cached. */
const MARKING_ENDPOINT = '/v1/messages'

/** Decides events that are not on record, as often as on record, evenly among prompts of similar length. */
export class Drawn {
  #known = 0
  #happened = 0
  /** Numbers of decisions and events, by the length of the prompt. */
  readonly #drawn = new Map<number, { all: number; happened: number }>()

  /** Counts a case that is on record. */
  note(happened: boolean): void {
    this.#known++
    if (happened) this.#happened++
  }

  /** Returns the share of events among the cases on record. Below the minimum of cases, the missing ones count with the share `usual`. */
  share(usual = 0): number {
    const fill = usual === 0 ? 0 : Math.max(0, MIN_CASES - this.#known)
    return this.#known + fill === 0 ? 0 : (this.#happened + fill * usual) / (this.#known + fill)
  }

  /** Returns true if the event happens in a case that is not on record. */
  draw(tokens: number, share = this.share()): boolean {
    const length = Math.round(2 * Math.log2(tokens + 1))
    const drawn = this.#drawn.get(length) ?? { all: 0, happened: 0 }
    this.#drawn.set(length, drawn)
    drawn.all++
    const happens = drawn.happened + 0.5 < share * drawn.all
    if (happens) drawn.happened++
    return happens
  }
}

export class SimulatedCaches {
  readonly #factsOf: (target: string) => CacheFacts
  readonly #lifeOf: (target: string) => number
  readonly #conversations = recent<Conversation>(MAX_CONVERSATIONS)
  /** Ends of the lifetimes of what all conversations of one program share, by target. */
  readonly #openings = recent<number>(MAX_CONVERSATIONS)

  /** Longer prompts, and those of them that begin differently from the last one. */
  readonly #isOther = new Drawn()

  /** `lifeOf`: function that returns the time for which a target caches a prompt after its last use, ms. */
  constructor(factsOf: (target: string) => CacheFacts, lifeOf: (target: string) => number) {
    this.#factsOf = factsOf
    this.#lifeOf = lifeOf
  }

  /** Returns the tokens that `target` would have read from its cache and written to it. */
  serve(call: PastCall, target: string, writtenForHour: number): CachedInput {
    const at = timeOfId(call.id)
    const { session_id, key_name, agent_id, purpose, client } = call
    const name = session_id && JSON.stringify([key_name, session_id, agent_id, purpose])
    const before = name ? this.#conversations.get(name) : undefined
    const shared = before ? this.#sharedWith(before, call, at) : this.#found(call)
    const opening = Math.min(before?.opening ?? shared, shared)
    const prefixes: Conversation['prefixes'] = before?.prefixes ?? new Map()
    for (const prefix of prefixes.values()) prefix.tokens = Math.min(prefix.tokens, shared)

    const pool = JSON.stringify([key_name, client, target])
    const own = prefixes.get(target)
    const isOpeningCached = (this.#openings.get(pool) ?? 0) > at
    const found = Math.max(own && own.until > at ? own.tokens : 0, isOpeningCached ? opening : 0)
    const facts = this.#factsOf(target)
    const cacheable = whole(this.#cacheable(call, facts), facts)
    const cached_input = whole(Math.min(found, cacheable), facts)
    const cache_write = cacheable - cached_input
    const forHour = writtenForHour > 0 ? Math.min(1, writtenForHour / (call.tokens_cache_write || 1)) : 0

    const until = (place: string) => at + Math.max(this.#lifeOf(place), forHour > 0 ? HOUR_MS : 0)
    if (cacheable > 0) {
      prefixes.set(target, { tokens: cacheable, until: until(target) })
      this.#openings.set(pool, until(target))
    }
    if (name)
      this.#conversations.set(name, {
        ...{ prompt: call.tokens_input!, cacheable: this.#cacheable(call, this.#factsOf(call.target)) },
        ...{ place: call.target, until: until(call.target), opening, prefixes },
      })
    return { cached_input, cache_write, cache_write_1h: Math.round(cache_write * forHour) }
  }

  /** Returns the length of the prompt's beginning that the conversation's last prompt also had. */
  #sharedWith(
    { prompt, cacheable, place, until, opening }: Conversation,
    call: PastCall,
    at: number,
  ): number {
    const { tokens_input, tokens_cached_input: found, cache_lost, target } = call
    const findable = whole(cacheable, this.#factsOf(place))
    if (found !== null && findable > 0 && cache_lost === null && target === place && at < until) {
      const isOther = found < findable
      if (tokens_input! >= prompt) this.#isOther.note(isOther)
      return isOther ? this.#found(call) : Math.max(found, Math.min(prompt, tokens_input!))
    }
    return tokens_input! < prompt || this.#isOther.draw(prompt) ? opening : prompt
  }

  /** Returns the part of a prompt that its target had cached. The true part may be longer, by less than a step. */
  #found({ tokens_cached_input, target }: PastCall): number {
    return tokens_cached_input ? tokens_cached_input + Math.floor(this.#factsOf(target).step / 2) : 0
  }

  /** Returns the tokens of a call that a model with these facts caches. */
  #cacheable(call: PastCall, { by }: CacheFacts): number {
    if (by === 'provider') return call.tokens_input!
    if (this.#factsOf(call.target).by === 'request')
      return (call.tokens_cached_input ?? 0) + (call.tokens_cache_write ?? 0)
    return call.endpoint === MARKING_ENDPOINT ? call.tokens_input! : 0
  }
}

const whole = (tokens: number, { min, step }: CacheFacts): number =>
  tokens < min ? 0 : tokens - (tokens % step)
