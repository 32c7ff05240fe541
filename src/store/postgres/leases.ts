// A part of a key's budget for one instance: taken by one conditional update, so that all parts together stay within the
// budget whoever asks at the same time. What an instance was granted in a month only it can give back.
import type { Link } from './link.ts'
import type { Sender } from './ship.ts'

export interface LeaseRequest {
  readonly keyName: string
  readonly month: string
  /** The whole budget, US dollars. */
  readonly budget: number
  /** Less is of no use. */
  readonly need: number
  /** More than this is not needed. */
  readonly want: number
  /** As much is granted as long as it is there; beyond it a quarter of what is left, divided by the instances. */
  readonly step: number
  readonly live: number
}

/** What the instance may spend in the month in all, US dollars; null where what is left is less than it needs. */
export async function takeLease(
  link: Link,
  { instance }: Sender,
  request: LeaseRequest,
): Promise<number | null> {
  const { keyName, month, budget, need, want, step, live } = request
  const lease =
    'greatest(?::float8, least(?::float8, greatest((?::float8 - granted) / 4 / ?::float8, ?::float8), ?::float8 - granted))'
  const size = [need, want, budget, live, step, budget]
  const [row] = await link.query<{ granted: number }>(
    `WITH taken AS (
       INSERT INTO waybill.budgets AS b (key_name, month, granted, last)
       SELECT ?, ?, first, first FROM (SELECT ${lease.replaceAll('granted', '0')} AS first) AS f WHERE ?::float8 <= ?::float8
       ON CONFLICT (key_name, month) DO UPDATE SET last = ${lease.replaceAll('granted', 'b.granted')},
         granted = b.granted + ${lease.replaceAll('granted', 'b.granted')}
         WHERE ?::float8 - b.granted >= ?::float8
       RETURNING last
     )
     INSERT INTO waybill.leases AS l (key_name, month, instance, granted) SELECT ?, ?, ?, last FROM taken
     ON CONFLICT (key_name, month, instance) DO UPDATE SET granted = l.granted + excluded.granted
     RETURNING granted`,
    [keyName, month, ...size, need, budget, ...size, ...size, budget, need, keyName, month, instance],
  )
  return row?.granted ?? null
}
