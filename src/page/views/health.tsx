// The gateway's findings about itself, how full its record is, how old its prices are, and the calls that it
// refused before they had a record.
import { type HealthAnswer, type RefusedAnswer, useRead } from '../api.ts'
import * as format from '../format.ts'
import { State, Time } from '../parts/columns.tsx'
import { JsonLink, ReadTrouble } from '../parts/said.tsx'
import { type PlainColumn, Table } from '../parts/table.tsx'

const PATH = '/api/health'
const DAY = 86_400_000

export function HealthView() {
  const { data, error, reload } = useRead<HealthAnswer>(PATH, 10_000)
  const refused = useRead<RefusedAnswer>('/api/usage/refused-calls?limit=50', 10_000)
  const bad = data?.findings.filter(({ verdict }) => verdict === 'BAD').length ?? 0
  return (
    <>
      <header class="view-head">
        <h1>Health</h1>
        {data && <State state={bad > 0 ? 'BAD' : 'ok'} />}
        <JsonLink path={PATH} name="health" />
        <span class="spring" />
        {data && (
          <span class="note">
            Waybill {data.version}, running since <Time iso={data.started_at} />
          </span>
        )}
      </header>
      <ReadTrouble error={error} retry={reload} />
      {data && (
        <>
          <Findings findings={data.findings} />
          <div class="columns">
            <Caps record={data.record} />
            <Prices prices={data.prices} />
          </div>
          {data.bills.map((bill) => (
            <Bill key={`${bill.report} ${bill.provider}`} bill={bill} />
          ))}
        </>
      )}
      <section>
        <h2>Refused calls</h2>
        {refused.data?.data.length === 0 && (
          <p class="note calm">No call was refused before it had a record.</p>
        )}
        {refused.data && refused.data.data.length > 0 && (
          <Table rows={refused.data.data} columns={REFUSED} keyOf={({ id }) => id} />
        )}
      </section>
    </>
  )
}

/** Shows the findings with their verdicts. */
function Findings({ findings }: Pick<HealthAnswer, 'findings'>) {
  return (
    <section class="panel">
      <h2>Findings</h2>
      <ul class="findings">
        {findings.map(({ verdict, text }) => (
          <li key={text}>
            <State state={verdict} />
            <span>{text}</span>
          </li>
        ))}
      </ul>
      <p class="note">
        <code>waybill doctor</code> checks the disk, too: owner and modes of the files, free space, the
        database.
      </p>
    </section>
  )
}

/** Shows how full the record is. */
function Caps({ record }: Pick<HealthAnswer, 'record'>) {
  return (
    <section class="panel">
      <h2>
        Record <small>durability {record.durability}</small>
      </h2>
      <ul class="amounts">
        {record.caps.map(({ name, have, cap }) => (
          <li key={name}>
            <span class="name">{CAPS[name].title}</span>
            <span class="note" />
            <span class="number">
              {CAPS[name].show(have)} of {CAPS[name].show(cap)}
            </span>
            <span class={`meter${have > cap * 0.9 ? ' near' : ''}`} aria-hidden="true">
              <span style={{ width: `${Math.min(100, (100 * have) / cap)}%` }} />
            </span>
          </li>
        ))}
      </ul>
      <p class="note">
        The newest {format.count(record.artifacts.keep)} calls keep their exchange, up to{' '}
        {format.bytes(record.artifacts.bytes)}, {record.artifacts.bodies ? 'with' : 'without'} bodies.
      </p>
    </section>
  )
}

/** Shows the source of the prices, and their age. */
function Prices({ prices }: Pick<HealthAnswer, 'prices'>) {
  return (
    <section class="panel">
      <h2>Prices</h2>
      <p>
        {prices.table}, of {prices.date}: {age(prices.date)} days old.
      </p>
      <p class="note">
        {prices.own === 0
          ? 'The configuration sets no price of its own.'
          : `The configuration sets the price of ${prices.own} models, and these take precedence.`}
      </p>
    </section>
  )
}

/** Shows the last comparison with a provider's bill. */
function Bill({ bill }: { bill: HealthAnswer['bills'][number] }) {
  const { report, provider, compared_at, since, until, lines, equal, problems, differences } = bill
  return (
    <section class="panel">
      <h2>
        Bill of {report} <small>provider {provider}</small>
      </h2>
      <p>
        <State state={equal === lines && problems.length === 0 ? 'ok' : 'note'} /> {format.count(equal)} of{' '}
        {format.count(lines)} days and models are equal, from {since} to {until} (not included). Compared{' '}
        <Time iso={compared_at} />.
      </p>
      {differences.length > 0 && (
        <Table rows={differences} columns={DIFFERENCES} keyOf={({ day, model }) => `${day} ${model}`} />
      )}
      {problems.map((problem) => (
        <p class="note" key={problem}>
          {problem}
        </p>
      ))}
    </section>
  )
}

const amount = (usd: number | null) => (usd === null ? '-' : format.usd(usd))

const DIFFERENCES: readonly PlainColumn<HealthAnswer['bills'][number]['differences'][number]>[] = [
  { title: 'day', cell: ({ day }) => day },
  { title: 'model', cell: ({ model }) => model },
  { title: 'difference', cell: ({ verdict }) => verdict.replace('_', ' ') },
  { title: 'on record', cell: ({ here_usd }) => amount(here_usd) },
  { title: 'on the bill', cell: ({ there_usd }) => amount(there_usd) },
  { title: 'likely', style: 'long', cell: ({ likely }) => likely },
]

const CAPS = {
  rows: { title: 'calls', show: format.count },
  days: { title: 'age', show: (days: number) => `${days.toFixed(days < 10 ? 1 : 0)} days` },
  bytes: { title: 'size', show: format.bytes },
} as const

const age = (date: string): number => Math.floor((Date.now() - Date.parse(date)) / DAY)

const REFUSED: readonly PlainColumn<RefusedAnswer['data'][number]>[] = [
  { title: 'time', cell: ({ created_at }) => <Time iso={created_at} /> },
  { title: 'status', cell: ({ status }) => status },
  { title: 'code', cell: ({ code }) => code },
  { title: 'key', cell: ({ key_name }) => key_name },
  { title: 'path', cell: ({ endpoint }) => endpoint },
  {
    title: 'message to the client',
    style: 'long',
    cell: ({ message }) => message,
  },
]
