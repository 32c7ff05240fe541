// The gateways that share the log: registration, liveness, and one exchange a second in one round trip. An
// exchange sends and receives cooldowns, returns leases, and checks that the configurations are the same.
import type { Amount, Beat, Identity, Pulse, Sender } from '../shared-log.ts'
import { LEFT, TAKEN } from './left-writes.ts'
import type { Link } from './link.ts'

/** Time without a sign of life after which an instance counts as dead, s. */
const ALIVE_S = 10
/** Maximum delay until an exchange becomes visible to other instances, s. Exchanges of this period are read again. */
const LATE_S = 2
/** Maximum conversations received in one exchange. */
const MAX_CONVERSATIONS = 5_000

export async function register(
  link: Link,
  { id, name, place, version }: Identity,
  config: string,
): Promise<number | string> {
  const namesakes = await link.query(
    `SELECT 1 FROM waybill.instances WHERE name = ? AND id <> ? AND place NOT IN ('', ?)
       AND seen_at > now() - interval '${ALIVE_S} s'`,
    [name, id, place],
  )
  if (namesakes.length > 0)
    return `another gateway already uses the name ${JSON.stringify(name)}; give each gateway its own name with fleet.instance`
  const [own] = await link.query<{ start: number }>(
    `INSERT INTO waybill.instances AS i (id, name, place, start, seen_at, started_at, version, config)
       VALUES (?, ?, ?, 1, now(), now(), ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, place = excluded.place, start = i.start + 1, seen_at = now(),
       started_at = now(), version = excluded.version, config = excluded.config
     WHERE i.place IN ('', excluded.place) OR i.seen_at < now() - interval '${ALIVE_S} s'
     RETURNING start`,
    [id, name, place, version, config],
  )
  return own
    ? own.start
    : `another gateway runs on a copy of this data directory (instance ${id}); give this one an empty directory`
}

export async function reportStop(link: Link, { instance, start }: Sender): Promise<void> {
  await link.query(
    `UPDATE waybill.instances SET place = '' WHERE id = ? AND start = ?`,
    [instance, start],
    1_000,
  )
}

export async function pulse(
  link: Link,
  { instance, start }: Sender,
  { config, backlog, cooled, conversations, since, taken, back, periods }: Beat,
): Promise<Pulse> {
  const [{ pulse }] = (await link.query<{ pulse: string }>(
    `WITH beat AS (
       UPDATE waybill.instances SET seen_at = now(), config = ?, backlog = ? WHERE id = ? AND start = ? RETURNING 1
     ), cooled AS (
       INSERT INTO waybill.cooldowns AS c (target, until)
       SELECT target, now() + ms * interval '1 ms' FROM json_to_recordset(?::json) AS t(target text, ms double precision)
         ORDER BY target
       ON CONFLICT (target) DO UPDATE SET until = greatest(c.until, excluded.until)
     ), gone_on AS (
       INSERT INTO waybill.conversations (key, place, cached, until, changed_at, instance)
       SELECT key, place, cached, now() + ms * interval '1 ms', now(), ?
         FROM json_to_recordset(?::json) AS t(key text, place text, cached bigint, ms double precision) ORDER BY key
       ON CONFLICT (key) DO UPDATE SET place = excluded.place, cached = excluded.cached, until = excluded.until,
         changed_at = excluded.changed_at, instance = excluded.instance
     ), taken AS (${TAKEN}
     ), lease AS (
       UPDATE waybill.leases SET granted = granted - ? WHERE key_name = ? AND month = ? AND instance = ? RETURNING 1
     ), budget AS (
       UPDATE waybill.budgets SET granted = granted - ? WHERE key_name = ? AND month = ? AND EXISTS (SELECT 1 FROM lease)
     )
     SELECT json_build_object(
       'isCurrent', EXISTS (SELECT 1 FROM beat),
       'cooling', coalesce((SELECT json_object_agg(target, extract(epoch FROM until - now()) * 1000)
         FROM waybill.cooldowns WHERE until > now()), '{}'),
       'live', coalesce((SELECT json_agg(json_build_object('name', name, 'config', config)) FROM waybill.instances
         WHERE place <> '' AND seen_at > now() - interval '${ALIVE_S} s'), '[]'),
       'at', extract(epoch FROM now()) * 1000,
       'conversations', coalesce((SELECT json_agg(c) FROM (
         SELECT key, place, cached, extract(epoch FROM until - now()) * 1000 AS ms FROM waybill.conversations
           WHERE instance <> ? AND until > now() AND changed_at > to_timestamp(?::double precision / 1000) - interval '${LATE_S} s'
           ORDER BY changed_at DESC LIMIT ${MAX_CONVERSATIONS}) AS c), '[]'),
       'left', coalesce(${LEFT}, '[]'),
       'granted', coalesce((SELECT json_agg(json_build_object('keyName', key_name, 'period', month, 'usd', granted))
         FROM waybill.leases WHERE instance = ? AND month = ANY(?)), '[]'),
       'spentElsewhere', coalesce((SELECT json_agg(json_build_object('keyName', key_name, 'period', month, 'usd', usd, 'estimatedUsd', estimated, 'unknownAttempts', unknown))
         FROM (SELECT key_name, month, sum(usd) AS usd, sum(estimated_usd) AS estimated, sum(unknown_attempts) AS unknown FROM waybill.key_spending WHERE month = ANY(?) AND instance <> ? GROUP BY key_name, month) AS s), '[]')
     )::text AS pulse`,
    [
      ...[config, backlog, instance, start, JSON.stringify(cooled)],
      ...[instance, JSON.stringify(conversations)],
      ...[instance, taken],
      ...[back?.usd ?? 0, back?.keyName ?? '', back?.period ?? '', instance],
      ...[back?.usd ?? 0, back?.keyName ?? '', back?.period ?? ''],
      ...[instance, since ?? 0, instance, instance, periods, periods, instance],
    ],
  )) as [{ pulse: string }]
  const told = JSON.parse(pulse) as Pulse
  if (!back) return told
  // The query returns the state before its own update.
  const isBack = (each: Amount) => each.keyName === back.keyName && each.period === back.period
  const granted = told.granted.map((each) => (isBack(each) ? { ...each, usd: each.usd - back.usd } : each))
  return { ...told, granted }
}
