// No-inference windows: the mock is watched between two control calls that it receives, so an empty window
// proves something. Each window is compared with baseline windows without requests, which show traffic that
// no request causes.
import { nonceIn } from '../../../mocks/ledger.ts'
import { isRefused } from '../../dialects/lookup.ts'
import type { Evidence } from '../../evidence/evidence.ts'
import { doubt, type Finding, finding } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { isToldApart } from '../route/parts.ts'

/** Minimum duration of a baseline window, ms. */
const MIN_BASELINE_MS = 2_000

type Recorded = Pick<Evidence, 'exchanges' | 'ledger' | 'marks'>
type Entries = Evidence['ledger']

/** Makes a call that must reach the mock; otherwise an empty window would prove nothing. */
async function controlCall(session: CheckContext, name: string): Promise<void> {
  if (!(await session.controlCall(name)))
    session.untestable(
      `the control call "${name}" did not reach the mock, so an empty window there would prove nothing`,
    )
}

/**
 * Runs `during` alone between two control calls, after a baseline window in which nothing happens. If traffic
 * arrived that no call of the suite caused, a second baseline follows. It lasts as long as the window, or
 * twice the declared probe interval if that is longer. It shows traffic that repeats at least that often.
 */
export async function measuredWindow(session: CheckContext, during: () => Promise<void>): Promise<void> {
  const baseline = async (name: string, ms: number) => {
    await controlCall(session, `before the ${name}`)
    await session.drain()
    session.mark(`${name}_from`)
    await session.wait(ms)
    session.mark(`${name}_to`)
  }
  await baseline('baseline', MIN_BASELINE_MS)
  session.mark('from')
  await during()
  await session.drain()
  session.mark('to')
  await controlCall(session, 'after')
  const recorded = await session.soFar()
  if (arrived(recorded, 'from', 'to').length === 0) return
  const window = recorded.marks.to! - recorded.marks.from!
  await baseline(
    'second_baseline',
    Math.max(MIN_BASELINE_MS, window, 2 * session.target.capabilities.probe_interval_ms),
  )
}

/**
 * Returns the requests at the mock between two marks, except those of the suite's own calls; an empty list
 * without such a window. Calls from before the window are not excepted: their requests ended with the drain,
 * so a new request is a repeat.
 */
export function arrived({ ledger, marks, exchanges }: Recorded, from: string, to: string) {
  const asked = exchanges.filter(({ at }) => at >= marks[from]!)
  const ours = new Set(asked.map(({ request }) => nonceIn(request.body ?? '')))
  return ledger.filter(
    (entry) =>
      entry.at >= marks[from]! && entry.at <= marks[to]! && !(entry.nonce !== null && ours.has(entry.nonce)),
  )
}

/** Returns the entries that called a model and cost something. */
export const inferencesIn = (entries: Entries) =>
  entries.filter((entry) => entry.kind === 'inference' && !isRefused(entry))

/** Returns the requests in both baseline windows. */
const background = (recorded: Recorded) => [
  ...arrived(recorded, 'baseline_from', 'baseline_to'),
  ...arrived(recorded, 'second_baseline_from', 'second_baseline_to'),
]

/** Returns the references to entries for use in findings. */
export const names = (entries: Entries): string[] => entries.map(({ n }) => `@${n}`)

/** Returns the duration of both baseline windows, in seconds. */
function baselineTime({ marks }: Recorded): string {
  const lasted = (name: string) => (marks[`${name}_to`] ?? 0) - (marks[`${name}_from`] ?? 0)
  return `${((lasted('baseline') + lasted('second_baseline')) / 1000).toFixed(1)} s`
}

/**
 * Returns the finding of a no-inference window: no request may be among `those`. Leaves the question open if
 * they may be background traffic.
 */
export function noneArrived(
  recorded: Recorded,
  what: string,
  those = (entries: Entries) => entries,
): Finding {
  const came = those(arrived(recorded, 'from', 'to'))
  const alone = those(background(recorded))
  const beside = `${alone.length} in ${baselineTime(recorded)} in which nothing was asked`
  const see = names([...came, ...alone])
  return came.length > 0 && !isToldApart(came.length, alone.length)
    ? doubt(
        'nothing-arrives',
        `${what}: ${came.length} at the mock, and ${beside}: they cannot be told apart`,
        see,
      )
    : finding(
        'nothing-arrives',
        recorded.marks.to !== undefined && came.length === 0,
        what,
        { expected: 'none at the mock', actual: `${came.length}, and ${beside}` },
        see,
      )
}
