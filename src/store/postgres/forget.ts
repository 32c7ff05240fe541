// Removes an instance that will not come back because its data directory is lost. The open calls of the
// instance end as interrupted, and the rest of its leases is returned. Only calls that it had not shipped are
// lost.
import type { AttemptRecord } from '../../core/record.ts'
import type { KnownInstance, Unshipped } from '../shared-log.ts'
import type { Row } from '../sql/columns.ts'
import { INTERRUPTED_COST_MISSING } from '../writes.ts'
import type { Link } from './link.ts'
import { ship } from './ship.ts'

export const listInstances = (link: Link): Promise<KnownInstance[]> =>
  link.query<KnownInstance>(
    `SELECT id, name, place <> '' AND seen_at > now() - interval '10 s' AS alive, start, version, config, backlog,
        to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS seen_at,
        (SELECT count(*) FROM waybill.calls WHERE completed_at IS NULL AND instance = i.id) AS open
       FROM waybill.instances AS i ORDER BY name, seen_at DESC`,
  )

/** Removes the instance. Returns the number of its open calls. `now`: ms since the epoch. */
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
