// The span of time of a view, stored in the URL, and the estimated cost that the calls in it would have had on another
// route. Computed only after a route is chosen, because all these calls are read.
import { useRead, type WhatIfAnswer } from '../api.ts'
import * as format from '../format.ts'
import { JsonLink, ReadTrouble } from '../parts/said.tsx'
import { type PlainColumn, Table } from '../parts/table.tsx'
import { change, params } from '../place.ts'

export function Estimates({ names }: { names: readonly string[] }) {
  const asked = params.value
  const route = asked.get('whatif')
  const isDirect = asked.get('direct') === 'true'
  const query = new URLSearchParams({ window: windowOf(), route: route ?? '', direct: String(isDirect) })
  const path = route ? `/api/usage/what-if?${query}` : null
  const { data, error, isFresh, reload } = useRead<WhatIfAnswer>(path)
  return (
    <section class="panel">
      <h2>What would it have cost? {path && <JsonLink path={path} name="what-if" />}</h2>
      <div class="preview">
        <label>
          on{' '}
          <select
            value={route ?? ''}
            onChange={(event) => change({ whatif: event.currentTarget.value || null })}
          >
            <option value="">choose a route</option>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isDirect}
            onChange={(event) => change({ direct: event.currentTarget.checked ? 'true' : null }, true)}
          />{' '}
          also calls that named a fixed model
        </label>
      </div>
      {path && <ReadTrouble error={error} retry={reload} />}
      {path && !error && !isFresh && <p class="note">Reading the record …</p>}
      {path && data && isFresh && <Estimate answer={data} />}
    </section>
  )
}

function Estimate({ answer }: { answer: WhatIfAnswer }) {
  const { route, recorded, repriced, targets, outputs, left_out, assumed, statement } = answer
  return (
    <>
      <p class="sentence">
        On record {format.cost(recorded)}; on {route}{' '}
        <b>{format.estimate(repriced.cost_usd, repriced.cost_is_minimum)}</b>
        {outputs.length > 0 &&
          `, ${format.estimate(repriced.low_usd)} to ${format.estimate(repriced.high_usd)} if other models write less or more`}
        {repriced.flat_usd > 0 && `; a subscription pays ${format.estimate(repriced.flat_usd)} of it`};{' '}
        {statement}.
      </p>
      {targets.length > 0 && (
        <Table rows={targets} columns={COLUMNS} keyOf={({ target }) => target} isFramed={false} />
      )}
      <ul class="plain-list note">
        {left_out.map(({ reason, calls, text }) => (
          <li key={reason}>
            Not repriced: {format.count(calls)} that {text}.
          </li>
        ))}
        {assumed.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </>
  )
}

const COLUMNS: readonly PlainColumn<WhatIfAnswer['targets'][number]>[] = [
  { title: 'target', style: 'long', cell: ({ target }) => target },
  { title: 'calls', isNumber: true, cell: ({ calls }) => format.count(calls) },
  { title: 'input', isNumber: true, cell: ({ input_tokens }) => format.compact(input_tokens) },
  {
    title: 'cached',
    isNumber: true,
    cell: ({ input_tokens, cached_input_tokens }) =>
      format.percent(cached_input_tokens / (input_tokens || 1)),
  },
  { title: 'output', isNumber: true, cell: ({ output_tokens }) => format.compact(output_tokens) },
  { title: 'cost', isNumber: true, cell: ({ cost_usd }) => format.estimate(cost_usd) },
]

const WINDOWS = { '24h': 'last 24 hours', '7d': 'last 7 days', '30d': 'last 30 days' } as const
type Window = keyof typeof WINDOWS
const USUAL = '24h'

export function windowOf(): Window {
  const asked = params.value.get('window')
  return asked !== null && asked in WINDOWS ? (asked as Window) : USUAL
}

export function Spans() {
  return (
    <select
      aria-label="Time"
      value={windowOf()}
      onChange={(event) =>
        change({ window: event.currentTarget.value === USUAL ? null : event.currentTarget.value })
      }
    >
      {Object.entries(WINDOWS).map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  )
}
