// The part of the journal that the shared log has not received, and its limit. At the limit, calls are
// refused; nothing is ever dropped. Calls that begin between two checks of the journal are counted, so the
// limit holds.
import type { Standing } from './thread.ts'

export interface SpoolLimits {
  readonly calls: number
  readonly bytes: number
  /** Timeouts in milliseconds. */
  readonly age: number
}

interface Spool {
  /** Counts a call that begins. Call the returned function when the opening is in the journal or has failed. */
  began(): () => void
  /** Starts a check of the journal. Call the returned function with the result. */
  looking(): (seen: Pick<Standing, 'backlog' | 'bytes'>) => void
  /** Maximum number of waiting calls. */
  readonly calls: number
  /** Returns the reason why no more calls are accepted; null if there is room. `now`: ms since the epoch. */
  full(now: number): string | null
}

/** Number of calls below which the size in bytes is ignored. The size is that of the whole journal. */
const FEW_CALLS = 1_000

export function createSpool(limits: SpoolLimits): Spool {
  let seen: Pick<Standing, 'backlog' | 'bytes'> = { backlog: { calls: 0, since: null }, bytes: 0 }
  let begun = 0
  let opened = 0
  let since = 0
  const waiting = () => seen.backlog.calls + begun - since
  return {
    began() {
      begun++
      return () => void opened++
    },
    looking() {
      const at = opened // the journal may not have the other calls yet
      return (now) => {
        seen = now
        since = at
      }
    },
    get calls() {
      return waiting()
    },
    full(now) {
      const { backlog, bytes } = seen
      const calls = waiting()
      if (calls >= limits.calls)
        return `${calls} calls are waiting for it, and the spool holds ${limits.calls}`
      if (calls > FEW_CALLS && bytes > limits.bytes)
        return `the journal has ${Math.round(bytes / 2 ** 20)} MiB in use while calls wait for it, and the spool may use ${Math.round(limits.bytes / 2 ** 20)}`
      if (backlog.since !== null && now - backlog.since > limits.age)
        return `calls have waited for it for more than ${Math.round(limits.age / 60_000)} minutes`
      return null
    },
  }
}
