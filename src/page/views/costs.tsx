// Costs of calls over time and by provider, model, route and key. Also shows the most expensive sessions, the
// savings of the cache, and the remaining budgets.
import { useMemo } from 'preact/hooks'
import { useRead } from '../api.ts'
import * as format from '../format.ts'
import { Chart } from '../parts/chart.tsx'
import { Empty, FirstCall, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { Time } from '../parts/time.tsx'
import { callsHref, change, params, sessionHref } from '../place.ts'
import type { HistoryAnswer, Keys, SessionsAnswer } from '../reads.ts'
import { Figure } from './now.tsx'
import { type AmountRow, Amounts } from './sessions.tsx'
import { Spans, windowOf } from './spans.tsx'

const BY = ['provider', 'model', 'route', 'tier', 'key'] as const
type By = (typeof BY)[number]

/** Filter of the list that shows the calls behind an amount. */
const FILTER: Readonly<Record<By, string>> = {
  provider: 'provider',
  model: 'model',
  route: 'route',
  tier: 'tier',
  key: 'key_name',
}

const HOUR = 3_600_000
const SPANS = { '24h': 24 * HOUR, '7d': 7 * 24 * HOUR, '30d': 30 * 24 * HOUR }
/** Maximum names with a separate colour in the chart; the other names share one. */
const MOST = 5

export function Costs() {
  const window = windowOf('30d')
  const asked = params.value.get('by')
  const by: By = BY.find((each) => each === asked) ?? 'model'
  const bucket = window === '24h' ? '1h' : '1d'
  const path = `/api/usage/history?window=${window}&bucket=${bucket}&by=${by}`
  const { data, error, reload } = useRead<HistoryAnswer>(path, 60_000)
  const sessions = useRead<SessionsAnswer>('/api/sessions?order=cost&limit=10')
  const keys = useRead<Keys>('/api/keys')
  const chart = useMemo(
    () => (data ? chartOf(data, SPANS[window], bucket === '1h' ? HOUR : 24 * HOUR) : null),
    [data],
  )
  const rows = useMemo(() => (data ? amountsBy(data, by) : []), [data])
  const budgets = keys.data?.data.filter(({ budgets }) => budgets.length > 0) ?? []
  const totals = data?.totals
  return (
    <>
      <header class="view-head">
        <h1>Costs</h1>
        <JsonLink path={path} name="costs" />
        <span class="spring" />
        <label class="inline">
          by{' '}
          <select
            value={by}
            onChange={(event) =>
              change({ by: event.currentTarget.value === 'model' ? null : event.currentTarget.value })
            }
          >
            {BY.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <Spans usual="30d" />
      </header>
      <ReadTrouble error={error} retry={reload} />
      {totals && <Totals totals={totals} />}
      {totals?.calls === 0 && (
        <Empty title="No call was made in this period">
          <FirstCall />
        </Empty>
      )}
      {chart && totals !== undefined && totals.calls > 0 && (
        <section class="panel">
          <h2>{bucket === '1h' ? 'Per hour' : 'Per day'}</h2>
          <Chart label="Cost over time" {...chart} show={format.usd} height={200} />
        </section>
      )}
      <div class="columns">
        {rows.length > 0 && (
          <section class="panel">
            <h2>By {by}</h2>
            <Amounts rows={rows} />
          </section>
        )}
        {sessions.data && sessions.data.data.length > 0 && (
          <section class="panel">
            <h2>
              Most expensive sessions <small>of all time on record</small>
            </h2>
            <Amounts
              rows={sessions.data.data.map(({ session_id, calls, ...cost }) => ({
                name: session_id,
                href: sessionHref(session_id),
                calls,
                cost,
              }))}
            />
          </section>
        )}
        {budgets.length > 0 && <Budgets keys={budgets} />}
      </div>
    </>
  )
}

function Totals({ totals }: { totals: HistoryAnswer['totals'] }) {
  return (
    <dl class="figures">
      <Figure name="Cost" value={format.cost(totals)} more={format.withoutCost(totals)} />
      <Figure name="Calls" value={format.count(totals.calls)} />
      <Figure
        name="Per call"
        value={format.cost({
          ...totals,
          cost_usd: totals.calls > 0 && totals.cost_usd !== null ? totals.cost_usd / totals.calls : null,
        })}
        more="on average"
      />
      <Figure
        name="Tokens"
        value={format.compact((totals.input_tokens ?? 0) + (totals.output_tokens ?? 0))}
        more={`${format.compact(totals.input_tokens)} in, ${format.compact(totals.output_tokens)} out`}
      />
      <Figure
        name="Saved by the cache"
        value={format.usd(totals.saved_usd)}
        href={callsHref({ cache: 'HIT' })}
      />
    </dl>
  )
}

/** Shows the keys with a budget, and their remaining amounts. */
function Budgets({ keys }: { keys: Keys['data'] }) {
  return (
    <section class="panel">
      <h2>Budgets</h2>
      <ul class="amounts">
        {keys.flatMap(({ name, budgets }) =>
          budgets.map((budget) => <Budget key={`${name} ${budget.per}`} name={name} budget={budget} />),
        )}
      </ul>
    </section>
  )
}

function Budget({ name, budget }: { name: string | null; budget: Keys['data'][number]['budgets'][number] }) {
  const { usd, per, spent_usd, spent_is_minimum, reserved_usd, resets_at } = budget
  if (resets_at === null)
    return (
      <li>
        <span class="name">{name}</span>
        <span class="note">for each session</span>
        <span class="number">{format.usd(usd)}</span>
      </li>
    )
  const part = Math.min(1, (spent_usd ?? 0) / usd)
  return (
    <li>
      <span class="name">{name}</span>
      <span class="note">
        {format.usd(Math.max(0, usd - (spent_usd ?? 0) - (reserved_usd ?? 0)))} left until{' '}
        <Time iso={resets_at} />
      </span>
      <span class="number">
        {format.cost({ cost_usd: spent_usd, cost_is_minimum: spent_is_minimum ?? false })} of{' '}
        {format.usd(usd)} a {per}
      </span>
      <span class={`meter${part >= 0.8 ? ' near' : ''}`} aria-hidden="true">
        <span style={{ width: `${100 * part}%` }} />
      </span>
    </li>
  )
}

const nameOf = (by: string | null | undefined): string => by ?? 'none'

function amountsBy(history: HistoryAnswer, by: By): AmountRow[] {
  const groups = Map.groupBy(history.buckets, (bucket) => bucket.by ?? null)
  return [...groups]
    .map(([name, buckets]) => ({
      name: nameOf(name),
      ...(name !== null && { href: callsHref({ [FILTER[by]]: name }) }),
      calls: buckets.reduce((sum, { calls }) => sum + calls, 0),
      cost: {
        cost_usd: buckets.every(({ cost_usd }) => cost_usd === null)
          ? null
          : buckets.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
        cost_is_minimum: buckets.some(({ cost_is_minimum }) => cost_is_minimum),
      },
    }))
    .sort((a, b) => (b.cost.cost_usd ?? 0) - (a.cost.cost_usd ?? 0))
}

/**
 * Draws the most expensive names in separate colours and the other names together, with one bar for each
 * bucket of the span.
 */
function chartOf(history: HistoryAnswer, spanMs: number, bucketMs: number) {
  const until = Date.parse(history.window.until)
  const first = Math.floor((until - spanMs) / bucketMs) * bucketMs
  const times = Array.from(
    { length: Math.floor((until - first) / bucketMs) + 1 },
    (_, n) => first + n * bucketMs,
  )
  const names = amountsBy(history, 'model').map(({ name }) => name)
  const shown = names.slice(0, names.length > MOST + 1 ? MOST : MOST + 1)
  const seriesOf = (name: string, isIn: (by: string) => boolean) => {
    const sums = new Map<number, number>()
    for (const { start, by, cost_usd } of history.buckets) {
      const at = Date.parse(start)
      if (isIn(nameOf(by))) sums.set(at, (sums.get(at) ?? 0) + (cost_usd ?? 0))
    }
    return { name, values: times.map((ms) => sums.get(ms) ?? 0) }
  }
  return {
    times,
    series: [
      ...shown.map((name) => seriesOf(name, (by) => by === name)),
      ...(shown.length < names.length ? [seriesOf('others', (by) => !shown.includes(by))] : []),
    ],
  }
}
