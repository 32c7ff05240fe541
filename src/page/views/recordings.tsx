// The recordings from which a replaying gateway answers. Shows each with its origin, but without its
// contents.
import { type RecordingsAnswer, useRead } from '../api.ts'
import * as format from '../format.ts'
import { Copyable, Empty, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { type PlainColumn, Table } from '../parts/table.tsx'
import { change, params } from '../place.ts'

const PATH = '/api/recordings'

export function RecordingsView() {
  const { data, error, reload } = useRead<RecordingsAnswer>(PATH)
  const wanted = params.value.get('find') ?? ''
  const words = wanted.toLowerCase().split(/\s+/)
  const rows = (data?.data ?? []).filter(({ name, provider, model, scenario, origin, endpoint }) => {
    const text = [name, provider, model, scenario, origin, endpoint].join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return (
    <>
      <header class="view-head">
        <h1>Recordings</h1>
        <JsonLink path={PATH} name="recordings" />
      </header>
      <ReadTrouble error={error} retry={reload} />
      {data && !data.replay && (
        <Empty title="This gateway is live">
          <p>With recordings it costs nothing and needs no key:</p>
          <Copyable text="waybill serve --replay" label="the command" />
        </Empty>
      )}
      {data?.replay && (
        <>
          {data.notes.map((note) => (
            <p key={note} class="note calm">
              {note}
            </p>
          ))}
          <search class="filters spaced">
            <form onSubmit={(event) => event.preventDefault()}>
              <input
                type="text"
                aria-label="Find a recording"
                placeholder="groq tools"
                value={wanted}
                onInput={(event) => change({ find: event.currentTarget.value }, true)}
              />
            </form>
            <span class="note">
              {format.count(rows.length)} of {format.count(data.data.length)}
            </span>
          </search>
          <Table rows={rows} columns={COLUMNS} keyOf={({ name }) => name} />
        </>
      )}
    </>
  )
}

type Row = RecordingsAnswer['data'][number]
const COLUMNS: readonly PlainColumn<Row>[] = [
  { title: 'name', style: 'long', cell: ({ name, shape }) => <span title={shape}>{name}</span> },
  { title: 'model', style: 'long', cell: ({ model }) => model ?? 'any' },
  {
    title: 'scenario',
    style: 'long',
    cell: ({ scenario, stream }) => (stream ? `${scenario}, streamed` : scenario),
  },
  { title: 'status', cell: ({ status }) => status, isBad: ({ status }) => status >= 400 },
  { title: 'size', isNumber: true, cell: ({ bytes }) => format.bytes(bytes) },
  { title: 'chunks', isNumber: true, cell: ({ chunks }) => format.count(chunks) },
  { title: 'origin', cell: ({ origin }) => origin },
  { title: 'date', cell: ({ date }) => date },
]
