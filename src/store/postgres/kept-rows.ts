// Stored responses in the shared log, for every gateway of the fleet. PostgreSQL frees a deleted row at its
// next vacuum. Until then its files contain bytes that only the fleet's key can decrypt.
import { chainSql, expiredSql, type KeptRow, type KeptRowReads, sizeSql } from '../kept-rows.ts'
import type { SharedKeptRows } from '../shared-log.ts'
import type { Link } from './link.ts'

const TABLE = 'waybill.kept_responses'
/** Number of rows deleted in one statement, so that no urgent request waits long for the connection. */
const ROWS_A_STEP = 1_000

export const openSharedKeptReads = (
  link: Link,
): {
  readonly [Each in keyof KeptRowReads]: (
    ...args: Parameters<KeptRowReads[Each]>
  ) => Promise<ReturnType<KeptRowReads[Each]>>
} => ({
  keptSize: async (id, keyName, most) => {
    const [row] = await link.query<{ bytes: unknown }>(sizeSql(TABLE), [id, keyName, keyName, most - 1])
    return Number(row!.bytes)
  },
  keptChain: async (id, keyName, most) => {
    const rows = await link.query<KeptRow & { readonly expiresAt: unknown }>(chainSql(TABLE), [
      id,
      keyName,
      keyName,
      most - 1,
    ])
    return rows.map((row) => ({ ...row, expiresAt: Number(row.expiresAt) }))
  },
})

export const openSharedKeptTable = (link: Link): SharedKeptRows => ({
  async keep({ id, keyName, previous, expiresAt, sealed }) {
    await link.query(
      `INSERT INTO ${TABLE} (id, key_name, previous, expires_at, sealed) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id, key_name) DO UPDATE SET previous = excluded.previous, expires_at = excluded.expires_at,
           sealed = excluded.sealed`,
      [id, keyName, previous, expiresAt, sealed],
    )
  },
  async drop(id, keyName) {
    const gone = await link.query(`DELETE FROM ${TABLE} WHERE id = ? AND key_name = ? RETURNING id`, [
      id,
      keyName,
    ])
    return gone.length > 0
  },
  async expire(at) {
    const expired = `DELETE FROM ${TABLE} WHERE (id, key_name) IN (
      SELECT id, key_name FROM ${TABLE} WHERE ${expiredSql(TABLE)} LIMIT ${ROWS_A_STEP}) RETURNING id`
    while ((await link.query(expired, [at])).length > 0);
  },
})
