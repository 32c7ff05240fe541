// Costs of calls today, this month and at other times, by model, key, client, route and session, with the savings of the
// cache and the budgets.
import { useMemo } from 'preact/hooks'
import { type HistoryAnswer, type Keys, useRead } from '../api.ts'
import * as format from '../format.ts'
import { Chart } from '../parts/chart.tsx'
import { Time } from '../parts/columns.tsx'
import { Empty, FirstCall, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { callsHref, change, hrefWith, params, sessionHref } from '../place.ts'
import { Figure } from './now.tsx'
import { type AmountRow, Amounts } from './sessions.tsx'

const BY = ['model', 'key', 'client', 'route', 'session', 'provider', 'tier'] as const
type By = (typeof BY)[number]

/** Filter of the list that shows the calls behind an amount. A client's filter needs its version, too. */
const FILTER: Readonly<Partial<Record<By, string>>> = {
  provider: 'provider',
  model: 'model',
  route: 'route',
  tier: 'tier',
  key: 'key_name',
}

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Maximum names with a separate colour in the chart; the other names share one. */
const MOST = 5
/** Maximum names in the list. */
const MOST_ROWS = 20

/** Spans of time by their name in the URL, with their words. Days and months are the reader's. */
const SPANS: Readonly<Record<string, readonly [words: string, since: (now: Date) => Date]>> = {
  today: ['today', (now) => new Date(now.getFullYear(), now.getMonth(), now.getDate())],
  month: ['this month', (now) => new Date(now.getFullYear(), now.getMonth())],
  '24h': ['24 hours', (now) => new Date(+now - DAY)],
  '7d': ['7 days', (now) => new Date(+now - 7 * DAY)],
  '30d': ['30 days', (now) => new Date(+now - 30 * DAY)],
}

/** Returns the span of time in the URL: dates, or the name of a span. */
function spanOf(now: Date) {
  const [from, to] = ['from', 'to'].map((name) => params.value.get(name) ?? '')
  const since = Date.parse(`${from}T00:00`)
  const last = new Date(`${to || from}T00:00`)
  if (!Number.isNaN(since) && +last >= since)
    return { name: null, since, until: last.setDate(last.getDate() + 1) }
  const asked = params.value.get('window') ?? 'today'
  const name = asked in SPANS ? asked : 'today'
  return { name, since: +SPANS[name]![1](now), until: null }
}

export function Costs() {
  const now = new Date()
  const query = params.value.toString()
  const { name, since, until } = useMemo(() => spanOf(now), [query, now.toDateString()])
  const asked = params.value.get('by')
  const by: By = BY.find((each) => each === asked) ?? 'model'
  const isHours = (until ?? +now) - since <= 2 * DAY
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const span = new URLSearchParams({
    since: new Date(since).toISOString(),
    ...(until !== null && { until: new Date(until).toISOString() }),
    by,
  })
  const path = `/api/usage/history?${span}&bucket=all`
  const { data, error, reload, isFresh } = useRead<HistoryAnswer>(path, 60_000)
  const division = isHours ? 'bucket=1h' : `bucket=1d&zone=${encodeURIComponent(zone)}`
  const course = useRead<HistoryAnswer>(`/api/usage/history?${span}&${division}`, 60_000)
  const keys = useRead<Keys>('/api/keys', 60_000)
  const rows = useMemo(() => (data ? amountsOf(data, by) : []), [data])
  const chart = useMemo(
    () => (course.data ? chartOf(course.data, rows.slice(0, MOST + 1), isHours) : null),
    [course.data, rows],
  )
  const budgets = keys.data?.data.filter(({ budgets }) => budgets.length > 0) ?? []
  const totals = data?.totals
  return (
    <>
      <Choices path={path} span={name} by={by} />
      <ReadTrouble error={error} retry={reload} />
      {totals && (
        <>
          <p class="note">
            {format.time(data.window.since, +now, false)} to{' '}
            {until === null ? 'now' : format.time(data.window.until, +now, false)}, {zone}
          </p>
          <Totals totals={totals} />
        </>
      )}
      {totals?.calls === 0 && isFresh && (
        <Empty title="No call was made in this period">
          <FirstCall />
        </Empty>
      )}
      <div class="columns">
        {rows.length > 0 && (
          <section class="panel">
            <h2>
              By {by}{' '}
              {rows.length > MOST_ROWS && (
                <small>
                  the {MOST_ROWS} most expensive of {format.count(rows.length)}
                </small>
              )}
            </h2>
            <Amounts rows={rows.slice(0, MOST_ROWS)} />
          </section>
        )}
        {budgets.length > 0 && <Budgets keys={budgets} />}
      </div>
      {chart && totals !== undefined && totals.calls > 0 && (
        <section class="panel">
          <h2>{isHours ? 'Per hour' : 'Per day'}</h2>
          <Chart label="Cost over time" {...chart} show={format.usd} height={200} />
        </section>
      )}
    </>
  )
}

/** Shows the title, and links to other times and groupings. */
function Choices({ path, span, by }: { path: string; span: string | null; by: By }) {
  return (
    <>
      <header class="view-head">
        <h1>Costs</h1>
        <JsonLink path={path} name="costs" />
        <span class="spring" />
        <nav class="choices" aria-label="Time">
          {Object.entries(SPANS).map(([each, [words]]) => (
            <a
              key={each}
              href={hrefWith({ window: each === 'today' ? null : each, from: null, to: null })}
              aria-current={each === span}
            >
              {words}
            </a>
          ))}
        </nav>
        <Dates />
      </header>
      <nav class="choices" aria-label="By whom">
        <span>by</span>
        {BY.map((each) => (
          <a key={each} href={hrefWith({ by: each === 'model' ? null : each })} aria-current={each === by}>
            {each}
          </a>
        ))}
      </nav>
    </>
  )
}

/** Lets the reader choose dates, both inclusive. */
function Dates() {
  const field = (name: 'from' | 'to', label: string) => (
    <label class="inline">
      {label}{' '}
      <input
        type="date"
        value={params.value.get(name) ?? ''}
        onChange={(event) => change({ [name]: event.currentTarget.value, window: null })}
      />
    </label>
  )
  return (
    <>
      {field('from', 'from')}
      {field('to', 'to')}
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

/** Shows the keys with a budget, and their spending so far and at this pace. */
function Budgets({ keys }: { keys: Keys['data'] }) {
  return (
    <section class="panel">
      <h2>Budgets</h2>
      <ul class="amounts budgets">
        {keys.flatMap(({ name, budgets }) =>
          budgets.map((budget) => <Budget key={`${name} ${budget.per}`} name={name} budget={budget} />),
        )}
      </ul>
      <p class="note">
        At this pace: spent so far, and the average since the first call of the period until its end.
      </p>
    </section>
  )
}

function Budget({ name, budget }: { name: string | null; budget: Keys['data'][number]['budgets'][number] }) {
  const { usd, per, projected_usd, resets_at } = budget
  const part = Math.min(1, (budget.spent_usd ?? 0) / usd)
  const left = usd - (budget.spent_usd ?? 0) - (budget.reserved_usd ?? 0)
  return (
    <li>
      <span class="name">{name}</span>
      <span class="number">
        {resets_at !== null && `${format.spent(budget)} of `}
        {format.usd(usd)} a {per}
      </span>
      {resets_at !== null && (
        <>
          <span class="note">
            {format.usd(Math.max(0, left))} left until <Time iso={resets_at} />
          </span>
          {projected_usd !== null && (
            <span class={projected_usd > usd ? 'note bad' : 'note'}>
              {format.usd(projected_usd)} at this pace
            </span>
          )}
          <span class={`meter${part >= 0.8 ? ' near' : ''}`} aria-hidden="true">
            <span style={{ width: `${100 * part}%` }} />
          </span>
        </>
      )}
    </li>
  )
}

const nameOf = (by: string | null | undefined): string => by ?? 'none'

/** Returns the names with their cost, most expensive first. */
const amountsOf = ({ buckets }: HistoryAnswer, by: By): AmountRow[] =>
  buckets
    .map(({ by: name = null, ...cost }) => ({
      name: nameOf(name),
      ...(name !== null && hrefOf(by, name)),
      calls: cost.calls,
      cost,
    }))
    .sort((a, b) => (b.cost.cost_usd ?? 0) - (a.cost.cost_usd ?? 0))

function hrefOf(by: By, name: string): { href?: string } {
  if (by === 'session') return { href: sessionHref(name) }
  const filter = FILTER[by]
  return filter === undefined ? {} : { href: callsHref({ [filter]: name }) }
}

/**
 * Draws the most expensive names in separate colours and the other names together, with a bar for each hour or day of
 * the span.
 */
function chartOf({ window, buckets }: HistoryAnswer, rows: readonly AmountRow[], isHours: boolean) {
  const until = Date.parse(window.until)
  const times: number[] = []
  for (const at = startOf(window.since, isHours); +at < until; step(at, isHours)) times.push(+at)
  const names = new Set(buckets.map(({ by }) => nameOf(by)))
  const shown = rows.map(({ name }) => name).slice(0, names.size > MOST + 1 ? MOST : MOST + 1)
  const seriesOf = (name: string, isIn: (by: string) => boolean) => {
    const sums = new Map<number, number>()
    for (const { start, by, cost_usd } of buckets) {
      const at = +startOf(start, isHours)
      if (isIn(nameOf(by))) sums.set(at, (sums.get(at) ?? 0) + (cost_usd ?? 0))
    }
    return { name, values: times.map((ms) => sums.get(ms) ?? 0) }
  }
  return {
    times,
    series: [
      ...shown.map((name) => seriesOf(name, (by) => by === name)),
      ...(shown.length < names.size ? [seriesOf('others', (by) => !shown.includes(by))] : []),
    ],
  }
}

/** Returns the start of the hour or of the reader's day. */
function startOf(iso: string, isHours: boolean): Date {
  const at = new Date(iso)
  if (isHours) return new Date(Math.floor(+at / HOUR) * HOUR)
  return new Date(at.getFullYear(), at.getMonth(), at.getDate())
}

/** Advances a time by an hour, or to the reader's next day. */
const step = (at: Date, isHours: boolean): number =>
  isHours ? at.setTime(+at + HOUR) : at.setDate(at.getDate() + 1)
