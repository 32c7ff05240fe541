// Clocks for tests.
import { setImmediate as turn } from 'node:timers/promises'
import { type Clock, SYSTEM_CLOCK, type Timer } from './clock.ts'

export interface ManualClock extends Clock {
  /** Lets `ms` pass: runs the timers that become due, each at its time, with the promises that it settles. */
  advance(ms: number): Promise<void>
  /** Lets time pass in steps of `ms` until the promise is settled, with real pauses in between for other threads. */
  during<Value>(promise: Promise<Value>, ms?: number): Promise<Value>
}

/** Returns a clock that stands still until it is advanced. */
export function manualClock(start = SYSTEM_CLOCK.now()): ManualClock {
  let time = start
  const due = new Map<Timer, { at: number; work: () => void }>()
  const arm = (ms: number, work: () => void, isRepeated: boolean): Timer => {
    const timer: Timer = {
      close: () => due.delete(timer),
      refresh() {
        due.delete(timer)
        due.set(timer, { at: time + Math.max(1, ms), work: run })
      },
      unref: () => timer,
    }
    const run = () => {
      due.delete(timer)
      if (isRepeated) timer.refresh()
      work()
    }
    timer.refresh()
    return timer
  }
  const next = () => [...due.values()].reduce((first, each) => (each.at < first.at ? each : first), NEVER)
  async function advance(ms: number): Promise<void> {
    const end = time + ms
    for (let first = await settled(next); first.at <= end; first = await settled(next)) {
      time = first.at
      first.work()
    }
    time = end
  }
  return {
    now: () => time,
    monotonic: () => time,
    after: (ms, work) => arm(ms, work, false),
    every: (ms, work) => arm(ms, work, true),
    advance,
    async during(promise, ms = 100) {
      let isSettled = false
      const settle = () => {
        isSettled = true
      }
      promise.then(settle, settle)
      for (; !isSettled; await advance(ms))
        await new Promise((resolve) => SYSTEM_CLOCK.after(5, () => resolve(null)))
      return promise
    },
  }
}

const NEVER = { at: Number.POSITIVE_INFINITY, work() {} }

/** Calls `then` after the promises and callbacks of a few turns. */
async function settled<Value>(then: () => Value): Promise<Value> {
  for (let turns = 0; turns < 3; turns++) await turn()
  return then()
}

/** Returns the machine's clock with other dates; timers run in real time. */
export const dated = (now: () => number): Clock => ({ ...SYSTEM_CLOCK, now })
