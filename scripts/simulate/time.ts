// Time and chance of a simulation: a clock that stands still until it is advanced, and dice with a seed. Both replace
// those of the machine in the whole process, packages included, so that one seed is one history.
import { type Chance, useChance } from '../../src/shared/chance.ts'
import type { Clock, Timer } from '../../src/shared/clock.ts'

/** Dice with a seed (mulberry32). */
export class Dice implements Chance {
  #state: number
  constructor(seed: number) {
    this.#state = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  }

  readonly number = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns a whole number from 0 to `below` - 1. */
  readonly int = (below: number): number => Math.floor(this.number() * below)

  readonly pick = <Value>(values: readonly Value[]): Value => values[this.int(values.length)]!

  /** Picks a value by its weight. */
  weighted<Value>(values: readonly (readonly [value: Value, weight: number])[]): Value {
    let at = this.number() * values.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [value, weight] of values) {
      at -= weight
      if (at < 0) return value
    }
    return values.at(-1)![0]
  }

  readonly bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => this.int(256)))

  readonly uuid = (): ReturnType<Chance['uuid']> => {
    const hex = Array.from({ length: 4 }, () =>
      this.int(2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('')
    const variant = '89ab'[Number.parseInt(hex[16]!, 16) % 4]
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
  }
}

/** Sunday, 1 November 2026, 22:00 UTC: two hours before a new day. */
const START = Date.UTC(2026, 10, 1, 22)

interface Due extends Timer {
  at: number
  readonly work: () => void
}

export class VirtualClock implements Clock {
  #time = 0
  #jumped = 0
  readonly #due = new Set<Due>()

  readonly now = (): number => Math.floor(START + this.#jumped + this.#time)
  readonly monotonic = (): number => START + this.#time
  readonly after = (ms: number, work: () => void): Timer => this.#arm(ms, work, false)
  readonly every = (ms: number, work: () => void): Timer => this.#arm(ms, work, true)

  /** Moves the date, as an administrator does. Timers do not notice. */
  jump(ms: number): void {
    this.#jumped += ms
  }

  /** Lets `ms` pass. Runs the timers that become due, each at its time and with the turns that follow it. */
  async advance(ms: number, turn: () => Promise<unknown>): Promise<void> {
    const end = this.#time + ms
    for (let first = this.#first(end); first; first = this.#first(end)) {
      this.#time = Math.max(this.#time, first.at)
      this.#due.delete(first)
      first.work()
      await turn()
    }
    this.#time = end
  }

  #first(end: number): Due | undefined {
    let first: Due | undefined
    for (const each of this.#due) if (each.at <= end && (!first || each.at < first.at)) first = each
    return first
  }

  #arm(ms: number, work: () => void, isRepeated: boolean): Timer {
    const timer = {
      at: 0,
      work: () => {
        if (isRepeated) timer.refresh()
        work()
      },
      close: () => this.#due.delete(timer),
      refresh: () => {
        timer.at = this.#time + Math.max(1, ms || 0)
        this.#due.delete(timer)
        this.#due.add(timer)
        return timer
      },
      ref: () => timer,
      unref: () => timer,
    }
    timer.refresh()
    return timer
  }
}

/** Gives all code of this process, packages too, this clock and these dice. Never ends. */
export function useSimulated(clock: () => VirtualClock, dice: () => Dice): void {
  const start = (ms: number | undefined, work: (...args: unknown[]) => void, args: unknown[]) =>
    clock().after(ms ?? 0, () => work(...args))
  Object.assign(globalThis, {
    setTimeout: (work: () => void, ms?: number, ...args: unknown[]) => start(ms, work, args),
    setInterval: (work: () => void, ms = 0) => clock().every(ms, work),
    clearTimeout: (timer?: Timer) => timer?.close?.(),
    clearInterval: (timer?: Timer) => timer?.close?.(),
  })
  Date.now = () => clock().now()
  performance.now = () => clock().monotonic() - START
  Math.random = () => dice().number()
  useChance({
    uuid: () => dice().uuid(),
    bytes: (count) => dice().bytes(count),
    number: () => dice().number(),
  })
}
