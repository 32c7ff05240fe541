// Windows in which the witness is watched, for zeros: each lies between two plants that the witness saw, so it is bound
// to life, and is held against windows without requests, because what comes by itself is nobody's doing.
import { nonceIn } from '../mocks/ledger.ts'
import { isToldApart } from './chance.ts'
import { doubt, type Finding, finding } from './check.ts'
import type { Evidence } from './evidence.ts'
import type { Session } from './session.ts'

/** How long a window without requests lasts at least, ms. */
export const QUIET = 2_000

type Notebook = Pick<Evidence, 'exchanges' | 'ledger' | 'marks'>
type Entries = Evidence['ledger']

/** A call that must be seen at the witness, or a zero there would prove nothing. */
async function plant(session: Session, name: string): Promise<void> {
  if (!(await session.plant(name)))
    session.untestable(`the plant "${name}" did not reach the witness, so a zero there would prove nothing`)
}

/**
 * A window between two plants in which nothing but `during` happens, and before it one in which nothing happens at
 * all. When something came meanwhile that no call of ours asked for, a second quiet one follows, as long as `during`
 * took and as twice its declared probe interval: what comes by itself at least that often is measured.
 */
export async function measuredWindow(session: Session, during: () => Promise<void>): Promise<void> {
  const quiet = async (name: string, ms: number) => {
    await plant(session, `before the ${name}`)
    await session.drain()
    session.mark(`${name}_from`)
    await session.wait(ms)
    session.mark(`${name}_to`)
  }
  await quiet('quiet', QUIET)
  await plant(session, 'before')
  await session.drain()
  session.mark('from')
  await during()
  await session.drain()
  session.mark('to')
  await plant(session, 'after')
  const notebook = await session.soFar()
  if (arrived(notebook, 'from', 'to').length === 0) return
  const window = notebook.marks.to! - notebook.marks.from!
  await quiet('second_quiet', Math.max(QUIET, window, 2 * session.target.has.probe_interval_ms))
}

/**
 * What the witness saw between two marks, but for what our own calls asked for; nothing where there was no such window.
 * A call from before the window, of which the drain saw the last, is not asked for here: who sends it now repeats it.
 */
export function arrived({ ledger, marks, exchanges }: Notebook, from: string, to: string) {
  const asked = exchanges.filter(({ at }) => at >= marks[from]!)
  const ours = new Set(asked.map(({ request }) => nonceIn(request.body ?? '')))
  return ledger.filter(
    (entry) =>
      entry.at >= marks[from]! && entry.at <= marks[to]! && !(entry.nonce !== null && ours.has(entry.nonce)),
  )
}

/** Those among entries that were calls of a model. */
export const inferencesIn = (entries: Entries) => entries.filter(({ kind }) => kind === 'inference')

/** What came while nothing was asked, in both quiet windows. */
const background = (notebook: Notebook) => [
  ...arrived(notebook, 'quiet_from', 'quiet_to'),
  ...arrived(notebook, 'second_quiet_from', 'second_quiet_to'),
]

/** How a finding names entries. */
export const names = (entries: Entries): string[] => entries.map(({ n }) => `@${n}`)

/** Seconds, of both quiet windows. */
function quietTime({ marks }: Notebook): string {
  const lasted = (name: string) => (marks[`${name}_to`] ?? 0) - (marks[`${name}_from`] ?? 0)
  return `${((lasted('quiet') + lasted('second_quiet')) / 1000).toFixed(1)} s`
}

/**
 * The zero of a measured window: of all that came, `those` must be none. Where some came that may as well have come by
 * themselves, nobody can say.
 */
export function zero(notebook: Notebook, what: string, those = (entries: Entries) => entries): Finding {
  const came = those(arrived(notebook, 'from', 'to'))
  const alone = those(background(notebook))
  const said = `${what}: ${came.length} at the witness, ${alone.length} in ${quietTime(notebook)} in which nothing was asked`
  const see = names([...came, ...alone])
  return came.length > 0 && !isToldApart(came.length, alone.length)
    ? doubt(`${said}: nobody can tell them apart`, see)
    : finding(notebook.marks.to !== undefined && came.length === 0, said, see)
}
