// The last comparison with each provider's bill, in a file of the data directory. `waybill reconcile` writes
// the file, and the gateway shows it. Independent of the reports' formats.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readBounded } from '../shared/bounded.ts'
import { replaceFile } from '../shared/replace-file.ts'
import type { Comparison } from './bill.ts'

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
