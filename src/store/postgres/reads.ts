// Reads calls, lists of them, sessions and sums over spans of time from the shared log, for all instances. Whole hours
// come from the sums; open calls and the partial hours at both ends come from the rows. Cannot write.

import { timeOfId } from '../../core/call.ts'
import { roundUsd } from '../../core/money.ts'
import { CALL_FIELDS, type CallDetail, type CallRecord, type Field } from '../../core/record.ts'
import type { CallFilter, Maker, ObjectMaker, Reads, Span } from '../reads.ts'
import {
  type AgentOf,
  type Begun,
  bucketsOf,
  byAgent,
  byModel,
  type GroupBy,
  type GroupKey,
  groupLatencies,
  groupSums,
  historyKeys,
  historyOf,
  type ModelOf,
  needsRows,
  type SpanGroup,
  sessionAnswer,
  sharesOf,
  TARGET_KEYS,
  targetsOf,
} from '../span-answers.ts'
import { conditions, isAside, type Row, readerOf } from '../sql/columns.ts'
import { merge, SUM_COLUMNS, type Sum, total } from '../sql/usage-sum.ts'
import type { Link } from './link.ts'
import { lowestId, SHARED_LABELS } from './schema.ts'

/** Upper bound that sorts after every id made by a gateway. */
const AFTER_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const HOUR = 3_600_000
const OWN = '(?::text IS NULL OR key_name = ?)'

/** Calls of a session that one model answered, and the last of these calls. */
type Part = ModelOf &
  AgentOf &
  Record<string, unknown> & {
    readonly session_id: string
    readonly first_id: string
    readonly last_id: string
    readonly requested_model: string
    readonly client: string | null
  }

export function openSessionReads(link: Link): Pick<Reads, 'sessions' | 'dearest' | 'session'> {
  const partsOf = (ids: readonly string[], key: string | null) =>
    link.query<Part>(
      `SELECT session_id, resolved_provider AS provider, resolved_model AS model, agent_id, purpose, ${NAMED_SUMS},
          min(id::text) AS first_id, max(id::text) AS last_id,
          (array_agg(requested_model ORDER BY id DESC))[1] AS requested_model,
          (array_agg(client ORDER BY id DESC))[1] AS client
         FROM waybill.calls WHERE session_id = ANY(?) AND ${OWN} GROUP BY 1, 2, 3, 4, 5`,
      [ids, key, key],
    )
  const read = ({ session_id, first_id }: Begun, parts: readonly Part[]) => {
    const last = parts.reduce((a, b) => (a.last_id > b.last_id ? a : b))
    const call = {
      id: last.last_id,
      requested_model: last.requested_model,
      resolved_provider: last.provider,
      resolved_model: last.model,
      client: last.client,
    }
    return sessionAnswer(session_id, first_id, call, total(parts.map((part) => ({ sum: sumIn(part) }))))
  }

  return {
    async sessions({ limit, cursor = AFTER_ALL }, keyName) {
      const key = keyName ?? null
      // A session shared by several keys or instances has a row for each; the earliest row counts.
      const found = await link.query<Begun>(
        `SELECT session_id, first_id FROM waybill.sessions AS s WHERE first_id < ? AND ${OWN} AND NOT EXISTS (
             SELECT 1 FROM waybill.sessions AS o WHERE o.session_id = s.session_id AND o.first_id < s.first_id AND ${OWN})
           AND EXISTS (SELECT 1 FROM waybill.calls AS c WHERE c.session_id = s.session_id)
         ORDER BY first_id DESC LIMIT ?`,
        [cursor, key, key, key, key, limit + 1],
      )
      const shown = found.slice(0, limit)
      const ids = shown.map(({ session_id }) => session_id)
      const parts = Map.groupBy(await partsOf(ids, key), ({ session_id }) => session_id)
      const has_more = found.length > limit
      return {
        data: shown.flatMap((begun) => {
          const own = parts.get(begun.session_id)
          return own ? [read(begun, own)] : []
        }),
        has_more,
        next_cursor: has_more ? shown.at(-1)!.first_id : null,
      }
    },
    async dearest(limit, keyName) {
      const key = keyName ?? null
      const found = await link.query<Begun>(
        `SELECT session_id, min(first_id::text) AS first_id FROM waybill.sessions WHERE cost_usd > 0 AND ${OWN}
           GROUP BY session_id ORDER BY sum(cost_usd) DESC LIMIT ?`,
        [key, key, limit],
      )
      const ids = found.map(({ session_id }) => session_id)
      const parts = Map.groupBy(await partsOf(ids, key), ({ session_id }) => session_id)
      return found.flatMap((begun) => {
        const own = parts.get(begun.session_id)
        return own ? [read(begun, own)] : []
      })
    },
    async session(id, keyName) {
      const key = keyName ?? null
      const parts = await partsOf([id], key)
      if (parts.length === 0) return null
      const [first] = await link.query<{ first_id: string }>(
        `SELECT first_id FROM waybill.sessions WHERE session_id = ? AND ${OWN} ORDER BY first_id LIMIT 1`,
        [id, key, key],
      )
      const first_id = first?.first_id ?? parts.map(({ first_id }) => first_id).sort()[0]!
      const summed = parts.map((part) => ({ ...part, sum: sumIn(part) }))
      return {
        ...read({ session_id: id, first_id }, parts),
        by_model: byModel(summed),
        parts: byAgent(summed),
      }
    },
  }
}

const IS_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const toRecord = readerOf<CallRecord>(CALL_FIELDS)

/** Filter parameters that the sums can distinguish, with their labels. */
const SERIES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<Field>(CALL_FIELDS).flatMap(([column, { filter }]) =>
    filter && (SHARED_LABELS as readonly string[]).includes(column) ? [[filter, column]] : [],
  ),
)

export function openCallReads(
  link: Link,
): Pick<Reads, 'list' | 'listText' | 'find' | 'makerOf' | 'objectMakers'> {
  const list: Reads['list'] = async (filter, { limit, cursor = AFTER_ALL }) => {
    const { where, values } = conditions(filter)
    const { since = 0, until } = filter
    const from = lowestId(since)
    const to = until !== undefined && lowestId(until) < cursor ? lowestId(until) : cursor
    const page = (low: string, high: string, most: number) =>
      link.query<Row>(
        `SELECT * FROM waybill.calls WHERE ${[...where, 'id >= ?', 'id < ?'].join(' AND ')} ORDER BY id DESC LIMIT ?`,
        [...values, low, high, most],
      )
    const rows: Row[] = []
    for (const [begin, end] of (await hoursOf(link, filter, from, to)) ?? [[from, to]]) {
      rows.push(...(await page(begin > from ? begin : from, end < to ? end : to, limit + 1 - rows.length)))
      if (rows.length > limit) break
    }
    const data = rows.slice(0, limit).map(toRecord)
    const has_more = rows.length > limit
    return { data, has_more, next_cursor: has_more ? data.at(-1)!.id : null }
  }

  return {
    list,
    async listText(filter, page, fields) {
      const { data, ...rest } = await list(filter, page)
      const shown = fields
        ? data.map((record) => Object.fromEntries(fields.map((field) => [field, record[field]])))
        : data
      return JSON.stringify({ object: 'list', data: shown, ...rest })
    },
    async makerOf(responseId, keyName) {
      const [found] = await link.query<Maker>(
        `SELECT resolved_provider AS provider, resolved_model AS model FROM waybill.calls
           WHERE response_id = ? AND key_name IS NOT DISTINCT FROM ? ORDER BY id DESC LIMIT 1`,
        [responseId, keyName],
      )
      return found ?? null
    },
    async objectMakers(names) {
      if (names.length === 0) return []
      return link.query<ObjectMaker>(
        `SELECT id, call_id::text AS call_id, key_name, provider, model FROM waybill.object_owners
           WHERE id = ANY (?::text[])`,
        [names],
      )
    },
    async find(id, keyName) {
      if (!IS_ID.test(id)) return null
      const [row] = await link.query<Row & { attempt_log: string }>(
        'SELECT * FROM waybill.calls WHERE id = ?',
        [id],
      )
      if (!row || (keyName !== undefined && row.key_name !== keyName)) return null
      const attempts = JSON.parse(row.attempt_log) as CallDetail['attempt_log']
      const attempt_log = attempts.map((each) => ({
        ...each,
        refusal: each.refusal ?? null, // absent in a row of an older release
        cost_usd: each.cost_usd && roundUsd(each.cost_usd), // in the form written by an older release
      }))
      return { ...toRecord(row), attempt_log, artifact: { available: false, bytes: 0 } }
    },
  }
}

/** Returns the ranges of ids that may contain a matching row, newest first; null if the sums cannot tell. */
async function hoursOf(
  link: Link,
  filter: CallFilter,
  from: string,
  to: string,
): Promise<[string, string][] | null> {
  const { session_id, agent_id, client, error_code, state, status, fallbacks } = filter
  if (session_id !== undefined || error_code !== undefined || client !== undefined || isAside(filter))
    return null
  if (agent_id !== undefined && agent_id !== 'none') return null
  if (state === 'routed' || state === 'streaming') return null // open calls have an index
  const labels = Object.entries(SERIES).filter(([field]) => filter[field as keyof CallFilter] !== undefined)
  const failed = status === 'error' || (state !== undefined && state !== 'completed')
  if (labels.length === 0 && !failed && fallbacks === undefined) return null
  const found = await link.query<{ hour: number }>(
    `SELECT hour FROM (
       SELECT hour FROM waybill.usage_hours WHERE hour >= ? AND hour <= ?
         ${failed ? 'AND failed > 0' : ''} ${fallbacks === undefined ? '' : 'AND fell_back > 0'} ${labels.map(([, column]) => `AND ${column} = ?`).join(' ')}
       UNION SELECT created_at / ${HOUR} FROM waybill.calls WHERE completed_at IS NULL AND id >= ? AND id < ?
     ) AS hours ORDER BY hour DESC`,
    [
      Math.floor(timeOfId(from) / HOUR),
      Math.min(Math.floor(timeOfId(to) / HOUR), 2 ** 40),
      ...labels.map(([field]) => filter[field as keyof CallFilter]),
      from,
      to,
    ],
  )
  return found.map(({ hour }) => [lowestId(hour * HOUR), lowestId((hour + 1) * HOUR)])
}

/** Timeout, ms. A month of a busy fleet has some hundred thousand sums. */
const READ_MS = 20_000

type GroupRow = Readonly<Record<string, GroupKey>>

export function openSpanReads(link: Link): Pick<Reads, 'history' | 'targets' | 'routing'> {
  async function groups(
    span: Span,
    keyName: string | undefined,
    by: readonly GroupBy[],
    bucketMs = HOUR,
  ): Promise<SpanGroup[]> {
    const key = keyName ?? null
    const { rows, hours } = wholeHoursOf(span, needsRows(by) ? 0 : bucketMs)
    const { sumOf, all } = groupSums()
    const addUp = async (start: string, rest: string, values: readonly unknown[]) => {
      const columns = by.map((name) =>
        name === '@start' ? `${start} / ${bucketMs} * ${bucketMs} AS "@start"` : name,
      )
      const sql = `SELECT ${columns.join(', ')}, ${rest} AND ${OWN} GROUP BY ${by.map((_, index) => index + 1).join(', ')}`
      for (const row of await link.query<GroupRow>(sql, [...values, key, key], READ_MS))
        merge(sumOf(by.map((name) => row[name]!)), sumIn(row))
    }
    const addRows = (condition: string, [since, until]: readonly [number, number]) =>
      addUp('created_at', `${NAMED_SUMS} FROM waybill.calls WHERE ${condition} AND id >= ? AND id < ?`, [
        lowestId(since),
        lowestId(until),
      ])
    for (const part of rows) await addRows('true', part)
    if (hours === null) return all()
    await addRows('completed_at IS NULL', [hours[0] * HOUR, hours[1] * HOUR])
    const sums = SUM_COLUMNS.map((name) => `sum(${name}) AS ${name}`).join(', ')
    await addUp(`hour * ${HOUR}`, `${sums} FROM waybill.usage_hours WHERE hour >= ? AND hour < ?`, hours)
    return all()
  }

  async function latencies(span: Span, keyName: string | undefined) {
    const key = keyName ?? null
    const { rows, hours } = wholeHoursOf(span, HOUR)
    const { found, count } = groupLatencies()
    const addUp = async (sql: string, values: readonly unknown[]) => {
      const grouped = `${sql} AND ${OWN} GROUP BY 1, 2`
      const steps = await link.query<{ provider: string; step: number; calls: number }>(
        grouped,
        [...values, key, key],
        READ_MS,
      )
      for (const { provider, step, calls } of steps) count(provider, step, calls)
    }
    for (const [since, until] of rows)
      await addUp(
        `SELECT resolved_provider AS provider, ${LATENCY_STEP} AS step, count(*) AS calls FROM waybill.calls
           WHERE state = 'completed' AND latency_ms IS NOT NULL AND id >= ? AND id < ?`,
        [lowestId(since), lowestId(until)],
      )
    if (hours !== null)
      await addUp(
        'SELECT provider, step, sum(calls) AS calls FROM waybill.latency_hours WHERE hour >= ? AND hour < ?',
        hours,
      )
    return found
  }

  return {
    async history(span, division, by, keyName) {
      const buckets = bucketsOf(division, span)
      return historyOf(await groups(span, keyName, historyKeys(by), buckets.stepMs), by, buckets)
    },
    targets: async (span, keyName) => targetsOf(await groups(span, keyName, TARGET_KEYS)),
    routing: async (span, keyName) =>
      sharesOf(
        await groups(span, keyName, ['strategy', 'tier', 'resolved_provider']),
        await latencies(span, keyName),
      ),
  }
}

/**
 * Returns the numbers of the whole hours in a span, and the rest of the span. Buckets below an hour need the
 * rows.
 */
function wholeHoursOf({ since, until }: Span, bucketMs: number) {
  const [first, last] = [Math.ceil(since / HOUR), Math.floor(until / HOUR)]
  if (bucketMs < HOUR || first >= last) return { rows: [[since, until]] as const, hours: null }
  const ends = [
    [since, first * HOUR],
    [last * HOUR, until],
  ] as const
  return { rows: ends.filter(([from, to]) => from < to), hours: [first, last] as const }
}

const sqlOf = (name: string): string => {
  if (name === 'calls') return 'count(*)'
  if (name === 'failed') return `count(*) FILTER (WHERE state IN ('failed', 'aborted', 'interrupted'))`
  if (name === 'aborted') return `count(*) FILTER (WHERE state = 'aborted')`
  if (name === 'cost_partial') return `count(*) FILTER (WHERE cost_usd IS NOT NULL AND cost_missing <> '[]')`
  if (name === 'cost_estimated')
    return `count(*) FILTER (WHERE tokens_source = 'estimated' AND reported_usd IS NULL AND cost_usd > 0)`
  if (name === 'fell_back') return 'count(*) FILTER (WHERE fallbacks > 0)'
  return name.endsWith('_known')
    ? `count(${name.slice(0, -6)})`
    : `coalesce(sum(${name}), 0)::double precision`
}

export const SUMS: readonly string[] = SUM_COLUMNS.map(sqlOf)

/** For a SELECT. */
const NAMED_SUMS: string = SUM_COLUMNS.map((name) => `${sqlOf(name)} AS ${name}`).join(', ')

/** Returns the sum in a row with these columns. */
const sumIn = (row: Readonly<Record<string, unknown>>): Sum => SUM_COLUMNS.map((name) => Number(row[name]))

/** Latency step of a row, see `../span-answers.ts`. */
export const LATENCY_STEP =
  'least(greatest(ceil(2 * ln(greatest(latency_ms, 0.001) / 16) / ln(2)), 0), 31)::bigint'
