// Current activity: the last hour in five figures, open and recently ended calls, and targets in cooldown.
// Updated by live events, and read again every minute.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { CallRecord } from '../../core/record.ts'
import { isEstimate } from '../../terminal/numbers.ts'
import { type HistoryAnswer, type ListAnswer, type RoutesAnswer, useRead } from '../api.ts'
import * as format from '../format.ts'
import { hasOthers, subscribe, useLiveList } from '../live.ts'
import { CallTable } from '../parts/call-table.tsx'
import { Chart } from '../parts/chart.tsx'
import { chosen, Time } from '../parts/columns.tsx'
import { Empty, FirstCall, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { callsHref } from '../place.ts'

const HOUR = 3_600_000
const MINUTE = 60_000
const NOW_COLUMNS = 'created_at,state,requested_model,resolved_provider,resolved_model,cost_usd,latency_ms'
const ENDED = 12

export function Now() {
  const since = useSignal(Date.now() - HOUR)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) since.value = Date.now() - HOUR
    }, MINUTE)
    return () => clearInterval(timer)
  }, [])
  const path = `/api/usage/history?since=${new Date(since.value).toISOString()}&bucket=1m`
  const { data: history, error, reload } = useRead<HistoryAnswer>(path, hasOthers.value ? 10_000 : undefined)
  const heard = useHeard(history)
  const midnight = new Date(new Date().setHours(0, 0, 0, 0)).toISOString()
  const today = useRead<HistoryAnswer>(`/api/usage/history?since=${midnight}&bucket=all`, MINUTE)
  const routes = useRead<RoutesAnswer>('/api/routes?window=24h', 10_000)
  const open = useCalls(
    '/api/usage/request-logs?limit=50&state=routed',
    (record) => record.completed_at === null,
    50,
  )
  const streaming = useRead<ListAnswer>('/api/usage/request-logs?limit=50&state=streaming')
  const ended = useCalls(
    `/api/usage/request-logs?limit=${ENDED}`,
    (record) => record.completed_at !== null,
    ENDED,
  )
  const underWay = [...open.rows, ...(streaming.data?.data ?? [])]
    .filter(({ id }, index, all) => all.findIndex((each) => each.id === id) === index)
    .filter(({ id }) => !ended.ids.has(id) && !heard.over.has(id))
    .sort((a, b) => (a.id < b.id ? 1 : -1))
  const columns = chosen(NOW_COLUMNS)
  const chart = useMemo(() => minutes(history, since.value), [history])
  const isUnread = !ended.isFresh && ended.rows.length === 0 && underWay.length === 0
  const isNothing = !isUnread && heard.calls === 0 && ended.rows.length === 0 && underWay.length === 0
  return (
    <>
      <header class="view-head">
        <h1>Now</h1>
        <JsonLink path={path} name="now" />
        <span class="note">the last hour</span>
      </header>
      <ReadTrouble error={error} retry={reload} />
      <LastHour heard={heard} from={since.value} midnight={midnight} today={today.data?.totals} />
      {isNothing ? (
        <Empty title="No call was made in the last hour">
          <FirstCall />
        </Empty>
      ) : isUnread ? null : (
        <>
          <section class="panel">
            <h2>Calls a minute</h2>
            <Chart label="Calls a minute in the last hour" {...chart} show={format.compact} height={120} />
          </section>
          <Cooling routes={routes.data} />
          <section>
            <h2>
              Under way <small>{underWay.length > 0 && format.count(underWay.length)}</small>
            </h2>
            {underWay.length > 0 ? (
              <CallTable rows={underWay} columns={columns} label="Calls that are under way" />
            ) : (
              <p class="note calm">No call is open.</p>
            )}
          </section>
          <section>
            <h2>
              Just ended{' '}
              <a class="aside" href="/calls">
                all calls
              </a>
            </h2>
            <CallTable rows={ended.rows} columns={columns} label="Calls that have just ended" />
          </section>
        </>
      )}
    </>
  )
}

function LastHour({
  heard,
  from,
  midnight,
  today,
}: {
  heard: ReturnType<typeof useHeard>
  from: number
  midnight: string
  today: HistoryAnswer['totals'] | undefined
}) {
  const since = new Date(from).toISOString()
  return (
    <dl class="figures">
      <Figure name="Calls" value={format.count(heard.calls)} />
      <Figure
        name="Tokens"
        value={format.compact(heard.input + heard.output)}
        more={`${format.compact(heard.input)} in, ${format.compact(heard.output)} out`}
      />
      <Figure
        name="Cost"
        value={format.cost({
          cost_usd: heard.cost,
          cost_is_minimum: heard.withoutCost > 0,
          cost_is_estimated: heard.estimated > 0,
        })}
        more={
          heard.saved > 0
            ? `cache saved ${format.usd(heard.saved)}`
            : format.withoutCost({ calls_without_cost: heard.withoutCost })
        }
      />
      <Figure
        name="Cost today"
        value={today ? format.cost(today) : '–'}
        more={
          <>
            by <a href="/costs">model</a>, <a href="/costs?by=session">session</a>
          </>
        }
        href="/costs"
      />
      <Figure
        name="Errors"
        value={format.count(heard.failed)}
        isBad={heard.failed > 0}
        more={
          <>
            {[
              heard.failed > 0 ? `${format.percent(heard.failed / heard.calls)}, ` : '',
              heard.aborted > 0 ? `${format.count(heard.aborted)} left by the client, ` : '',
            ]}
            {today && (
              <a href={callsHref({ status: 'error', since: midnight })}>{format.count(today.failed)} today</a>
            )}
          </>
        }
        href={callsHref({ status: 'error', since })}
      />
      <Figure
        name="Fallbacks"
        value={format.count(heard.fellBack)}
        more={heard.calls > 0 ? format.percent(heard.fellBack / heard.calls) : ''}
        href={callsHref({ fallbacks: 'some', since })}
      />
    </dl>
  )
}

/** Keeps a list current. The list is read once, and again after a gap. */
function useCalls(path: string, matches: (record: CallRecord) => boolean, most: number) {
  const { data, isFresh, reload } = useRead<ListAnswer>(path)
  const { rows } = useLiveList({
    read: data?.data ?? null,
    isFresh,
    most,
    takesNew: true,
    matches,
    isHeld: () => document.querySelector('tbody:is(:hover, :has(:focus-visible))') !== null,
    missed: reload,
  })
  return { rows, isFresh, ids: new Set(rows.map(({ id }) => id)) }
}

/** Returns the sums of the hour, including calls that have ended since the sums were read. */
function useHeard(history: HistoryAnswer | null) {
  const none = {
    ...{ calls: 0, failed: 0, aborted: 0, fellBack: 0 },
    ...{ input: 0, output: 0, cost: 0, saved: 0, withoutCost: 0, estimated: 0 },
  }
  const more = useSignal(none)
  const over = useSignal<ReadonlySet<string>>(new Set())
  useEffect(() => {
    more.value = none
    over.value = new Set()
  }, [history])
  useEffect(() => {
    let added = none
    let ids: string[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = subscribe({
      call(record) {
        if (record.completed_at === null) {
          if (record.state === 'routed' && record.attempts < 2) added = { ...added, calls: added.calls + 1 }
        } else {
          const { tokens, cost_usd, cost_missing, saved_usd, state, fallbacks } = record
          added = {
            calls: added.calls,
            failed: added.failed + (state === 'completed' || state === 'aborted' ? 0 : 1),
            aborted: added.aborted + (state === 'aborted' ? 1 : 0),
            fellBack: added.fellBack + (fallbacks > 0 ? 1 : 0),
            input: added.input + (tokens.input ?? 0),
            output: added.output + (tokens.output ?? 0),
            cost: added.cost + (cost_usd ?? 0),
            saved: added.saved + (saved_usd ?? 0),
            withoutCost: added.withoutCost + (cost_missing?.length ? 1 : 0),
            estimated: added.estimated + (isEstimate(record) ? 1 : 0),
          }
          ids.push(record.id)
        }
        timer ??= setTimeout(() => {
          timer = undefined
          const before = more.value
          more.value = Object.fromEntries(
            Object.entries(before).map(([name, value]) => [name, value + added[name as keyof typeof added]]),
          ) as typeof none
          over.value = new Set([...over.value, ...ids].slice(-1_000))
          added = none
          ids = []
        }, 500)
      },
      missed: () => {},
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [])
  const totals = history?.totals
  return {
    over: over.value,
    calls: (totals?.calls ?? 0) + more.value.calls,
    failed: (totals?.failed ?? 0) + more.value.failed,
    aborted: (totals?.aborted ?? 0) + more.value.aborted,
    fellBack: (totals?.fell_back ?? 0) + more.value.fellBack,
    input: (totals?.input_tokens ?? 0) + more.value.input,
    output: (totals?.output_tokens ?? 0) + more.value.output,
    cost:
      totals?.cost_usd == null && more.value.cost === 0 ? null : (totals?.cost_usd ?? 0) + more.value.cost,
    saved: (totals?.saved_usd ?? 0) + more.value.saved,
    withoutCost: (totals?.calls_without_cost ?? 0) + more.value.withoutCost,
    estimated: (totals?.cost_is_estimated ? 1 : 0) + more.value.estimated,
  }
}

/** Returns a bar for each minute, including minutes without a call. */
function minutes(history: HistoryAnswer | null, since: number) {
  const first = Math.floor(since / MINUTE) * MINUTE
  const times = Array.from({ length: 61 }, (_, index) => first + index * MINUTE)
  const by = new Map(history?.buckets.map((bucket) => [Date.parse(bucket.start), bucket]))
  const of = (ms: number) => by.get(ms)
  return {
    times,
    series: [
      {
        name: 'completed',
        values: times.map((ms) => (of(ms)?.calls ?? 0) - (of(ms)?.failed ?? 0) - (of(ms)?.aborted ?? 0)),
      },
      { name: 'failed', values: times.map((ms) => of(ms)?.failed ?? 0) },
      { name: 'left by the client', values: times.map((ms) => of(ms)?.aborted ?? 0) },
    ],
  }
}

export function Figure({
  name,
  value,
  more = '',
  href,
  isBad = false,
}: {
  name: string
  value: string
  more?: ComponentChildren
  href?: string
  isBad?: boolean
}) {
  return (
    <div class="figure card">
      <dt>{href ? <a href={href}>{name}</a> : name}</dt>
      <dd class={isBad ? 'bad' : undefined}>{value}</dd>
      <dd class="note">{more}</dd>
    </div>
  )
}

function Cooling({ routes }: { routes: RoutesAnswer | null }) {
  const cold = (routes?.routes ?? [])
    .flatMap(({ targets }) => targets)
    .filter(({ state }) => state === 'cooling')
  const byName = new Map(cold.map((target) => [`${target.provider}/${target.model}`, target]))
  if (byName.size === 0) return null
  return (
    <section class="panel cooling">
      <h2>Passed over</h2>
      <ul class="plain-list">
        {[...byName].map(([name, { cooling_until }]) => (
          <li key={name}>
            <span class="state cooling">{name}</span> failed; a call tries it again after{' '}
            {cooling_until !== null && <Time iso={cooling_until} />}
          </li>
        ))}
      </ul>
    </section>
  )
}
