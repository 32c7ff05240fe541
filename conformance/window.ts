// No-inference windows: the witness is watched between two control calls that it saw, so an empty window proves something.
// Each is held against baseline windows without requests, because what comes by itself was not caused by a request.
import { nonceIn } from '../mocks/ledger.ts'
import { isToldApart } from './chance.ts'
import { doubt, type Finding, finding } from './check.ts'
import type { Evidence } from './evidence.ts'
import type { Session } from './session.ts'

/** How long a baseline window lasts at least, ms. */
export const BASELINE = 2_000

type Recorded = Pick<Evidence, 'exchanges' | 'ledger' | 'marks'>
type Entries = Evidence['ledger']

/** A call that must be seen at the witness, or an empty window there would prove nothing. */
async function controlCall(session: Session, name: string): Promise<void> {
  if (!(await session.controlCall(name)))
    session.untestable(
      `the control call "${name}" did not reach the witness, so an empty window there would prove nothing`,
    )
}

/**
 * A window between two control calls in which nothing but `during` happens, and before it, behind the same first call, a
 * baseline window in which nothing happens at all. When something came meanwhile that no call of ours asked for, a second baseline follows, as long as `during`
 * took and as twice its declared probe interval: what comes by itself at least that often is measured.
 */
export async function measuredWindow(session: Session, during: () => Promise<void>): Promise<void> {
  const baseline = async (name: string, ms: number) => {
    await controlCall(session, `before the ${name}`)
    await session.drain()
    session.mark(`${name}_from`)
    await session.wait(ms)
    session.mark(`${name}_to`)
  }
  await baseline('baseline', BASELINE)
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
    Math.max(BASELINE, window, 2 * session.target.capabilities.probe_interval_ms),
  )
}

/**
 * What the witness saw between two marks, but for what our own calls asked for; nothing where there was no such window.
 * A call from before the window, of which the drain saw the last, is not asked for here: who sends it now repeats it.
 */
export function arrived({ ledger, marks, exchanges }: Recorded, from: string, to: string) {
  const asked = exchanges.filter(({ at }) => at >= marks[from]!)
  const ours = new Set(asked.map(({ request }) => nonceIn(request.body ?? '')))
  return ledger.filter(
    (entry) =>
      entry.at >= marks[from]! && entry.at <= marks[to]! && !(entry.nonce !== null && ours.has(entry.nonce)),
  )
}

/** Those among entries that were calls of a model. */
export const inferencesIn = (entries: Entries) => entries.filter(({ kind }) => kind === 'inference')

/** What came while nothing was asked, in both baseline windows. */
const background = (recorded: Recorded) => [
  ...arrived(recorded, 'baseline_from', 'baseline_to'),
  ...arrived(recorded, 'second_baseline_from', 'second_baseline_to'),
]

/** How a finding names entries. */
export const names = (entries: Entries): string[] => entries.map(({ n }) => `@${n}`)

/** Seconds, of both baseline windows. */
function baselineTime({ marks }: Recorded): string {
  const lasted = (name: string) => (marks[`${name}_to`] ?? 0) - (marks[`${name}_from`] ?? 0)
  return `${((lasted('baseline') + lasted('second_baseline')) / 1000).toFixed(1)} s`
}

/**
 * The finding of a no-inference window: of all that came, `those` must be none. Where some came that may as well have come by
 * themselves, it is left open.
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
        `${what}: ${came.length} at the witness, and ${beside}: they cannot be told apart`,
        see,
      )
    : finding(
        'nothing-arrives',
        recorded.marks.to !== undefined && came.length === 0,
        what,
        { expected: 'none at the witness', actual: `${came.length}, and ${beside}` },
        see,
      )
}
