// Formats a table for a terminal. Columns are as wide as needed. If there is not enough room, columns that may be left out
// are, and then the widest shrinkable columns are cut. Pure; writes to no stream.
import { clean, cut } from './clean.ts'
import { cells as widthOf } from './width.ts'

interface TableOptions {
  /** Width of the terminal in cells. Null if stdout is not a terminal; then nothing is cut. */
  readonly columns: number | null
  /** True (the default) if the first row contains the names of the columns. */
  readonly header?: boolean
  /** Right-aligned columns, by name, or by number without a header. */
  readonly right?: readonly (string | number)[]
  /** Columns that may be cut, by name, or by number without a header. */
  readonly shrink?: readonly (string | number)[]
  /** Columns that are left out, the first one first, before a column of `least` is cut below its width; by name. */
  readonly drop?: readonly string[]
  /** Widths in cells that shrinkable columns keep while a column of `drop` is left, by name; default: MIN_COLUMN_WIDTH. */
  readonly least?: Readonly<Record<string, number>>
  /** Prefix of each line. */
  readonly indent?: string
}

const GAP = 2
/** Minimum width of a cut column, in cells. */
const MIN_COLUMN_WIDTH = 6

/** Returns the lines with their line ends. Omits control characters and columns that are empty in every row. */
export function table(rows: readonly (readonly string[])[], options: TableOptions): string {
  const { columns, header = true, right = [], shrink = [], drop = [], least = {}, indent = '' } = options
  const [first = []] = rows
  const cells = rows.map((row) => row.map(clean))
  const widths = first.map((_, i) => cells.reduce((most, row) => Math.max(most, widthOf(row[i] ?? '')), 0))
  let shown = [...widths.keys()].filter((i) => widths[i]! > 0)
  const isOf = (list: readonly (string | number)[], i: number) => list.includes(header ? first[i]! : i)
  const room = (of: (i: number) => number) =>
    shown.reduce((sum, i) => sum + of(i), GAP * (shown.length - 1) + indent.length)
  const needed = (i: number) =>
    isOf(shrink, i) ? Math.min(widths[i]!, least[first[i]!] ?? MIN_COLUMN_WIDTH) : widths[i]!
  for (const name of drop)
    if (columns !== null && room(needed) > columns) shown = shown.filter((i) => first[i] !== name)
  const total = () => room((i) => widths[i]!)
  const cuttable = shown.filter((i) => isOf(shrink, i))
  while (columns !== null && total() > columns) {
    const spare = (i: number) => widths[i]! - needed(i)
    const roomy = cuttable.filter((i) => spare(i) > 0)
    const some = roomy.length > 0 ? roomy : cuttable
    const widest = some.reduce((a, b) => (widths[b]! > widths[a]! ? b : a), some[0] ?? -1)
    if (widest < 0 || widths[widest]! <= MIN_COLUMN_WIDTH) break
    widths[widest]!--
  }
  return cells
    .map((row) =>
      shown
        .map((i) => fit(row[i] ?? '', widths[i]!, isOf(right, i)))
        .join(' '.repeat(GAP))
        .trimEnd(),
    )
    .map((line) => `${indent}${line}\n`)
    .join('')
}

function fit(text: string, width: number, right: boolean): string {
  const shown = cut(text, width, widthOf)
  const pad = ' '.repeat(Math.max(0, width - widthOf(shown)))
  return right ? pad + shown : shown + pad
}
