// Estimates the remaining time of a run: from an earlier run of the same gateway, otherwise from what the
// checks wait and call on the reference, at the pace of the first call; adjusted by the checks that have
// ended. Pure, except for the clock that it is given.
import type { Results } from '../judge/judge.ts'
import { withoutDialect } from '../requirements/applicability.ts'

/** Pace of a gateway: duration of a call, cooldown of a failed target, and number of readable paths. */
export interface GatewayPace {
  /** Ms. */
  readonly latency: number
  /** Ms. */
  readonly cooldown: number
  /** Paths. */
  readonly reads: number
}

/** Pace of the reference. */
const REFERENCE: GatewayPace = { latency: 40, cooldown: 50, reads: 14 }

/**
 * Default wait of a check, ms, and its consecutive calls; measured on 2026-11-23 for checks that need more.
 */
const ELSE = [150, 6] as const
const MEASURED: Readonly<Record<string, readonly [waits: number, calls: number]>> = {
  'PURE-01': [4_100, 4],
  'PURE-02': [62_000, 2],
  'PURE-04': [4_200, 116],
  'PURE-05': [6_600, 1],
  'PURE-06': [150, 0],
  'PURE-07': [4_000, 8],
  'ROUTE-04': [1_000, 2],
  'ROUTE-07': [150, 13],
  'ROUTE-08': [1_000, 2],
  'ROUTE-09': [4_500, 6],
  'ROUTE-10': [1_000, 70],
  'ROUTE-11': [1_000, 49],
  'TELL-01': [150, 10],
  'LOG-01': [2_200, 7],
  'LOG-06': [1_100, 2],
  'LOG-07': [1_200, 15],
  'LOG-09': [150, 40],
  'LOG-12': [1_000, 2],
  'FLOW-01': [1_500, 14],
  'FLOW-10': [4_500, 1],
  'KEEP-01': [150, 8],
  'FAIL-01': [150, 8],
  'FAIL-04': [3_600, 6],
  'FAIL-05': [15_000, 8],
  'FAIL-06': [1_000, 22],
  'LIFE-01': [4_000, 60],
  'LIFE-02': [1_700, 2],
  'LIFE-03': [2_500, 103],
  'LIFE-07': [4_000, 8],
  'MSG-02': [150, 20],
  'MSG-13': [15_000, 2],
  'MSG-21': [1_000, 1],
  'RSP-01': [150, 12],
  'RSP-09': [7_600, 2],
  'DIAL-11': [150, 24],
  'DIAL-13': [150, 52],
  'CNT-01': [1_100, 4],
}
const QUICK_IDLE_MS = 7_000

/** Number of times a check reads each path. */
const READS: Readonly<Record<string, number>> = {
  ...{ 'PURE-01': 5, 'PURE-05': 3, 'PURE-06': 6 },
  ...{ 'KEEP-01': 2, 'LOG-12': 1, 'FAIL-01': 1 },
}

/** Number of times a check waits for a failed target's cooldown. */
const COOLDOWNS: Readonly<Record<string, number>> = {
  ...{ 'ROUTE-02': 2, 'ROUTE-04': 2, 'ROUTE-07': 8, 'ROUTE-08': 2, 'TELL-02': 2 },
  ...{ 'LOG-01': 1, 'LOG-05': 1, 'LOG-07': 4, 'FLOW-06': 2, 'FLOW-09': 1, 'KEEP-01': 1 },
  ...{ 'FAIL-01': 1, 'FAIL-04': 6, 'FAIL-05': 6, 'FAIL-06': 5, 'DIAL-05': 2, 'MSG-11': 3 },
  ...{ 'MSG-12': 4, 'MSG-13': 2, 'MSG-14': 1, 'RSP-03': 2, 'RSP-09': 2, 'EMB-02': 3 },
}

/** Returns the usual duration of a check at this pace, ms; `quick`: with a short idle window. */
export function usually(
  id: string,
  quick: boolean,
  { latency, cooldown, reads }: GatewayPace = REFERENCE,
): number {
  const bare = withoutDialect(id)
  const [waits, calls] = MEASURED[bare] ?? ELSE
  const idle = quick && bare === 'PURE-02' ? QUICK_IDLE_MS : waits
  return idle + (calls + (READS[bare] ?? 0) * reads) * latency + (COOLDOWNS[bare] ?? 0) * cooldown
}

/** Weight of the estimate against measured times, ms. */
const PRIOR_MS = 5_000

export interface TimeLeft {
  begun(id: string): void
  ended(id: string): void
  /** Returns the minimum remaining time, ms. */
  left(): number
}

/** Estimates for `ids` in order, with `atOnce` running at a time. */
export function timeLeft(
  ids: readonly string[],
  atOnce: number,
  {
    quick = false,
    pace = REFERENCE,
    earlier,
    now,
  }: { quick?: boolean; pace?: GatewayPace; earlier: Results | null; now: () => number },
): TimeLeft {
  const before = new Map(earlier?.verdicts.filter(wasTried).map(({ id, duration }) => [id, duration]))
  const expected = (id: string): number => before.get(id) ?? usually(id, quick, pace)
  // Actual and expected duration of the checks that have ended.
  let [took, should] = [PRIOR_MS, PRIOR_MS]
  const takes = (id: string): number => (expected(id) * took) / should
  const waiting = new Set(ids)
  const running = new Map<string, number>()
  return {
    begun(id) {
      waiting.delete(id)
      running.set(id, now())
    },
    ended(id) {
      took += now() - (running.get(id) ?? now())
      should += expected(id)
      running.delete(id)
    },
    left() {
      const open = [...running].map(([id, began]) => Math.max(0, began + takes(id) - now()))
      const all = [...waiting].map(takes)
      const sum = [...open, ...all].reduce((total, ms) => total + ms, 0)
      return Math.max(0, sum / atOnce, ...open, ...all)
    },
  }
}

const wasTried = ({ outcome }: Results['verdicts'][number]): boolean =>
  outcome === 'pass' || outcome === 'fail' || outcome === 'warn'

/** Formats ms: `about 3 min`, `about 40 s`. */
export function inTime(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 90) return `about ${seconds > 10 ? Math.ceil(seconds / 5) * 5 : seconds} s`
  return `about ${Math.round(seconds / 60)} min`
}
