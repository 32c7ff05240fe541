// The gateways that share the log: registration, liveness, and one exchange a second in one round trip. An
// exchange sends and receives cooldowns, returns leases, and checks that the configurations are the same.

import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type {
  Amount,
  Beat,
  Identity,
  LateWrite,
  LeaseRequest,
  Pulse,
  Sender,
  SharedLog,
} from '../shared-log.ts'
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

/**
 * Leases part of a key's budget to an instance by one conditional update, so all leases together stay within the budget
 * under concurrent requests; the last may be smaller than requested. Only the instance can return its grant. The column
 * `month` contains the period: the first release with a fleet had only months, and such a gateway may still run beside this.
 */
export async function takeLease(
  link: Link,
  { instance }: Sender,
  request: LeaseRequest,
): Promise<number | null> {
  const { keyName, period, budget, need, want, step, live } = request
  const lease =
    'least(?::float8 - granted, greatest(?::float8, least(?::float8, greatest((?::float8 - granted) / 4 / ?::float8, ?::float8))))'
  const size = [budget, need, want, budget, live, step]
  const [row] = await link.query<{ granted: number }>(
    `WITH taken AS (
       INSERT INTO waybill.budgets AS b (key_name, month, granted, last)
       SELECT ?, ?, first, first FROM (SELECT ${lease.replaceAll('granted', '0')} AS first) AS f WHERE first > 0
       ON CONFLICT (key_name, month) DO UPDATE SET last = ${lease.replaceAll('granted', 'b.granted')},
         granted = b.granted + ${lease.replaceAll('granted', 'b.granted')}
         WHERE ?::float8 - b.granted > 0
       RETURNING last
     )
     INSERT INTO waybill.leases AS l (key_name, month, instance, granted) SELECT ?, ?, ?, last FROM taken
     ON CONFLICT (key_name, month, instance) DO UPDATE SET granted = l.granted + excluded.granted
     RETURNING granted`,
    [keyName, period, ...size, ...size, ...size, budget, keyName, period, instance],
  )
  return row?.granted ?? null
}

/**
 * Leaves a write for the instance that made an open call. A batch can therefore be fetched at any instance, and is priced
 * once, at the instance with its reservation. Does nothing if no such call exists. New objects are known
 * immediately.
 */
export async function leave(link: Link, write: LateWrite): Promise<void> {
  const objects = write.kind === 'streaming' && write.objects ? JSON.stringify(write.objects) : null
  await link.query(
    `WITH made AS (
       UPDATE waybill.calls SET objects = coalesce(?, objects) WHERE id = ? AND completed_at IS NULL RETURNING id, instance
     )
     INSERT INTO waybill.left_writes (call_id, kind, instance, write) SELECT id, ?, instance, ?::json FROM made
     ON CONFLICT (call_id, kind) DO UPDATE SET write = excluded.write`,
    [objects, write.id, write.kind, JSON.stringify(write)],
  )
}

/** SQL that selects the writes left for an instance, as JSON. New objects come before the end of a call. */
const LEFT = `(SELECT json_agg(write ORDER BY call_id, kind DESC) FROM waybill.left_writes WHERE instance = ?)`

/**
 * SQL that deletes the writes that an instance has applied. Its values are the ids of the instance and of the calls.
 */
const TAKEN = 'DELETE FROM waybill.left_writes WHERE instance = ? AND call_id = ANY(?::uuid[])'

/**
 * Counts a key's calls in a window for all instances. Each call costs one upsert; a key that has used up its window costs
 * none.
 */
export function openRates(link: Link): SharedLog['consumeRate'] {
  const limiters = new Map<string, RateLimiterPostgres>()
  // The library names its statements, and a pooler in transaction mode mixes up named statements.
  const client = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => ({
      rows: await link.query(text, values, 1_000),
    }),
  }
  const limiterOf = (requests: number, per: number) => {
    const id = `${requests}/${per}`
    let limiter = limiters.get(id)
    if (!limiter) {
      limiter = new RateLimiterPostgres({
        storeClient: client,
        storeType: 'client',
        schemaName: 'waybill',
        tableName: 'rates',
        tableCreated: true,
        clearExpiredByTimeout: false,
        keyPrefix: id,
        points: requests,
        duration: per / 1000,
        inMemoryBlockOnConsumed: requests,
      })
      limiters.set(id, limiter)
    }
    return limiter
  }
  return async ({ keyName, requests, per }) => {
    try {
      await limiterOf(requests, per).consume(keyName)
      return null
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return refused.msBeforeNext
      throw refused
    }
  }
}
