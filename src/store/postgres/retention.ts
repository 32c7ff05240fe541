// Deletes old calls by whole days, with the sums of their hours. Dropping a partition frees the space, and
// takes no longer for a full day than for an empty one. Does not touch journals, which store everything that
// is not shipped yet.

import type { AttemptRecord } from '../../core/record.ts'
import type { KnownInstance, Unshipped } from '../shared-log.ts'
import type { Row } from '../sql/columns.ts'
import { INTERRUPTED_COST_MISSING } from '../writes.ts'
import type { Link } from './link.ts'
import { LOCK, lowestId, partitionOf } from './schema.ts'
import { ship } from './ship.ts'

const DAY = 86_400_000
/** Maximum number of objects with an owner on record; the oldest are dropped. */
const MAX_OWNED = 1_000_000

/** Returns the beginning of the first day to retain, ms since the epoch. */
const firstDay = (now: number, days: number): number => Math.floor((now - days * DAY) / DAY) * DAY

/** Returns the names of the partitions with only older calls, oldest first. */
export async function oldDays(link: Link, now: number, days: number): Promise<string[]> {
  const rows = await link.query<{ name: string }>(
    `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
       WHERE inhparent = 'waybill.calls'::regclass AND relname < ? ORDER BY relname`,
    [partitionOf(firstDay(now, days)).name],
  )
  return rows.map(({ name }) => name)
}

/**
 * Returns the dropped partitions. `now`: ms since the epoch; `days`: number of days to retain. Drops one at a time,
 * because the locks for months of days would not fit into one transaction.
 */
export async function dropOldDays(link: Link, now: number, days: number): Promise<string[]> {
  const names = await oldDays(link, now, days)
  for (const name of names)
    await link.script(
      `SET LOCAL lock_timeout = '2s';
       SELECT pg_advisory_xact_lock(${LOCK});
       DROP TABLE IF EXISTS waybill.${name};`,
      30_000,
    )
  return names
}

/** Deletes the sums of hours whose calls are not retained, and state that no gateway reads any more. */
export async function dropOldSums(link: Link, now: number, days: number): Promise<void> {
  const hour = firstDay(now, days) / 3_600_000
  await link.script(
    `SET LOCAL lock_timeout = '2s';
     DELETE FROM waybill.usage_hours WHERE hour < ${hour};
     DELETE FROM waybill.latency_hours WHERE hour < ${hour};
     DELETE FROM waybill.object_owners WHERE call_id <=
       (SELECT call_id FROM waybill.object_owners ORDER BY call_id DESC OFFSET ${MAX_OWNED} LIMIT 1);
     DELETE FROM waybill.cooldowns WHERE until < now() - interval '1 hour';
     DELETE FROM waybill.conversations WHERE until < now();
     DELETE FROM waybill.rates WHERE expire < extract(epoch FROM now() - interval '1 hour') * 1000;`,
    30_000,
  )
}

/**
 * Deletes sessions from before `now` minus `days` that have no calls left, with their spending. Runs
 * separately from the removal of days, which blocks everything for a moment. Deletes a few at a time, so that
 * no read waits long.
 */
export async function dropEmptySessions(link: Link, now: number, days: number): Promise<void> {
  const first = firstDay(now, days)
  const next = `
    WITH looked AS (
      SELECT session_id, key_name, instance, first_id FROM waybill.sessions
        WHERE first_id > ? AND first_id < ? ORDER BY first_id LIMIT 1000
    ), gone AS (
      DELETE FROM waybill.sessions AS s USING looked
        WHERE (s.session_id, s.key_name, s.instance) = (looked.session_id, looked.key_name, looked.instance)
          AND NOT EXISTS (SELECT 1 FROM waybill.calls AS c WHERE c.session_id = looked.session_id)
        RETURNING s.key_name, 'session ' || s.session_id AS period
    ), ${['key_spending', 'leases', 'budgets']
      .map(
        (table) => `${table}_gone AS (
      DELETE FROM waybill.${table} AS t USING gone WHERE (t.key_name, t.month) = (gone.key_name, gone.period)
    )`,
      )
      .join(', ')}
    SELECT max(first_id::text) AS last FROM looked`
  for (let last: string | null = lowestId(0); last !== null; ) {
    const [looked]: { last: string | null }[] = await link.query(next, [last, lowestId(first)], 30_000)
    last = looked!.last
  }
}

/** Returns the names of the missing partitions for these days. */
export async function missingDays(link: Link, days: readonly number[]): Promise<string[]> {
  const names = days.map((day) => partitionOf(day).name)
  const there = await link.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND relname = ANY(?)`,
    [names],
  )
  return names.filter((name) => !there.some((each) => each.name === name))
}

export const listInstances = (link: Link): Promise<KnownInstance[]> =>
  link.query<KnownInstance>(
    `SELECT id, name, place <> '' AND seen_at > now() - interval '10 s' AS alive, start, version, config, backlog,
        to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS seen_at,
        (SELECT count(*) FROM waybill.calls WHERE completed_at IS NULL AND instance = i.id) AS open
       FROM waybill.instances AS i ORDER BY name, seen_at DESC`,
  )

/**
 * Removes an instance that will not come back because its data directory is lost. Its open calls end as interrupted, and
 * the rest of its leases is returned; only calls that it had not shipped are lost. Returns the number of its open calls.
 * `now`: ms since the epoch.
 */
export async function forget(link: Link, { id, start }: KnownInstance, now: number): Promise<number> {
  let ended = 0
  for (;;) {
    const open = await link.query<
      Row & { id: string; attempt_log: string; rev: number; price: string | null }
    >('SELECT * FROM waybill.calls WHERE completed_at IS NULL AND instance = ? ORDER BY id LIMIT 500', [id])
    if (open.length === 0) break
    const calls = open.map((call) => ({
      ...call,
      state: 'interrupted',
      completed_at: now,
      cost_missing: INTERRUPTED_COST_MISSING,
      attempt_log: (JSON.parse(call.attempt_log) as AttemptRecord[]).map((attempt) =>
        attempt.outcome === 'open'
          ? { ...attempt, outcome: 'unknown' as const, ended_at: new Date(now).toISOString() }
          : attempt,
      ),
    }))
    await ship(link, { instance: id, start: start + 1 }, {
      until: 0,
      revision: 1,
      calls,
      spending: [],
    } as unknown as Unshipped)
    ended += open.length
  }
  await link.script(`
    UPDATE waybill.budgets AS b SET granted = b.granted - left_over.usd FROM (
      SELECT l.key_name, l.month, greatest(0, l.granted - coalesce(k.usd, 0)) AS usd FROM waybill.leases AS l
        LEFT JOIN waybill.key_spending AS k USING (key_name, month, instance) WHERE l.instance = ${literal(id)}
    ) AS left_over WHERE b.key_name = left_over.key_name AND b.month = left_over.month;
    UPDATE waybill.leases AS l SET granted = least(l.granted, coalesce((SELECT usd FROM waybill.key_spending AS k
      WHERE k.key_name = l.key_name AND k.month = l.month AND k.instance = l.instance), 0)) WHERE instance = ${literal(id)};
    DELETE FROM waybill.left_writes WHERE instance = ${literal(id)};
    DELETE FROM waybill.instances WHERE id = ${literal(id)};`)
  return ended
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`
