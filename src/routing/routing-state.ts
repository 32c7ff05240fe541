// State of routing between calls: turns, cooldowns, open attempts and recent latency of each target, the target of each
// conversation and the family of its reasoning, and the usual calls of each route. In memory and bounded; lost at a
// restart. Only the events of live calls change it, which a tracker reports for each call; reading does not.
// Independent of strategies; the clock is a parameter.
import { type Target, targetId } from '../core/call.ts'
import { recent } from '../shared/memory.ts'
import { type CachedTokens, Conversations, cacheLost } from './conversations.ts'
import { UsualCalls } from './usual-calls.ts'

/** Weight of a new measurement relative to all earlier ones. */
const NEW_LATENCY_WEIGHT = 0.2
/** Time after which a latency counts as unknown, ms. */
const LATENCY_VALID_MS = 5 * 60_000
/** Time for which an unanswered attempt replaces an unknown latency, ms. */
const NO_ANSWER_VALID_MS = 30_000
/** Maximum numbers of entries, because clients choose direct ids and sessions. */
const MAX_LATENCIES = 1_000
const MAX_SESSIONS = 10_000
/** Maximum number of listed failures, because the list may never be fetched. */
const MAX_FAILED = 1_000

interface Latency {
  readonly ms: number
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Recent time after the response start, for so many output tokens. */
interface Rest extends Latency {
  readonly tokens: number
}

export class RoutingState {
  readonly #now: () => number
  readonly #turns = new Map<string, number>()
  readonly #cooling = new Map<string, number>()
  /** Failures to report to the other gateways of a fleet. */
  readonly #failed = new Map<string, number>()
  readonly #open = new Map<string, number>()
  readonly #latencies = recent<Latency>(MAX_LATENCIES)
  readonly #rests = recent<Rest>(MAX_LATENCIES)
  readonly #families = recent<string>(MAX_SESSIONS)

  readonly conversations: Conversations
  readonly usual = new UsualCalls()

  /** `now`: clock in ms since the epoch. */
  constructor(now: () => number) {
    this.#now = now
    this.conversations = new Conversations(now)
  }

  /** Returns the number of earlier calls to a group of targets. */
  turn(group: string): number {
    return this.#turns.get(group) ?? 0
  }

  turned(group: string): void {
    this.#turns.set(group, this.turn(group) + 1)
  }

  /** True if some target may be in cooldown. False if every target is ready. */
  get isAnyCooling(): boolean {
    return this.#cooling.size > 0
  }

  /** Returns the end of a target's cooldown, ms since the epoch; 0 if it is ready. */
  coolingUntil(target: Target): number {
    const until = this.#cooling.get(targetId(target)) ?? 0
    return until > this.#now() ? until : 0
  }

  /** Cools a failed target down for `ms`, unless its cooldown already lasts longer. */
  cool(target: Target, ms: number): void {
    const time = this.#now()
    for (const [id, until] of this.#cooling) if (until <= time) this.#cooling.delete(id)
    if (time + ms <= this.coolingUntil(target)) return
    this.#cooling.set(targetId(target), time + ms)
    if (this.#failed.size < MAX_FAILED) this.#failed.set(targetId(target), time + ms)
  }

  /**
   * Applies a target's failure at another gateway. `id`: `provider/model`. The later end of the cooldown
   * counts.
   */
  coolAlong(id: string, ms: number): void {
    const until = this.#now() + ms
    if (until > (this.#cooling.get(id) ?? 0)) this.#cooling.set(id, until)
  }

  /** Returns the targets that failed here since the last call, with their remaining cooldowns, ms. */
  takeFailed(): { target: string; ms: number }[] {
    const time = this.#now()
    const failed = [...this.#failed].map(([target, until]) => ({ target, ms: until - time }))
    this.#failed.clear()
    return failed.filter(({ ms }) => ms > 0)
  }

  /** Returns the number of open attempts at a target. */
  open(target: Target): number {
    return this.#open.get(targetId(target)) ?? 0
  }

  began(target: Target): void {
    this.#open.set(targetId(target), this.open(target) + 1)
  }

  ended(target: Target): void {
    const left = this.open(target) - 1
    if (left > 0) this.#open.set(targetId(target), left)
    else this.#open.delete(targetId(target))
  }

  /**
   * Returns the recent latency of a target in ms, measured to the first event of a stream or to the end of a
   * whole answer. The latency is an exponentially weighted average: the last answer counts a fifth, and all
   * earlier answers count the rest. Errors and aborted attempts do not count. Null if no answer came within
   * the last five minutes. Infinity if, in addition, an attempt within the last half minute had no answer.
   */
  latency(target: Target): number | null {
    const latency = this.#latencies.get(targetId(target))
    return latency && latency.until > this.#now() ? latency.ms : null
  }

  /**
   * Returns the expected time of an answer of `output` tokens, ms: the latency, and then the recent time for each token.
   * Null and Infinity as in `latency`.
   */
  answerTime(target: Target, output: number): number | null {
    const latency = this.latency(target)
    const rest = this.#rests.peek(targetId(target))
    return latency !== null && rest && rest.until > this.#now()
      ? latency + (rest.ms / rest.tokens) * output
      : latency
  }

  /** Counts the time from the response start to the end of an answer. The last answer counts a fifth. */
  completed(target: Target, ms: number, tokens: number): void {
    const known = this.#rests.get(targetId(target))
    const kept = known && known.until > this.#now() ? known : { ms: 0, tokens: 0 }
    this.#rests.set(targetId(target), {
      ms: kept.ms * (1 - NEW_LATENCY_WEIGHT) + ms,
      tokens: kept.tokens * (1 - NEW_LATENCY_WEIGHT) + tokens,
      until: this.#now() + LATENCY_VALID_MS,
    })
  }

  answered(target: Target, ms: number): void {
    const known = this.latency(target) ?? Infinity
    const average = known === Infinity ? ms : known + NEW_LATENCY_WEIGHT * (ms - known)
    this.#latencies.set(targetId(target), { ms: average, until: this.#now() + LATENCY_VALID_MS })
  }

  unanswered(target: Target): void {
    if (this.latency(target) === null)
      this.#latencies.set(targetId(target), { ms: Infinity, until: this.#now() + NO_ANSWER_VALID_MS })
  }

  /** Returns the family of the reasoning for a key. The least recently used keys are dropped. */
  family(key: string): string | undefined {
    return this.#families.get(key)
  }

  setFamily(key: string, family: string): void {
    this.#families.set(key, family)
  }
}

/** Receiver of a call's events, in their order. Times are in ms of one monotonic clock. */
export interface AttemptTracker {
  /** An attempt is about to be sent. At most one attempt is open. */
  attempt(target: Target, at: number): void
  /** The open attempt has an answer: the first event of a stream, or a whole answer. */
  answered(at: number): void
  /**
   * The call has been served until `at`. `key`: name of the provider's key, if it has several. Returns the cached
   * tokens that the conversation lost by moving to this target; null if it did not move, or if unknown.
   */
  served(target: Target, key: string | null, tokens: CachedTokens | null, at: number): number | null
  /** The call has ended with all its attempts. May be called repeatedly. */
  over(): void
}

/** A call that a target has served. */
export interface ServedCall {
  readonly target: Target
  readonly tokens: CachedTokens
  /** Time for which the prompt stays cached, ms. */
  readonly lifeMs: number
  /** Time from the response start to the end of the answer, ms. */
  readonly restMs: number
}

/** Conversation of a call, see `conversations.ts`. */
export interface CallConversation {
  /** Key by which calls stay with a target; null if they do not stay. */
  readonly sticky: string | null
  /** Key of the calls' common prompt; null if unknown. */
  readonly prompt: string | null
  /** Returns the time for which calls stay with a target, ms. */
  readonly staysMs: (target: Target) => number
  /** Returns the time for which a target caches the prompt, ms. */
  readonly cachedMs: (target: Target) => number
}

const HOUR_MS = 3_600_000

/**
 * Counts `first` as open from now on, so that calls routed at the same time see each other. The target that serves
 * the call becomes the conversation's target, unless another call has set one in the meantime. Calls that begin
 * together therefore stay with the first target that served, and a fallback moves them to another target.
 * `answeredBy` receives the target. `learn` receives the served call.
 */
export function trackAttempts(
  routingState: RoutingState,
  first: Target,
  { sticky, prompt, staysMs, cachedMs }: CallConversation,
  answeredBy?: (target: Target) => void,
  learn?: (served: ServedCall) => void,
): AttemptTracker {
  const { conversations } = routingState
  const placeOf = (key: string | null) => (key === null ? undefined : conversations.get(key)?.place)
  const before = placeOf(sticky)
  const cachedBefore = prompt === null ? undefined : conversations.get(prompt)
  let open: Target | null = first
  let since: number | null = null
  let answeredAt: number | null = null
  routingState.began(first)

  const over = () => {
    if (!open) return
    routingState.ended(open)
    if (since !== null && answeredAt === null) routingState.unanswered(open)
    open = null
  }
  return {
    attempt(target, at) {
      over()
      routingState.began(target)
      open = target
      since = at
    },
    answered(at) {
      if (!open || since === null) return
      answeredAt = at
      routingState.answered(open, at - since)
      answeredBy?.(open)
      if (sticky === null) return
      const now = placeOf(sticky)
      if (now === undefined || now === before || now === targetId(open))
        conversations.set(sticky, targetId(open), staysMs(open))
    },
    served(target, key, tokens, at) {
      if (tokens === null || (prompt === null && !learn)) return null
      const isForAnHour = (tokens.cache_write_1h ?? 0) > 0
      const lifeMs = isForAnHour ? Math.max(cachedMs(target), HOUR_MS) : cachedMs(target)
      learn?.({ target, tokens, lifeMs, restMs: answeredAt === null ? 0 : at - answeredAt })
      if (prompt === null) return null
      const place = key === null ? targetId(target) : `${targetId(target)} ${key}`
      conversations.set(prompt, place, lifeMs, (tokens.cached_input ?? 0) + (tokens.cache_write ?? 0))
      if (isForAnHour && sticky !== null && staysMs(target) < HOUR_MS && placeOf(sticky) === targetId(target))
        conversations.set(sticky, targetId(target), HOUR_MS)
      return cacheLost(cachedBefore, place, tokens)
    },
    over,
  }
}
