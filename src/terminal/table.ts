// Formats a table for a terminal. Columns are as wide as needed. If there is not enough room, the widest
// shrinkable columns are cut. Pure; writes to no stream.
import truncated from 'fast-string-truncated-width'
import { clean } from './clean.ts'

interface TableOptions {
  /** Width of the terminal in cells. Null if stdout is not a terminal; then nothing is cut. */
  readonly columns: number | null
  /** True (the default) if the first row contains the names of the columns. */
  readonly header?: boolean
  /** Right-aligned columns, by name, or by number without a header. */
  readonly right?: readonly (string | number)[]
  /** Columns that may be cut, by name, or by number without a header. */
  readonly shrink?: readonly (string | number)[]
  /** Prefix of each line. */
  readonly indent?: string
}

const GAP = 2
/** Minimum width of a cut column, in cells. */
const MIN_COLUMN_WIDTH = 6

/** Returns the lines with their line ends. Omits control characters and columns that are empty in every row. */
export function table(rows: readonly (readonly string[])[], options: TableOptions): string {
  const { columns, header = true, right = [], shrink = [], indent = '' } = options
  const [first = []] = rows
  const cells = rows.map((row) => row.map(clean))
  const widths = first.map((_, i) => cells.reduce((most, row) => Math.max(most, widthOf(row[i] ?? '')), 0))
  const shown = [...widths.keys()].filter((i) => widths[i]! > 0)
  const isOf = (list: readonly (string | number)[], i: number) => list.includes(header ? first[i]! : i)
  const total = () => shown.reduce((sum, i) => sum + widths[i]!, GAP * (shown.length - 1) + indent.length)
  const cuttable = shown.filter((i) => isOf(shrink, i))
  while (columns !== null && total() > columns) {
    const widest = cuttable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a), cuttable[0] ?? -1)
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

const widthOf = (text: string): number => truncated(text).width

function fit(text: string, width: number, right: boolean): string {
  const { index, ellipsed } = truncated(text, { limit: width, ellipsis: '…' })
  const cut = ellipsed ? `${text.slice(0, index)}…` : text
  const pad = ' '.repeat(Math.max(0, width - widthOf(cut)))
  return right ? pad + cut : cut + pad
}
