// Parameters that providers have refused, shown below the routes. Requests leave them out until they are
// forgotten.
import { useRead } from '../api.ts'
import { JsonLink, ReadTrouble } from '../parts/said.tsx'
import { type PlainColumn, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import type { LearnedAnswer } from '../reads.ts'

const PATH = '/api/models/refusals'

export function Learned() {
  const { data, error, reload } = useRead<LearnedAnswer>(PATH, 30_000)
  const rows = data?.data ?? []
  if (rows.length === 0) return error ? <ReadTrouble error={error} retry={reload} /> : null
  return (
    <section class="panel">
      <h2>
        Refused by providers{' '}
        <small>
          left out of requests, or replaced, until then or until <code>waybill models forget</code>
        </small>{' '}
        <JsonLink path={PATH} name="refusals" />
      </h2>
      <Table
        rows={rows}
        columns={COLUMNS}
        keyOf={({ provider, model, parameter, value }) => `${provider}/${model} ${parameter} ${value}`}
        isFramed={false}
      />
    </section>
  )
}

type Row = LearnedAnswer['data'][number]
const COLUMNS: readonly PlainColumn<Row>[] = [
  { title: 'target', style: 'long', cell: ({ provider, model }) => `${provider}/${model}` },
  { title: 'parameter', style: 'long', cell: ({ parameter }) => parameter },
  { title: 'value', style: 'long', cell: ({ value }) => value ?? 'any' },
  { title: 'sent', cell: ({ replaced }) => (replaced ? 'replaced' : 'without it') },
  { title: 'seen', cell: ({ learned_at }) => <Time iso={learned_at} /> },
  { title: 'until', cell: ({ until }) => <Time iso={until} /> },
]
