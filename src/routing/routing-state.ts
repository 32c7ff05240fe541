// What routing remembers between calls: whose turn it is, which targets cool down, how many attempts are open at
// each and how quick each was lately, and with which target a session stays. In memory and bounded; a restart forgets
// it. Learned from live traffic only, so that reading changes nothing. Knows no strategy; the clock is handed in.
import { LRUCache } from 'lru-cache'
import { type Target, targetId } from '../call.ts'

/** How much a new measurement counts against all before it. */
const WEIGHT = 0.2
/** A latency that was not measured again for so long is not known any more, ms. */
const LATENCY_HOLDS = 5 * 60_000
/** How long a try without an answer stands for a latency that is not known, ms. */
const NO_ANSWER_HOLDS = 30_000
/** Direct ids are the clients' to choose, and sessions too. */
const MOST_LATENCIES = 1_000
const MOST_SESSIONS = 10_000
/** Bounded, because the list may never be fetched. */
const MOST_FAILED = 1_000

interface Latency {
  readonly ms: number
  /** Milliseconds since the epoch. */
  readonly until: number
}

export class RoutingState {
  readonly #now: () => number
  readonly #turns = new Map<string, number>()
  readonly #cooling = new Map<string, number>()
  /** Of these the other gateways of a fleet are told, where there is one. */
  readonly #failed = new Map<string, number>()
  readonly #open = new Map<string, number>()
  readonly #latencies = new LRUCache<string, Latency>({ max: MOST_LATENCIES })
  readonly #stickyTargets = new LRUCache<string, string>({ max: MOST_SESSIONS })
  readonly #families = new LRUCache<string, string>({ max: MOST_SESSIONS })

  /** `now` in ms since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** How many calls a group of targets has had. */
  turn(group: string): number {
    return this.#turns.get(group) ?? 0
  }

  turned(group: string): void {
    this.#turns.set(group, this.turn(group) + 1)
  }

  /** False where every target is ready; true where one may not be. */
  get isAnyCooling(): boolean {
    return this.#cooling.size > 0
  }

  /** Until when a target is passed over, ms since the epoch; 0 when it is ready. */
  coolingUntil(target: Target): number {
    const until = this.#cooling.get(targetId(target)) ?? 0
    return until > this.#now() ? until : 0
  }

  /** A target failed: pass it over for `ms`, unless it already is for longer. */
  cool(target: Target, ms: number): void {
    const time = this.#now()
    for (const [id, until] of this.#cooling) if (until <= time) this.#cooling.delete(id)
    if (time + ms <= this.coolingUntil(target)) return
    this.#cooling.set(targetId(target), time + ms)
    if (this.#failed.size < MOST_FAILED) this.#failed.set(targetId(target), time + ms)
  }

  /** Another gateway says that a target (`provider/model`) failed; the later end counts. */
  coolAlong(id: string, ms: number): void {
    const until = this.#now() + ms
    if (until > (this.#cooling.get(id) ?? 0)) this.#cooling.set(id, until)
  }

  /** The targets that failed here since this was asked last, and how long they are still passed over, ms. */
  takeFailed(): { target: string; ms: number }[] {
    const time = this.#now()
    const failed = [...this.#failed].map(([target, until]) => ({ target, ms: until - time }))
    this.#failed.clear()
    return failed.filter(({ ms }) => ms > 0)
  }

  /** Attempts that are open at a target. */
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
   * How long a target lately took, ms: to the first event of a stream, or to the whole of an answer that was not
   * streamed. An exponentially weighted average, in which each answer counts a fifth and all before it the rest;
   * errors and what was given up do not count. Null where no answer came within the last five minutes; Infinity where
   * that is so and a try within the last half minute had no answer either.
   */
  latency(target: Target): number | null {
    const latency = this.#latencies.get(targetId(target))
    return latency && latency.until > this.#now() ? latency.ms : null
  }

  answered(target: Target, ms: number): void {
    const known = this.latency(target) ?? Infinity
    const average = known === Infinity ? ms : known + WEIGHT * (ms - known)
    this.#latencies.set(targetId(target), { ms: average, until: this.#now() + LATENCY_HOLDS })
  }

  unanswered(target: Target): void {
    if (this.latency(target) === null)
      this.#latencies.set(targetId(target), { ms: Infinity, until: this.#now() + NO_ANSWER_HOLDS })
  }

  /** The `provider/model` with which the calls under this key stay; the least recently used keys are forgotten. */
  stickyTarget(key: string): string | undefined {
    return this.#stickyTargets.get(key)
  }

  setStickyTarget(key: string, target: Target): void {
    this.#stickyTargets.set(key, targetId(target))
  }

  /** The family whose reasoning the conversation under this key holds; the least recently used keys are forgotten. */
  family(key: string): string | undefined {
    return this.#families.get(key)
  }

  setFamily(key: string, family: string): void {
    this.#families.set(key, family)
  }
}
