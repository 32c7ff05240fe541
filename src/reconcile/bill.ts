// Compares the record with a provider's bill, by day (UTC) and model. Pure; independent of providers' formats
// and the database.

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

export type Verdict = 'equal' | 'only_there' | 'only_here' | 'differs'

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
