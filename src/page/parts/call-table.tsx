// A table of calls. A click on a value filters the list by it; any other click in the row opens the call. The
// arrow keys move from cell to cell, and only one cell is a tab stop.
import { useRef } from 'preact/hooks'
import type { CallRecord } from '../../core/record.ts'
import { callHref, callsHref, change, go, path } from '../place.ts'
import { linkOf, type PageColumn } from './columns.tsx'

interface Props {
  readonly rows: readonly CallRecord[]
  readonly columns: readonly PageColumn[]
  readonly label: string
  readonly isBusy?: boolean
  /** True for the default columns. A phone may hide some of them. */
  readonly isUsual?: boolean
}

export function CallTable({ rows, columns, label, isBusy = false, isUsual = false }: Props) {
  const table = useRef<HTMLTableElement>(null)
  const stop = useRef<HTMLElement | null>(null)

  const takeFocus = (event: FocusEvent) => {
    const focused = event.target as HTMLElement
    if (stop.current && stop.current !== focused) stop.current.tabIndex = -1
    focused.tabIndex = 0
    stop.current = focused
  }
  const press = (event: KeyboardEvent) => {
    const cell = (event.target as Element).closest('td')
    const target = cell && next(cell, event.key)
    if (!target) return
    event.preventDefault()
    target.focus()
  }
  return (
    <div class="table-frame">
      <table
        class={`calls${isUsual ? ' usual' : ''}`}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the arrow keys move through its cells
        role="grid"
        ref={table}
        aria-label={label}
        aria-busy={isBusy}
        onFocusCapture={takeFocus}
        onKeyDown={press}
      >
        <thead>
          <tr>
            {columns.map(({ name, title, about, isNumber }) => (
              <th
                key={name}
                scope="col"
                class={isNumber ? 'number' : undefined}
                title={about}
                data-column={name}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((record, index) => (
            <Row key={record.id} record={record} columns={columns} isFirst={index === 0} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({
  record,
  columns,
  isFirst,
}: {
  record: CallRecord
  columns: readonly PageColumn[]
  isFirst: boolean
}) {
  const open = (event: MouseEvent) => {
    if ((event.target as Element).closest('a, button') || getSelection()?.isCollapsed === false) return
    go(callHref(record.id))
  }
  return (
    <tr onClick={open} class={record.completed_at === null ? 'open' : undefined}>
      {columns.map((column, index) => (
        <td
          key={column.name}
          class={column.isNumber ? 'number' : undefined}
          data-column={column.name}
          data-title={column.title}
        >
          <Value column={column} record={record} isStop={isFirst && index === 0} />
        </td>
      ))}
    </tr>
  )
}

function Value({ column, record, isStop }: { column: PageColumn; record: CallRecord; isStop: boolean }) {
  const shown = column.show(record)
  const link = linkOf(column, record)
  const tabIndex = isStop ? 0 : -1
  if (link !== null)
    return (
      <a href={link} tabIndex={tabIndex}>
        {shown}
      </a>
    )
  if (column.name === 'created_at' || column.name === 'id')
    return (
      <a href={callHref(record.id)} tabIndex={tabIndex} class="open-call">
        {shown}
      </a>
    )
  const filter = column.filterOf(record)
  if (filter === null) return <span class="plain">{shown}</span>
  const [parameter, value] = filter
  return (
    <button
      type="button"
      class="value"
      tabIndex={tabIndex}
      title={`Only ${column.title} ${value}`}
      onClick={() => narrow(parameter, value)}
    >
      {shown}
    </button>
  )
}

/** On the list itself, adds the filter; elsewhere, opens the list with it. */
function narrow(parameter: string, value: string): void {
  if (path.value === '/calls') change({ [parameter]: value, cursor: null })
  else go(callsHref({ [parameter]: value }))
}

const focusable = (cell: Element | null | undefined): HTMLElement | null =>
  cell?.querySelector<HTMLElement>('a, button') ?? null

/** Returns the next focusable element in the direction of an arrow key. */
function next(cell: HTMLTableCellElement, key: string): HTMLElement | null {
  const row = cell.parentElement as HTMLTableRowElement
  const across = (from: Element | null, step: 'nextElementSibling' | 'previousElementSibling') => {
    for (let at = from; at; at = at[step]) if (focusable(at)) return focusable(at)
    return null
  }
  const inRow = (other: Element | null | undefined) =>
    other instanceof HTMLTableRowElement
      ? (focusable(other.cells[cell.cellIndex]) ?? focusable(other.cells[0]))
      : null
  const body = row.parentElement!
  switch (key) {
    case 'ArrowRight':
      return across(cell.nextElementSibling, 'nextElementSibling')
    case 'ArrowLeft':
      return across(cell.previousElementSibling, 'previousElementSibling')
    case 'ArrowDown':
    case 'j':
      return inRow(row.nextElementSibling)
    case 'ArrowUp':
    case 'k':
      return inRow(row.previousElementSibling)
    case 'Home':
      return inRow(body.firstElementChild)
    case 'End':
      return inRow(body.lastElementChild)
    default:
      return null
  }
}
