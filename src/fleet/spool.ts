// The part of the journal that the shared log has not received yet, and whether there is room for more: at the limit, calls
// are refused; nothing is ever dropped. Calls that begin between two checks of the journal are counted, so the limit holds.
import type { Standing } from './protocol.ts'

export interface SpoolLimits {
  readonly calls: number
  readonly bytes: number
  /** Milliseconds. */
  readonly age: number
}

export interface Spool {
  /** A call begins. */
  began(): void
  /** A look at the journal is asked for; what is returned takes what was seen. */
  looking(): (seen: Pick<Standing, 'backlog' | 'bytes'>) => void
  /** Calls that wait, at most. */
  readonly calls: number
  /** Why no more calls are taken; null when there is room. `now`: ms since the epoch. */
  full(now: number): string | null
}

/** Below this a backlog says nothing about bytes, which are those of the whole journal. */
const FEW = 1_000

export function createSpool(limits: SpoolLimits): Spool {
  let seen: Pick<Standing, 'backlog' | 'bytes'> = { backlog: { calls: 0, since: null }, bytes: 0 }
  let begun = 0
  let since = 0
  const waiting = () => seen.backlog.calls + begun - since
  return {
    began: () => void begun++,
    looking() {
      const at = begun
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
      if (calls > FEW && bytes > limits.bytes)
        return `the journal has ${Math.round(bytes / 2 ** 20)} MiB in use while calls wait for it, and the spool may use ${Math.round(limits.bytes / 2 ** 20)}`
      if (backlog.since !== null && now - backlog.since > limits.age)
        return `calls have waited for it for more than ${Math.round(limits.age / 60_000)} minutes`
      return null
    },
  }
}
