// A table for a terminal: columns as wide as they need to be; if there is not enough room, the widest of those that may be
// cut are cut. Pure; knows no stream.
import truncated from 'fast-string-truncated-width'
import { clean } from './clean.ts'

export interface TableOptions {
  /** Cells of the terminal; null where stdout is none: then nothing is cut. */
  readonly columns: number | null
  /** The first row holds the names of the columns; true unless it is said. */
  readonly header?: boolean
  /** Columns of figures, by name, or by number where there is no header. */
  readonly right?: readonly (string | number)[]
  /** Columns that may be cut, named likewise. */
  readonly shrink?: readonly (string | number)[]
  /** Stands before each line. */
  readonly indent?: string
}

const GAP = 2
/** No column is cut below this. */
const LEAST = 6

/** Lines, each with its end. What would steer the terminal is taken out. A column that is empty in each row is left out. */
export function table(rows: readonly (readonly string[])[], options: TableOptions): string {
  const { columns, header = true, right = [], shrink = [], indent = '' } = options
  const [first = []] = rows
  const cells = rows.map((row) => row.map(clean))
  const widths = first.map((_, i) => Math.max(...cells.map((row) => widthOf(row[i] ?? ''))))
  const shown = [...widths.keys()].filter((i) => widths[i]! > 0)
  const isOf = (list: readonly (string | number)[], i: number) => list.includes(header ? first[i]! : i)
  const total = () => shown.reduce((sum, i) => sum + widths[i]!, GAP * (shown.length - 1) + indent.length)
  const cuttable = shown.filter((i) => isOf(shrink, i))
  while (columns !== null && total() > columns) {
    const widest = cuttable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a), cuttable[0] ?? -1)
    if (widest < 0 || widths[widest]! <= LEAST) break
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
