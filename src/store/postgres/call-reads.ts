// Reads single calls and lists of them from the shared log. Cannot write.
import { timeOfId } from '../../core/call.ts'
import { roundUsd } from '../../core/money.ts'
import { CALL_FIELDS, type CallDetail, type CallRecord, type Field } from '../../core/record.ts'
import type { CallFilter } from '../filters.ts'
import type { Maker, ObjectMaker, Reads } from '../reads.ts'
import { type Row, readerOf } from '../sql/columns.ts'
import { conditions, isAside } from '../sql/conditions.ts'
import type { Link } from './link.ts'
import { lowestId, SHARED_LABELS } from './schema.ts'

const HOUR = 3_600_000
/** Upper bound that sorts after every id made by a gateway. */
const AFTER_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
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
