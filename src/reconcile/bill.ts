// Compares the record with a provider's bill, by day (UTC) and model. The last comparison is in a file of the data
// directory: `waybill reconcile` writes it, and the gateway shows it. Independent of providers' formats and the database.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readBounded } from '../shared/bounded.ts'
import { replaceFile } from '../shared/replace-file.ts'

/** Usage of a model, or of a tool such as `(web_search)`, on one day. Null means not stated. */
export interface Line {
  /** Day in UTC, such as 2026-11-25. */
  readonly day: string
  readonly model: string
  readonly usd: number | null
  /** All input tokens, including cached tokens. */
  readonly input: number | null
  readonly output: number | null
  readonly calls: number | null
  /** Calls on record with a count that no price explains; absent in a provider's report. */
  readonly unexplained?: number
}

/** A report from the record or a provider. */
export interface Bill {
  readonly lines: readonly Line[]
  /** Lines that could not be compared, with the reason. */
  readonly problems: readonly string[]
}

type Verdict = 'equal' | 'only_there' | 'only_here' | 'differs'

export interface Comparison {
  readonly day: string
  readonly model: string
  readonly verdict: Verdict
  /** Values in the record and at the provider. */
  readonly here: Omit<Line, 'day' | 'model' | 'unexplained'> | null
  readonly there: Omit<Line, 'day' | 'model' | 'unexplained'> | null
  /** Probable reason for the difference; null if the values are equal. */
  readonly likely: string | null
}

/** Date at the end of a model's name. Providers may bill with this date even if the request had none. */
const DATE = /[-@](?:\d{8}|\d{4}-\d\d-\d\d)$/

const keyOf = ({ day, model }: Line): string => `${day} ${model.toLowerCase().replace(DATE, '')}`

/** Maximum relative difference of tokens and costs that counts as equal, because bills are rounded. */
const ROUNDING = 0.001

/** Compares two bills. `tolerance`: allowed difference per model and day, US dollars. */
export function compareBills(here: Bill, there: Bill, tolerance: number): Comparison[] {
  const [ours, theirs] = [summed(here.lines), summed(there.lines)]
  return [...new Set([...ours.keys(), ...theirs.keys()])].toSorted().map((key) => {
    const [a = null, b = null] = [ours.get(key), theirs.get(key)]
    const { day, model } = (a ?? b)!
    const isSmall = (a?.usd ?? 0) <= tolerance && (b?.usd ?? 0) <= tolerance
    const verdict =
      a && b
        ? verdictOf(a, b, tolerance)
        : isSmall && usedNothing(a ?? b!)
          ? 'equal'
          : a
            ? 'only_here'
            : 'only_there'
    return {
      day,
      model,
      verdict,
      here: amounts(a),
      there: amounts(b),
      likely: likelyOf(verdict, a, b, there),
    }
  })
}

const usedNothing = ({ input, output, calls }: Line): boolean => !input && !output && !calls

function verdictOf(a: Line, b: Line, tolerance: number): Verdict {
  const near = (x: number | null, y: number | null, most: number) =>
    x === null || y === null || Math.abs(x - y) <= Math.max(most, ROUNDING * Math.max(x, y))
  return near(a.usd, b.usd, tolerance) && near(a.input, b.input, 0) && near(a.output, b.output, 0)
    ? 'equal'
    : 'differs'
}

/** Ratios of a bill to the record, with the axis that explains each. */
const RATIOS: readonly (readonly [ratio: number, axis: string])[] = [
  [0.5, 'tier (flex or batch)'],
  [1.1, 'region'],
  [1.8, 'tier (priority)'],
  [2, 'tier, speed or a long context'],
  [2.5, 'tier (priority)'],
  [6, 'tier (ultrafast)'],
]

function likelyOf(verdict: Verdict, a: Line | null, b: Line | null, there: Bill): string | null {
  if (verdict === 'equal') return null
  if (verdict === 'only_there')
    return 'calls past the gateway: a leaked key, or a program with a key of its own'
  if (verdict === 'only_here')
    return there.lines.some(({ day }) => day === a!.day)
      ? 'the provider billed no such model: another name, or calls that it did not charge'
      : 'the report has no such day: it is not complete yet, or a part of it is missing'
  if (a!.unexplained)
    return `a count in the usage that no price explains (\`unknown_usage\`, ${a!.unexplained} calls on record)`
  const more = (name: 'input' | 'output') => (b![name] ?? 0) - (a![name] ?? 0)
  const known = a!.input !== null && b!.input !== null
  const isSame =
    known &&
    [more('input'), more('output')].every(
      (by, i) => Math.abs(by) <= ROUNDING * ((i === 0 ? a!.input : a!.output) ?? 0),
    )
  if (known && !isSame)
    return more('input') + more('output') > 0
      ? 'calls past the gateway: the provider counted more tokens'
      : 'the provider counted fewer tokens: its report is not complete yet, or a part of it is missing'
  const ratio = (b!.usd ?? 0) / (a!.usd ?? 0)
  const [, axis] = RATIOS.find(([each]) => Math.abs(ratio / each - 1) < 0.01) ?? []
  if (axis !== undefined) return axis
  if (!known)
    return ratio > 1 ? 'calls past the gateway, or a price' : 'a price, or a part of the report is missing'
  return 'a part of the calls had another tier, speed, region or price'
}

function summed(lines: readonly Line[]): Map<string, Line> {
  const sums = new Map<string, Line>()
  for (const line of lines) {
    const before = sums.get(keyOf(line))
    sums.set(keyOf(line), before ? added(before, line) : line)
  }
  return sums
}

function added(a: Line, b: Line): Line {
  const sum = (name: 'usd' | 'input' | 'output' | 'calls') =>
    a[name] === null && b[name] === null ? null : (a[name] ?? 0) + (b[name] ?? 0)
  const unexplained = (a.unexplained ?? 0) + (b.unexplained ?? 0)
  return {
    ...a,
    ...{ usd: sum('usd'), input: sum('input'), output: sum('output'), calls: sum('calls') },
    ...(unexplained > 0 && { unexplained }),
  }
}

const amounts = (line: Line | null): Comparison['here'] =>
  line && { usd: line.usd, input: line.input, output: line.output, calls: line.calls }

/** Maximum number of stored differences of one comparison. */
const MAX_LINES = 100
/** Maximum size of the file, bytes. */
const MAX_BYTES = 2 ** 20

const usd = z.number().nullable()

export const billComparison = z.strictObject({
  report: z.string().describe('origin of the report'),
  provider: z.string().describe('compared provider of the configuration'),
  compared_at: z.iso.datetime(),
  since: z.iso.date(),
  until: z.iso.date().describe('end of the range, excluded'),
  lines: z.int().nonnegative().describe('number of compared lines, by day and model'),
  equal: z.int().nonnegative(),
  problems: z.array(z.string()).describe('lines that could not be compared, with the reason'),
  differences: z
    .array(
      z.strictObject({
        day: z.string(),
        model: z.string(),
        verdict: z.enum(['only_there', 'only_here', 'differs']),
        here_usd: usd.describe('cost in the record'),
        there_usd: usd.describe('cost at the provider'),
        likely: z.string().nullable(),
      }),
    )
    .describe(`the first ${MAX_LINES}`),
})
type BillComparison = z.output<typeof billComparison>

const fileIn = (directory: string): string => join(directory, 'reconciled.json')

/** Returns the last comparison of each report; none if the file is missing or invalid. */
export function readLastReports(directory: string): BillComparison[] {
  const file = fileIn(directory)
  if (!existsSync(file)) return []
  try {
    return z.array(billComparison).parse(JSON.parse(readBounded(file, MAX_BYTES).toString('utf8')))
  } catch {
    return []
  }
}

interface ComparedBill extends Pick<BillComparison, 'report' | 'provider' | 'since' | 'until'> {
  readonly problems: readonly string[]
  readonly lines: readonly Comparison[]
}

/** Replaces the last comparison with one provider's report. */
export function writeLastReport(
  directory: string,
  { lines, problems, ...about }: ComparedBill,
  at: Date,
): void {
  const differences = lines.flatMap(({ day, model, verdict, here, there, likely }) =>
    verdict === 'equal'
      ? []
      : [{ day, model, verdict, here_usd: here?.usd ?? null, there_usd: there?.usd ?? null, likely }],
  )
  const made: BillComparison = {
    ...about,
    compared_at: at.toISOString(),
    lines: lines.length,
    equal: lines.length - differences.length,
    problems: problems.slice(0, MAX_LINES),
    differences: differences.slice(0, MAX_LINES),
  }
  const isSame = ({ report, provider }: BillComparison) =>
    report === about.report && provider === about.provider
  const others = readLastReports(directory).filter((each) => !isSame(each))
  replaceFile(fileIn(directory), `${JSON.stringify([...others, made])}\n`)
}
