// A plain table with a heading and a cell for each column. On a phone, each row takes a few lines, and each
// value after the first has a label.
import type { ComponentChild } from 'preact'

export interface PlainColumn<Row> {
  readonly title: string
  readonly isNumber?: boolean
  readonly about?: string
  /** `minor`: not on a phone. */
  readonly style?: string
  cell(row: Row): ComponentChild
  isBad?(row: Row): boolean
}

interface Props<Row> {
  readonly rows: readonly Row[]
  readonly columns: readonly PlainColumn<Row>[]
  readonly keyOf: (row: Row) => string
  readonly isFramed?: boolean
}

export function Table<Row>({ rows, columns, keyOf, isFramed = true }: Props<Row>) {
  return (
    <div class={isFramed ? 'table-frame' : 'scroll'}>
      <table class="stack">
        <thead>
          <tr>
            {columns.map(({ title, about, isNumber, style = '' }) => (
              <th key={title} scope="col" title={about} class={isNumber ? `number ${style}` : style}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, isNumber, style = '', cell, isBad }, index) => (
                <td
                  key={title}
                  data-title={index > 0 && style !== 'wide' ? title : undefined}
                  class={`${isNumber ? 'number ' : ''}${style}${isBad?.(row) ? ' bad' : ''}`}
                >
                  {cell(row) ?? <span class="none">–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
