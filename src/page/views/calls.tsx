// The request log: its filters, columns and pages, and new calls as they arrive.
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { CallRecord } from '../../core/record.ts'
import { type ReadError, useRead } from '../api.ts'
import {
  FILTERS,
  type Filter,
  filterOf,
  type Mistake,
  matches,
  mistakeIn,
  parseTerms,
  question,
} from '../filter.ts'
import * as format from '../format.ts'
import { useViewKeys } from '../keys.tsx'
import { useLiveList } from '../live.ts'
import { CallTable } from '../parts/call-table.tsx'
import { chosen, PAGE_COLUMNS, USUAL } from '../parts/columns.tsx'
import { Empty, FirstCall, JsonLink, ReadTrouble, saveAs } from '../parts/said.tsx'
import { change, hrefWith, params } from '../place.ts'

interface Listed {
  readonly data: readonly CallRecord[]
  readonly has_more: boolean
}

const PAGE_ROWS = 100

export function CallsView() {
  const filter = filterOf(params.value)
  const mistake = mistakeIn(params.value)
  const cursor = params.value.get('cursor')
  const columns = chosen(params.value.get('columns'))
  const isLive = cursor === null && params.value.get('live') !== 'off'
  const query = new URLSearchParams({ ...filter, limit: String(PAGE_ROWS), ...(cursor && { cursor }) })
  const path = `/api/usage/request-logs?${query}`
  const { data, error, isFresh, reload } = useRead<Listed>(mistake ? null : path)
  const body = useRef<HTMLDivElement>(null)
  const { rows, waiting, show } = useLiveList({
    read: data?.data ?? null,
    isFresh: isFresh && error === null && mistake === null,
    most: PAGE_ROWS,
    takesNew: isLive,
    matches: (record) => matches(filter, record),
    isHeld: () =>
      scrollY > 60 || body.current?.querySelector('tbody:is(:hover, :has(:focus-visible))') != null,
    missed: reload,
  })
  const input = useRef<HTMLInputElement>(null)
  useViewKeys(
    {
      '/': ['type a filter', () => input.current?.focus()],
      j: ['go into the table, then down', () => body.current?.querySelector<HTMLElement>('tbody a')?.focus()],
      x: ['remove all filters', () => change(cleared(filterOf(params.value)))],
      l: ['switch the display of new calls on or off', () => toggleLive()],
      o: ['older calls', () => body.current?.querySelector<HTMLElement>('a[rel=next]')?.click()],
    },
    [],
  )
  const isShown = mistake === null && error?.status !== 400
  const isEmpty = isFresh && rows.length === 0 && error === null && isShown
  const hasMore = (data?.has_more ?? false) || rows.length >= PAGE_ROWS
  return (
    <div ref={body}>
      <header class="view-head">
        <h1>Calls</h1>
        <JsonLink path={path} name="calls" />
        <span class="spring" />
        <Columns />
        <Export filter={filter} columns={columns.map(({ name }) => name)} />
        <button
          type="button"
          class="toggle"
          aria-pressed={isLive}
          onClick={toggleLive}
          disabled={cursor !== null}
        >
          Live
        </button>
      </header>
      <FilterBar filter={filter} input={input} />
      {mistake ? <Wrong mistake={mistake} /> : <ReadTrouble error={error} retry={reload} />}
      <Waiting count={waiting} show={show} />
      {isEmpty && <NoCalls filter={filter} isFirstPage={cursor === null} />}
      {rows.length > 0 && isShown && (
        <CallTable
          rows={rows}
          columns={columns}
          label="Calls, newest first"
          isBusy={!isFresh}
          isUsual={params.value.get('columns') === null}
        />
      )}
      <nav class="pages" aria-label="Pages">
        {cursor !== null && <a href={hrefWith({ cursor: null })}>Newest</a>}
        {hasMore && rows.length > 0 && isShown && (
          <a href={hrefWith({ cursor: rows.at(-1)!.id })} rel="next">
            Older
          </a>
        )}
      </nav>
    </div>
  )
}

/** Explains why there are no calls, and how to make some. */
function NoCalls({ filter, isFirstPage }: { filter: Filter; isFirstPage: boolean }) {
  if (Object.keys(filter).length > 0)
    return (
      <Empty title="No call on record matches">
        <p>
          <a href={hrefWith({ ...cleared(filter) })}>Remove the filters</a> to see all calls.
        </p>
      </Empty>
    )
  return (
    <Empty title={isFirstPage ? 'No call is on record yet' : 'There are no older calls'}>
      {isFirstPage && <FirstCall />}
    </Empty>
  )
}

/** Offers to show the calls that have arrived since the list was last shown. */
function Waiting({ count, show }: { count: number; show: () => void }) {
  return (
    <p class="waiting" aria-live="polite">
      {count > 0 && (
        <button type="button" onClick={show}>
          {count >= PAGE_ROWS ? `${PAGE_ROWS} or more` : count} new {count === 1 ? 'call' : 'calls'}
        </button>
      )}
    </p>
  )
}

/** With a filter that cannot be applied, shows no calls instead of all calls. */
function Wrong({ mistake: { text, meant } }: { mistake: Mistake }) {
  const wrong = [...params.value].filter(([name, value]) => mistakeIn(new URLSearchParams({ [name]: value })))
  const without = { ...Object.fromEntries(wrong.slice(0, 1).map(([name]) => [name, null])), cursor: null }
  return (
    <div class="trouble" role="alert">
      {text} {meant && <a href={hrefWith({ ...without, ...meant })}>{question(meant)}</a>}{' '}
      <a href={hrefWith(without)}>Remove it</a>
    </div>
  )
}

const cleared = (filter: Filter): Record<string, null> => ({
  ...Object.fromEntries(Object.keys(filter).map((name) => [name, null])),
  cursor: null,
})

function toggleLive(): void {
  change({ live: params.value.get('live') === 'off' ? null : 'off' }, true)
}

const HOUR = 3_600_000
const SPANS = { 'last hour': HOUR, 'last 24 hours': 24 * HOUR, 'last 7 days': 7 * 24 * HOUR }

function FilterBar({ filter, input }: { filter: Filter; input: { current: HTMLInputElement | null } }) {
  const trouble = useSignal<string | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    const text = input.current!.value.trim()
    try {
      if (text) change({ ...parseTerms(text), cursor: null })
      input.current!.value = ''
      trouble.value = null
    } catch (error) {
      trouble.value = (error as Error).message
    }
  }
  const since = (event: Event) => {
    const span = SPANS[(event.currentTarget as HTMLSelectElement).value as keyof typeof SPANS]
    change({ since: span === undefined ? null : new Date(Date.now() - span).toISOString(), cursor: null })
  }
  return (
    <search class="filters" aria-label="Filters">
      {Object.entries(filter).map(([name, value]) => (
        <button
          type="button"
          class="chip"
          key={name}
          aria-label={`Remove the filter ${name} ${value}`}
          onClick={() => change({ [name]: null, cursor: null })}
        >
          <span>{name.replaceAll('_', ' ')}</span>{' '}
          <b>{name === 'since' || name === 'until' ? format.time(value) : value}</b>
        </button>
      ))}
      <form onSubmit={submit}>
        <input
          ref={input}
          type="text"
          aria-label="Add a filter"
          placeholder="provider:groq status:error"
          list="filter-names"
          spellcheck={false}
          autocomplete="off"
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
        <datalist id="filter-names">
          {[...FILTERS.keys()].map((name) => (
            <option key={name} value={`${name}:`} />
          ))}
        </datalist>
      </form>
      <button type="button" class="quiet" onClick={() => change({ status: 'error', cursor: null })}>
        Errors
      </button>
      <select aria-label="Time" onChange={since} value={filter.since === undefined ? 'all' : 'own'}>
        <option value="all">any time</option>
        {Object.keys(SPANS).map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
        {filter.since !== undefined && <option value="own">since {format.time(filter.since)}</option>}
      </select>
      {trouble.value && (
        <p class="trouble" role="alert">
          {trouble.value}
        </p>
      )}
    </search>
  )
}

function Columns() {
  const shown = chosen(params.value.get('columns')).map(({ name }) => name)
  const toggle = (name: string) => {
    const next = PAGE_COLUMNS.map((each) => each.name).filter(
      (each) => shown.includes(each) !== (each === name),
    )
    const usual = PAGE_COLUMNS.map((each) => each.name).filter((each) => USUAL.includes(each))
    change({ columns: next.length === 0 || next.join() === usual.join() ? null : next.join(',') }, true)
  }
  return (
    <details class="menu">
      <summary>Columns</summary>
      <fieldset>
        <legend class="unseen">Columns of the table</legend>
        {PAGE_COLUMNS.map(({ name, title, about }) => (
          <label key={name} title={about}>
            <input type="checkbox" checked={shown.includes(name)} onChange={() => toggle(name)} /> {title}
          </label>
        ))}
      </fieldset>
    </details>
  )
}

/** Exports all calls that match the filters, not only those of this page. */
function Export({ filter, columns }: { filter: Filter; columns: readonly string[] }) {
  const trouble = useSignal<string | null>(null)
  const save = async (form: 'csv' | 'json') => {
    const query = new URLSearchParams({ ...filter, form, ...(form === 'csv' && { columns: columns.join() }) })
    trouble.value = null
    await saveAs(`/api/usage/export?${query}`, `calls.${form}`).catch((error: ReadError) => {
      trouble.value = error.message
    })
  }
  return (
    <details class="menu">
      <summary>Export</summary>
      <div>
        <p>All calls that the filters leave.</p>
        <button type="button" onClick={() => void save('csv')}>
          CSV, these columns
        </button>
        <button type="button" onClick={() => void save('json')}>
          JSON, whole records
        </button>
        {trouble.value && (
          <p class="trouble" role="alert">
            {trouble.value}
          </p>
        )}
      </div>
    </details>
  )
}
