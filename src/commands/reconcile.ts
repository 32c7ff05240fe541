// `waybill reconcile`: compares the record with a provider's own report by day and model. The report is
// fetched or read from a file. No request can cause an inference. Writes only the result, for the page.

import { loadConfig } from '../config/load.ts'
import { type Bill, type Comparison, compareBills, writeLastReport } from '../reconcile/bill.ts'
import {
  decodeReport,
  fetchReport,
  type Range,
  REPORTS,
  type ReportName,
  readReport,
} from '../reconcile/reports.ts'
import { readBounded } from '../shared/bounded.ts'
import { billedLines } from '../store/sqlite/billed.ts'
import { openUnchanged } from '../store/sqlite/diagnose.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { fileReason } from '../terminal/file-error.ts'
import { withKept } from '../terminal/keys.ts'
import { exactDollars, formatCount } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { complain, print, json as toJson, UsageError } from './output.ts'

interface ReconcileOptions {
  readonly name: string
  readonly config: string
  readonly report?: string
  readonly provider?: string
  readonly since?: string
  readonly until?: string
  readonly tolerance: string
  readonly baseUrl?: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

const DAY_MS = 86_400_000
/** Number of days compared by default. Today is excluded, because it is not on the bill yet. */
const DEFAULT_DAYS = 30
/** Maximum bytes of a saved report. */
const MAX_REPORT_BYTES = 256 * 2 ** 20

/** Prints the comparison; returns the exit code: 1 if something differs or could not be compared. */
export async function reconcile(options: ReconcileOptions): Promise<number> {
  const { name, config: file, env } = options
  if (!(name in REPORTS))
    throw new UsageError(
      `there is no report of ${JSON.stringify(name)}; known: ${Object.keys(REPORTS).join(', ')}`,
    )
  const tolerance = Number(options.tolerance)
  if (!(tolerance >= 0))
    throw new UsageError(`--tolerance takes US dollars, not ${JSON.stringify(options.tolerance)}`)
  const { config } = loadConfig(file, { env, replay: true })
  const provider = options.provider ?? name
  if (!config.providers[provider])
    throw new UsageError(`${file} has no provider ${JSON.stringify(provider)}; name it with --provider`)
  const there = await reportOf(name as ReportName, options)
  const range = rangeOf(options, options.report === undefined ? undefined : there)
  const within = (bill: Bill): Bill => ({
    ...bill,
    lines: bill.lines.filter(({ day }) => Date.parse(day) >= range.since && Date.parse(day) < range.until),
  })
  const db = openUnchanged(databaseFile(config.data))
  let here: Bill
  try {
    here = { lines: billedLines(db, provider, range.since, range.until), problems: [] }
  } finally {
    db.close()
  }
  const compared = compareBills(here, within(there), tolerance)
  const about = { report: name, provider, since: dayOf(range.since), until: dayOf(range.until) }
  writeLastReport(config.data, { ...about, problems: there.problems, lines: compared }, new Date())
  show(compared, there.problems, range, options)
  return compared.some(({ verdict }) => verdict !== 'equal') || there.problems.length > 0 ? 1 : 0
}

function reportOf(name: ReportName, options: ReconcileOptions): Bill | Promise<Bill> {
  const { report, env, baseUrl } = options
  if (report !== undefined) {
    let content: Buffer
    try {
      content = readBounded(report, MAX_REPORT_BYTES)
    } catch (error) {
      throw new UsageError(`${report}: ${fileReason(error as Error)}`)
    }
    return readReport(name, decodeReport(content))
  }
  const { keyName } = REPORTS[name]
  const key = withKept(options.config, env)[keyName]
  if (!key)
    throw new UsageError(
      `set ${keyName} to a key that may read the report of ${name}, or name a saved one with --report`,
    )
  return fetchReport({ name, range: rangeOf(options, undefined), key, baseUrl })
}

/** Returns the given days, or those of a saved report, or the last thirty before today. */
function rangeOf({ since, until }: ReconcileOptions, saved: Bill | undefined): Range {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const days = saved?.lines.map(({ day }) => Date.parse(day)).toSorted((a, b) => a - b) ?? []
  const range = {
    since: dayIn('--since', since) ?? days[0] ?? today - DEFAULT_DAYS * DAY_MS,
    until: dayIn('--until', until) ?? (days.length > 0 ? days.at(-1)! + DAY_MS : today),
  }
  if (range.since >= range.until) throw new UsageError('--since must be before --until; both are days in UTC')
  return range
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

function dayIn(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(day)) return day
  throw new UsageError(`${option} takes a day in UTC such as 2026-11-01, not ${JSON.stringify(text)}`)
}

function show(
  compared: readonly Comparison[],
  problems: readonly string[],
  range: Range,
  { json, name }: ReconcileOptions,
): void {
  const [since, until] = [dayOf(range.since), dayOf(range.until)]
  if (json) {
    process.stdout.write(`${toJson({ report: name, since, until, problems, lines: compared }, 2)}\n`)
    return
  }
  const other = compared.filter(({ verdict }) => verdict !== 'equal')
  const figure = (usd: number | null | undefined) => (usd == null ? '-' : exactDollars(usd, 4))
  const tokens = (line: Comparison['here']) =>
    line?.input == null ? '-' : `${formatCount(line.input)}→${formatCount(line.output ?? 0)}`
  const rows = other.map(({ day, model, verdict, here, there, likely }) => [
    day,
    model,
    verdict.replace('_', ' '),
    figure(here?.usd),
    figure(there?.usd),
    tokens(here),
    tokens(there),
    likely ?? '',
  ])
  const head = ['day', 'model', '', 'here', 'there', 'tokens here', 'there', 'likely']
  if (rows.length > 0)
    process.stdout.write(
      table([head, ...rows], { columns: process.stdout.columns ?? null, shrink: ['model', 'likely'] }),
    )
  for (const problem of problems) complain(problem)
  print(
    `${compared.length - other.length} of ${compared.length} lines are equal, from ${since} to ${until} (UTC, the last day not included)`,
  )
}
