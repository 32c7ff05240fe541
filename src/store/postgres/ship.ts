// Writes calls of one instance into the shared log with one statement. The statement is safe to repeat, even
// late or from a process that has died since. A row changes only while its call is open, and only to a later
// revision. The statement that closes a row also adds it to the sums, so the sums equal the rows. Each
// instance has its own sums, so no two instances write the same sum.

import type { Sender, Unshipped } from '../shared-log.ts'
import { SUM_COLUMNS } from '../sql/usage-sum.ts'
import { type Link, LinkError } from './link.ts'
import { LATENCY_STEP, SUMS } from './reads.ts'
import { CALL_COLUMNS, makePartitions, SERIES, SHARED_LABELS } from './schema.ts'

const NAMES = CALL_COLUMNS.map(({ name }) => name)
const HOUR = 'created_at / 3600000'

const SHIP = `
WITH given AS (
  SELECT * FROM json_to_recordset(?::json) AS t(id uuid, attempt_log json, price json,
    ${CALL_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ')})
), put AS (
  INSERT INTO waybill.calls AS c (id, instance, rev, attempt_log, price, ${NAMES.join(', ')})
  SELECT id, ?, ?, attempt_log, price, ${NAMES.join(', ')} FROM given ORDER BY id
  ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, attempt_log = excluded.attempt_log, price = excluded.price,
    ${NAMES.map((name) => `${name} = excluded.${name}`).join(', ')}
    WHERE c.completed_at IS NULL AND c.rev < excluded.rev AND c.instance = excluded.instance
  RETURNING c.*
), closed AS (
  SELECT * FROM put WHERE completed_at IS NOT NULL
), hours AS (
  INSERT INTO waybill.usage_hours AS h (hour, instance, series, ${SHARED_LABELS.join(', ')}, ${SUM_COLUMNS.join(', ')})
  SELECT ${HOUR}, instance, ${SERIES}, ${SHARED_LABELS.join(', ')}, ${SUMS.join(', ')}
    FROM closed GROUP BY 1, 2, 3, ${SHARED_LABELS.map((_, index) => index + 4).join(', ')} ORDER BY 1, 3
  ON CONFLICT (hour, instance, series) DO UPDATE SET ${SUM_COLUMNS.map((name) => `${name} = h.${name} + excluded.${name}`).join(', ')}
), latencies AS (
  INSERT INTO waybill.latency_hours AS h (hour, instance, provider, key_name, step, calls)
  SELECT ${HOUR}, instance, resolved_provider, coalesce(key_name, ''), ${LATENCY_STEP}, count(*)
    FROM closed WHERE state = 'completed' AND latency_ms IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 3, 4, 5
  ON CONFLICT (hour, instance, provider, key_name, step) DO UPDATE SET calls = h.calls + excluded.calls
), begun AS (
  INSERT INTO waybill.sessions AS s (session_id, key_name, instance, first_id, cost_usd)
  SELECT session_id, coalesce(key_name, ''), instance, min(id::text)::uuid,
      coalesce(sum(cost_usd) FILTER (WHERE completed_at IS NOT NULL), 0)
    FROM put WHERE session_id IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2
  ON CONFLICT (session_id, key_name, instance) DO UPDATE SET cost_usd = s.cost_usd + excluded.cost_usd
    WHERE excluded.cost_usd > 0
), spent AS (
  INSERT INTO waybill.key_spending AS k (key_name, month, instance, usd, estimated_usd, unknown_attempts)
  SELECT key_name, period, ?, usd, estimated_usd, unknown_attempts
    FROM json_to_recordset(?::json) AS t(key_name text, period text, usd double precision, estimated_usd double precision,
      unknown_attempts double precision)
    ORDER BY key_name, period
  ON CONFLICT (key_name, month, instance) DO UPDATE SET usd = excluded.usd, estimated_usd = excluded.estimated_usd,
    unknown_attempts = excluded.unknown_attempts
    WHERE (excluded.usd, excluded.unknown_attempts) > (k.usd, k.unknown_attempts)
)
SELECT count(*) AS rows FROM put`

/** Every revision of a later start of an instance is newer than any revision of an earlier start. */
const PER_START = 2n ** 40n

/** Rejects with LinkError. It is then unknown whether the calls arrived, so they must be sent again. */
export async function ship(link: Link, { instance, start }: Sender, unshipped: Unshipped): Promise<void> {
  const { calls, revision, spending } = unshipped
  const rev = String(BigInt(start) * PER_START + BigInt(revision))
  const values = [
    JSON.stringify(calls.map(rowOf)),
    instance,
    rev,
    instance,
    JSON.stringify(spending.map(clean)),
  ]
  try {
    await link.query(SHIP, values)
  } catch (error) {
    if (!(error instanceof LinkError) || error.code !== NO_PARTITION) throw error
    await makePartitions(
      link,
      calls.map(({ created_at }) => created_at as number),
    )
    await link.query(SHIP, values)
  }
}

/** SQLSTATE for a row without a partition. */
const NO_PARTITION = '23514'

function rowOf({ attempt_log, price, ...call }: Unshipped['calls'][number]): object {
  return {
    ...clean(call),
    attempt_log: attempt_log.map(clean),
    price: typeof price === 'string' ? JSON.parse(price) : null,
  }
}

/** PostgreSQL's strings cannot hold NUL or lone surrogates. */
const clean = (row: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replaceAll('\0', '\ufffd').toWellFormed() : value,
    ]),
  )
