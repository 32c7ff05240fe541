// Estimates the remaining time of a run from an earlier run of the same gateway. Without one, uses the
// checks' waits and calls, the pace of the first call, and the waits in the target file. Completed checks
// adjust the estimate. Pure, except for the clock that the caller passes.

import { withoutDialect } from '../checks/requirements.ts'
import { type Results, wasJudged } from '../judge/judge.ts'

/** Facts about a gateway that decide how long a check takes; all in ms, apart from `reads`. */
export interface GatewayPace {
  /** Duration of a call. */
  readonly latency: number
  /** Time from the gateway's start to the end of its first call. */
  readonly start: number
  /** Cooldown of a failed target, and the gateway's own pause before a retry. */
  readonly failure: number
  /** Time until a record is final. */
  readonly lag: number
  /** Time until a call's record is found, if the only sign of it is that it was not in the log before. */
  readonly fresh: number
  /** Sum of the gateway's time-outs for a silent provider. */
  readonly silence: number
  /** Maximum time until late requests arrive. */
  readonly drain: number
  /** Number of read paths. */
  readonly reads: number
}

/** Pace of the reference. */
const REFERENCE: GatewayPace = {
  ...{ latency: 40, start: 500, failure: 60, lag: 1_000, fresh: 0, silence: 6_000, drain: 1_000, reads: 14 },
}

/**
 * Work of a check: its own waits in ms, and its numbers of calls, reads of each path, and waits for the
 * gateway.
 */
interface Work {
  readonly waits?: number
  readonly calls: number
  readonly reads?: number
  readonly failures?: number
  readonly lags?: number
  readonly fresh?: number
  readonly starts?: number
  readonly silences?: number
  readonly drains?: number
}

const USUAL_WAIT_MS = 150
const USUAL: Work = { calls: 6 }
/**
 * Checks that need more work. Waits for events that a gateway may not cause (FLOW-05, FLOW-10, FAIL-05) are
 * the mean of the ten gateways measured on 2026-11-26.
 */
const MEASURED: Readonly<Record<string, Work>> = {
  'PURE-01': { waits: 2_000, calls: 4, reads: 5, drains: 2 },
  'PURE-02': { waits: 60_000, calls: 2, starts: 1, drains: 2 },
  'PURE-03': { waits: 4_000, calls: 6 },
  'PURE-04': { waits: 2_000, calls: 116, drains: 2 },
  'PURE-05': { waits: 2_600, calls: 1, reads: 3 },
  'PURE-06': { calls: 0, reads: 6 },
  'PURE-07': { waits: 4_000, calls: 8 },
  'ROUTE-02': { calls: 6, failures: 3 },
  'ROUTE-04': { waits: 1_000, calls: 2, failures: 2 },
  'ROUTE-07': { calls: 13, failures: 8 },
  'ROUTE-08': { waits: 1_000, calls: 2, failures: 2 },
  'ROUTE-09': { waits: 4_500, calls: 6 },
  'ROUTE-10': { calls: 70, drains: 1 },
  'ROUTE-11': { waits: 1_000, calls: 49 },
  'TELL-01': { calls: 10 },
  'TELL-02': { calls: 6, failures: 2 },
  'LOG-01': { calls: 7, failures: 1, lags: 4 },
  'LOG-02': { calls: 6, lags: 1, fresh: 4 },
  'LOG-04': { calls: 6, fresh: 3 },
  'LOG-05': { calls: 6, failures: 1 },
  'LOG-06': { calls: 2, lags: 1, fresh: 1 },
  'LOG-07': { waits: 200, calls: 15, failures: 4, fresh: 2, drains: 1 },
  'LOG-09': { calls: 40 },
  'LOG-12': { calls: 2, reads: 1, lags: 1 },
  'USE-02': { calls: 6, fresh: 4 },
  'FLOW-01': { waits: 3_000, calls: 40 },
  'FLOW-06': { calls: 6, failures: 8 },
  'FLOW-09': { calls: 6, failures: 1 },
  'FLOW-10': { waits: 5_000, calls: 1 },
  'FLOW-05': { waits: 14_000, calls: 6 },
  'KEEP-01': { calls: 8, reads: 2, failures: 1 },
  'FAIL-01': { calls: 8, reads: 1, failures: 1 },
  'FAIL-04': { waits: 3_600, calls: 6, failures: 20 },
  'FAIL-05': { waits: 1_000, calls: 8, failures: 6, silences: 1.5 },
  'FAIL-06': { waits: 2_000, calls: 22, failures: 5, drains: 1 },
  'LIFE-01': { waits: 4_000, calls: 60 },
  'LIFE-02': { waits: 1_700, calls: 2, starts: 2 },
  'LIFE-03': { waits: 2_500, calls: 103, starts: 1 },
  'LIFE-07': { waits: 4_000, calls: 8 },
  'MSG-02': { calls: 20 },
  'MSG-03': { calls: 20 },
  'MSG-06': { calls: 20 },
  'MSG-08': { calls: 20 },
  'MSG-11': { calls: 6, failures: 3 },
  'MSG-12': { calls: 6, failures: 4 },
  'MSG-13': { waits: 15_000, calls: 2, failures: 2 },
  'MSG-14': { calls: 6, failures: 1 },
  'MSG-15': { waits: 2_000, calls: 6 },
  'MSG-21': { calls: 1, drains: 1 },
  'RSP-01': { calls: 12 },
  'RSP-03': { calls: 6, failures: 2 },
  'RSP-09': { waits: 7_600, calls: 2, failures: 2 },
  'DIAL-05': { calls: 6, failures: 2 },
  'DIAL-11': { calls: 40 },
  'DIAL-12': { calls: 40 },
  'DIAL-13': { calls: 80 },
  'CNT-01': { waits: 1_000, calls: 4 },
  'COST-01': { calls: 40, lags: 3, fresh: 4 },
  'COST-02': { calls: 20, lags: 3, fresh: 4 },
  'COST-03': { calls: 20, lags: 2, fresh: 2 },
  'COST-04': { calls: 12, lags: 1, fresh: 1 },
  'COST-05': { calls: 12, lags: 1, fresh: 1 },
  'COST-06': { calls: 8, lags: 1, fresh: 1 },
  'EMB-02': { calls: 6, failures: 3 },
  'FLOW-02': { waits: 1_000, calls: 8 },
  'DIAL-01': { waits: 500, calls: 10 },
}
const QUICK_IDLE_MS = 7_000

/** Returns the usual duration of a check at this pace, ms; `quick` uses a short idle window. */
export function usually(id: string, quick: boolean, pace: GatewayPace = REFERENCE): number {
  const bare = withoutDialect(id)
  const work = MEASURED[bare] ?? USUAL
  const { waits = USUAL_WAIT_MS, calls, reads = 0, failures = 0, lags = 0 } = work
  const { fresh = 0, starts = 0, silences = 0, drains = 0 } = work
  return (
    (quick && bare === 'PURE-02' ? QUICK_IDLE_MS : waits) +
    (calls + reads * pace.reads) * pace.latency +
    failures * pace.failure +
    lags * pace.lag +
    fresh * pace.fresh +
    starts * pace.start +
    silences * pace.silence +
    drains * pace.drain
  )
}

/** Returns the usual number of calls of a check. */
export const usualCalls = (id: string): number => (MEASURED[withoutDialect(id)] ?? USUAL).calls

/** Weight of the estimate against measured times, ms. */
const PRIOR_MS = 5_000

export interface TimeLeft {
  begun(id: string): void
  ended(id: string): void
  /** Returns the minimum remaining time, ms. */
  left(): number
}

/** Estimates a run of the checks `ids` in this order, `atOnce` of them at the same time. */
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
  const before = new Map(earlier?.verdicts.filter(wasJudged).map(({ id, duration }) => [id, duration]))
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

/** Formats ms: `about 3 min`, `about 40 s`. */
export function inTime(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 90) return `about ${seconds > 10 ? Math.ceil(seconds / 5) * 5 : seconds} s`
  return `about ${Math.round(seconds / 60)} min`
}
