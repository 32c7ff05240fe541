// Leases part of a key's budget to one instance by one conditional update. All leases together therefore stay within
// the budget under concurrent requests; the last lease may be smaller than requested. Only the instance itself can
// return its grant for a period. The column `month` contains the period: the first release with a fleet had only
// months, and an older gateway may still run alongside this one.
import type { LeaseRequest, Sender } from '../shared-log.ts'
import type { Link } from './link.ts'

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
