// The part of the journal that the shared log has not received yet, and its limit: at the limit, calls are
// refused; nothing is ever dropped. Calls that begin between two checks of the journal are counted, so the
// limit holds.
import type { Standing } from './protocol.ts'

export interface SpoolLimits {
  readonly calls: number
  readonly bytes: number
  /** Timeouts in milliseconds. */
  readonly age: number
}

export interface Spool {
  /** A call begins; the returned function says that its opening is in the journal, or failed. */
  began(): () => void
  /** Starts a check of the journal; the returned function takes its result. */
  looking(): (seen: Pick<Standing, 'backlog' | 'bytes'>) => void
  /** Maximum calls that wait. */
  readonly calls: number
  /** Returns why no more calls are accepted; null if there is room. `now`: ms since the epoch. */
  full(now: number): string | null
}

/** Calls below which the size in bytes is ignored, because it is that of the whole journal. */
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
      const at = opened // the journal may not have the others yet
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
