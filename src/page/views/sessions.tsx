// The sessions: conversations as named by clients, with their usage. A single session shows its agents and
// background calls as a tree, its cost over time, and its calls.

import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { CallRecord } from '../../core/record.ts'
import { lasted } from '../../core/steps.ts'
import { fetchRead, type ListAnswer, type SessionAnswer, type SessionsAnswer, useRead } from '../api.ts'
import * as format from '../format.ts'
import { CallTable } from '../parts/call-table.tsx'
import { Chart } from '../parts/chart.tsx'
import { chosen, Time } from '../parts/columns.tsx'
import { Empty, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { type PlainColumn, Table } from '../parts/table.tsx'
import { callsHref, change, hrefWith, params, rest, sessionHref } from '../place.ts'
import { Figure } from './now.tsx'
import { Steps } from './steps.tsx'

export function SessionsView() {
  const order = params.value.get('order') === 'cost' ? 'cost' : 'newest'
  const cursor = order === 'newest' ? params.value.get('cursor') : null
  const path = `/api/sessions?${new URLSearchParams({ limit: '50', order, ...(cursor && { cursor }) })}`
  const { data, error, reload, isFresh } = useRead<SessionsAnswer>(path, 15_000)
  return (
    <>
      <header class="view-head">
        <h1>Sessions</h1>
        <JsonLink path={path} name="sessions" />
        <span class="spring" />
        <select
          aria-label="Order"
          value={order}
          onChange={(event) =>
            change({ order: event.currentTarget.value === 'cost' ? 'cost' : null, cursor: null })
          }
        >
          <option value="newest">newest first</option>
          <option value="cost">most expensive first</option>
        </select>
      </header>
      <ReadTrouble error={error} retry={reload} />
      {data?.data.length === 0 && isFresh && (
        <Empty title="No call on record named a session">
          <p>
            A client names it in <code>X-Gateway-Session-Id</code>; coding agents do so on their own.
          </p>
        </Empty>
      )}
      {data && data.data.length > 0 && (
        <Table rows={data.data} columns={COLUMNS} keyOf={({ session_id }) => session_id} />
      )}
      <nav class="pages" aria-label="Pages">
        {cursor !== null && <a href={hrefWith({ cursor: null })}>Newest</a>}
        {data?.next_cursor && (
          <a href={hrefWith({ cursor: data.next_cursor })} rel="next">
            Older
          </a>
        )}
      </nav>
    </>
  )
}

type SessionRow = SessionsAnswer['data'][number]
const COLUMNS: readonly PlainColumn<SessionRow>[] = [
  {
    title: 'session',
    style: 'long',
    cell: ({ session_id: id }) => (
      <a class="open-call" href={sessionHref(id)} title={id}>
        {id}
      </a>
    ),
  },
  { title: 'client', cell: ({ last_client }) => last_client },
  { title: 'began', style: 'minor', cell: ({ first_seen }) => <Time iso={first_seen} /> },
  { title: 'last call', cell: ({ last_seen }) => <Time iso={last_seen} /> },
  {
    title: 'went to',
    style: 'long',
    cell: ({ last_provider, last_model }) => `${last_provider} / ${last_model}`,
  },
  { title: 'calls', isNumber: true, cell: ({ calls }) => format.count(calls) },
  {
    title: 'failed',
    isNumber: true,
    cell: ({ failed }) => format.count(failed),
    isBad: ({ failed }) => failed > 0,
  },
  { title: 'in', isNumber: true, style: 'minor', cell: ({ tokens }) => format.compact(tokens.input) },
  { title: 'out', isNumber: true, style: 'minor', cell: ({ tokens }) => format.compact(tokens.output) },
  { title: 'cost', isNumber: true, cell: format.cost },
]

/** Maximum calls of a session that are drawn; the sums include all calls. */
const MOST = 1_000

export function SessionView() {
  const id = rest('sessions')
  const path = `/api/sessions/${encodeURIComponent(id)}`
  const { data, error, reload } = useRead<SessionAnswer>(path, 10_000)
  const calls = useCallsOf(id, data?.calls ?? 0)
  return (
    <>
      <header class="view-head">
        <p class="crumb">
          <a href="/sessions">Sessions</a> /
        </p>
        <h1 class="long">{id}</h1>
        <JsonLink path={path} name="session" />
      </header>
      <ReadTrouble error={error} retry={reload} />
      {data && (
        <>
          <dl class="figures">
            <Figure name="Calls" value={format.count(data.calls)} href={callsHref({ session_id: id })} />
            <Figure
              name="Failed"
              value={format.count(data.failed)}
              isBad={data.failed > 0}
              more={data.aborted > 0 ? `${format.count(data.aborted)} left by the client` : ''}
            />
            <Figure
              name="Tokens"
              value={format.compact((data.tokens.input ?? 0) + (data.tokens.output ?? 0))}
              more={share(data)}
            />
            <Figure name="Cost" value={format.cost(data)} more={format.withoutCost(data)} />
            <Figure
              name="Lasted"
              value={format.ms(lasted(data.first_seen, data.last_seen, calls))}
              more={`since ${format.time(data.first_seen)}`}
            />
          </dl>
          <div class="columns">
            <section class="panel">
              <h2>Who called</h2>
              <Tree session={data} id={id} />
            </section>
            <section class="panel">
              <h2>Models</h2>
              <Amounts
                rows={byCost(data.by_model).map((each) => ({
                  name: `${each.provider} / ${each.model}${each.answered ? ` → ${each.answered}` : ''}`,
                  href: callsHref({
                    ...{ session_id: id, provider: each.provider, model: each.model },
                    ...(each.answered && { answered: each.answered }),
                  }),
                  calls: each.calls,
                  cost: each,
                }))}
              />
            </section>
          </div>
          <section class="panel">
            <h2>
              Cost over time {data.calls > MOST && <small>of the last {format.count(MOST)} calls</small>}
            </h2>
            <CostOverTime calls={calls} />
          </section>
          <Steps id={id} calls={calls} />
          <section>
            <h2>
              Calls{' '}
              <a class="aside" href={callsHref({ session_id: id })}>
                all
              </a>
            </h2>
            <CallTable
              rows={calls.slice(0, 50)}
              columns={chosen(
                'created_at,state,purpose,agent_id,resolved_provider,resolved_model,tokens.input,tokens.output,cost_usd,latency_ms',
              )}
              label="Calls of the session, newest first"
            />
          </section>
        </>
      )}
    </>
  )
}

const byCost = <Row extends { readonly cost_usd: number | null }>(rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => (b.cost_usd ?? 0) - (a.cost_usd ?? 0))

const share = ({ tokens }: SessionAnswer): string =>
  tokens.cached_input && tokens.input
    ? `${format.percent(tokens.cached_input / tokens.input)} of the input cached`
    : ''

/** Shows the session with the purposes of its own calls, and below it the agents with the purposes of theirs. */
function Tree({ session, id }: { session: SessionAnswer; id: string }) {
  const agents = Map.groupBy(session.parts, ({ agent_id }) => agent_id)
  const own = agents.get(null) ?? []
  const others = [...agents].flatMap(([agent, parts]) => (agent === null ? [] : [{ agent, parts }]))
  const leaf = (part: SessionAnswer['parts'][number], filter: Record<string, string>) => (
    <li key={part.purpose ?? ''}>
      <a href={callsHref({ session_id: id, ...filter, ...(part.purpose && { purpose: part.purpose }) })}>
        {part.purpose ?? 'calls'}
      </a>
      <Amount calls={part.calls} cost={part} />
    </li>
  )
  return (
    <ul class="tree">
      <li>
        <b>the conversation</b>
        <ul>{own.map((part) => leaf(part, { agent_id: 'none' }))}</ul>
      </li>
      {others.map(({ agent, parts }) => (
        <li key={agent}>
          <b>{agent}</b> <small>from {format.time(parts[0]!.first_seen)}</small>
          <ul>{parts.map((part) => leaf(part, { agent_id: agent }))}</ul>
        </li>
      ))}
    </ul>
  )
}

function Amount({ calls, cost }: Pick<AmountRow, 'calls' | 'cost'>) {
  return (
    <span class="note">
      {format.count(calls)} {calls === 1 ? 'call' : 'calls'}, {format.cost(cost)}
    </span>
  )
}

export interface AmountRow {
  readonly name: string
  readonly href?: string
  readonly calls: number
  readonly cost: Parameters<typeof format.cost>[0]
}

/** Shows names, with their share of the cost as a bar. */
export function Amounts({ rows }: { rows: readonly AmountRow[] }) {
  const most = Math.max(...rows.map(({ cost }) => cost.cost_usd ?? 0), 1e-12)
  return (
    <ul class="amounts">
      {rows.map(({ name, href, calls, cost }) => (
        <li key={name}>
          <span class="name">{href ? <a href={href}>{name}</a> : name}</span>
          <span class="note">
            {format.count(calls)} {calls === 1 ? 'call' : 'calls'}
          </span>
          <span class="number">{format.cost(cost)}</span>
          <span class="meter" aria-hidden="true">
            <span style={{ width: `${(100 * (cost.cost_usd ?? 0)) / most}%` }} />
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Reads calls, newest first, page by page. */
function useCallsOf(id: string, count: number): readonly CallRecord[] {
  const calls = useSignal<readonly CallRecord[]>([])
  useEffect(() => {
    const stop = new AbortController()
    void (async () => {
      const found: CallRecord[] = []
      for (let cursor: string | null = ''; cursor !== null && found.length < MOST; ) {
        const query = new URLSearchParams({ session_id: id, limit: '200', ...(cursor && { cursor }) })
        const page: ListAnswer = await fetchRead<ListAnswer>(`/api/usage/request-logs?${query}`, stop.signal)
        found.push(...page.data)
        cursor = page.next_cursor
      }
      calls.value = found
    })().catch(() => {}) // the request for the session itself reports the error
    return () => stop.abort()
  }, [id, count])
  return calls.value
}

function CostOverTime({ calls }: { calls: readonly CallRecord[] }) {
  const { times, series } = useMemo(() => {
    const priced = calls.filter(({ cost_usd }) => cost_usd !== null).toReversed()
    let sum = 0
    const values = priced.map(({ cost_usd }) => (sum += cost_usd!))
    return {
      times: priced.map(({ created_at }) => Date.parse(created_at)),
      series: [{ name: 'cost', values }],
    }
  }, [calls])
  if (times.length < 2) return <p class="note calm">There is nothing to draw yet.</p>
  return (
    <Chart
      label="What the session has cost"
      times={times}
      series={series}
      show={format.usd}
      kind="line"
      height={120}
      isSum
    />
  )
}
