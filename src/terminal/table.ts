// A table for a terminal: columns as wide as they need to be, the widest of those that may be cut where there is no
// room for all. Pure; knows no stream.
import truncated from 'fast-string-truncated-width'

export interface TableOptions {
  /** Cells of the terminal; null where stdout is none: then nothing is cut. */
  readonly columns: number | null
  /** Columns of figures, by name. */
  readonly right?: readonly string[]
  /** Columns that may be cut, by name. */
  readonly shrink?: readonly string[]
}

const GAP = 2
/** No column is cut below this. */
const LEAST = 6

/** Lines, each with its end. The first row holds the names of the columns; control characters are taken out. */
export function table(rows: readonly (readonly string[])[], options: TableOptions): string {
  const { columns, right = [], shrink = [] } = options
  const [names = []] = rows
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const cells = rows.map((row) => row.map((cell) => cell.replace(/[\u0000-\u001f\u007f-\u009f]/g, '')))
  const widths = names.map((_, i) => Math.max(...cells.map((row) => widthOf(row[i] ?? ''))))
  const total = () => widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1))
  const cuttable = names.flatMap((name, i) => (shrink.includes(name) ? [i] : []))
  while (columns !== null && total() > columns) {
    const widest = cuttable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a), cuttable[0] ?? -1)
    if (widest < 0 || widths[widest]! <= LEAST) break
    widths[widest]!--
  }
  return cells
    .map((row) =>
      row
        .map((cell, i) => fit(cell, widths[i]!, right.includes(names[i]!)))
        .join(' '.repeat(GAP))
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}

const widthOf = (text: string): number => truncated(text).width

function fit(text: string, width: number, right: boolean): string {
  const { index, ellipsed } = truncated(text, { limit: width, ellipsis: '…' })
  const cut = ellipsed ? `${text.slice(0, index)}…` : text
  const pad = ' '.repeat(Math.max(0, width - widthOf(cut)))
  return right ? pad + cut : cut + pad
}
