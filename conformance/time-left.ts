// How long a run still takes, for the person who waits: from an earlier run of the same gateway, or else from what the
// checks take on the reference. An estimate, and said to be one. Pure, but for the clock that it is given.
import type { Results } from './judge.ts'
import { withoutSurface } from './on-surfaces.ts'

/** Checks that take 2 s or more on the reference, ms; measured on 2026-11-22, two cores. */
const MEASURED: Readonly<Record<string, number>> = {
  'PURE-01': 5_500,
  'PURE-02': 62_500,
  'PURE-04': 5_000,
  'PURE-05': 6_500,
  'PURE-07': 5_000,
  'ROUTE-04': 2_000,
  'ROUTE-08': 2_000,
  'ROUTE-09': 3_500,
  'ROUTE-10': 3_500,
  'FLOW-10': 3_000,
  'FAIL-04': 3_500,
  'FAIL-05': 14_500,
  'LIFE-03': 3_000,
  'LIFE-07': 3_000,
  'LOG-01': 2_500,
}
const ELSE = 1_000
const QUICK_IDLE = 7_500

/** How long a check takes on the reference, ms; `quick`: with a short idle window. */
export const usually = (id: string, quick: boolean): number =>
  quick && id === 'PURE-02' ? QUICK_IDLE : (MEASURED[withoutSurface(id)] ?? ELSE)

export interface TimeLeft {
  begun(id: string): void
  ended(id: string): void
  /** Ms that are left, at least. */
  left(): number
}

/** `ids` in their order; so many run at the same time. */
export function timeLeft(
  ids: readonly string[],
  atOnce: number,
  { quick = false, earlier, now }: { quick?: boolean; earlier: Results | null; now: () => number },
): TimeLeft {
  const before = new Map(earlier?.verdicts.filter(wasTried).map(({ id, duration }) => [id, duration]))
  const takes = (id: string): number => before.get(id) ?? usually(id, quick)
  const waiting = new Set(ids)
  const running = new Map<string, number>()
  return {
    begun(id) {
      waiting.delete(id)
      running.set(id, now())
    },
    ended(id) {
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

/** `about 3 min`, `about 40 s`. */
export function inTime(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 90) return `about ${seconds > 10 ? Math.ceil(seconds / 5) * 5 : seconds} s`
  return `about ${Math.round(seconds / 60)} min`
}
