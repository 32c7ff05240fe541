// The shared log in PostgreSQL. Has three connections, so that none waits for another: for calls, for reads, and for
// urgent short requests. Each connection is opened when it is first needed.
import { clock } from '../../shared/clock.ts'
import { chainSql, expiredSql, type KeptRow, type KeptRowReads, sizeSql } from '../kept.ts'
import type { SharedKeptRows, SharedLog, SharedLogOptions } from '../shared-log.ts'
import { leave, openRates, pulse, register, reportStop, takeLease } from './instances.ts'
import { type Link, openLink } from './link.ts'
import { openCallReads, openSessionReads, openSpanReads } from './reads.ts'
import {
  dropEmptySessions,
  dropOldDays,
  dropOldSums,
  forget,
  listInstances,
  missingDays,
  oldDays,
} from './retention.ts'
import { comingDays, createTables, lookAtSchema, makePartitions } from './schema.ts'
import { ship } from './ship.ts'

/** `name`: label of the connections in the database's list of clients. */
export function openSharedLog(options: SharedLogOptions, name = ''): SharedLog {
  const shipLink = openLink(options, name || 'ship')
  const readLink = openLink(options, name || 'read')
  const pulseLink = openLink(options, name || 'pulse')
  const kept = openSharedKeptTable(pulseLink)
  const makeDays = () => makePartitions(shipLink, comingDays(clock.now()))
  return {
    reads: {
      ...openCallReads(readLink),
      ...openSpanReads(readLink),
      ...openSessionReads(readLink),
      ...openSharedKeptReads(readLink),
    },
    kept,
    schema: () => lookAtSchema(shipLink),
    async migrate() {
      await createTables(shipLink)
      return lookAtSchema(shipLink)
    },
    makeDays,
    missingDays: () => missingDays(shipLink, comingDays(clock.now()).slice(0, 2)),
    oldDays: (days) => oldDays(shipLink, clock.now(), days),
    upkeep: {
      make_shared_days: makeDays,
      async delete_shared_calls(days, tell) {
        const dropped = await dropOldDays(readLink, clock.now(), days)
        if (dropped.length > 0) tell(`dropped ${dropped.join(', ')}, which were older than ${days} days`)
      },
      delete_shared_sums: (days) => dropOldSums(readLink, clock.now(), days),
      delete_shared_histories: (days) => dropEmptySessions(readLink, clock.now(), days),
      delete_shared_responses: () => kept.expire(clock.now()),
    },
    register: (identity, config) => register(shipLink, identity, config),
    ship: (sender, unshipped) => ship(shipLink, sender, unshipped),
    pulse: (sender, beat) => pulse(pulseLink, sender, beat),
    leave: (write) => leave(pulseLink, write),
    takeLease: (sender, request) => takeLease(pulseLink, sender, request),
    consumeRate: openRates(pulseLink),
    reportStop: (sender) => reportStop(shipLink, sender),
    instances: () => listInstances(shipLink),
    forget: (instance) => forget(shipLink, instance, clock.now()),
    async close() {
      await Promise.all([shipLink.close(), readLink.close(), pulseLink.close()])
    },
  }
}

const TABLE = 'waybill.kept_responses'
/** Number of rows deleted in one statement, so that no urgent request waits long for the connection. */
const ROWS_A_STEP = 1_000

const openSharedKeptReads = (
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

/**
 * Stored responses for every gateway of the fleet. PostgreSQL frees a deleted row at its next vacuum; until then its files
 * contain bytes that only the fleet's key can decrypt.
 */
const openSharedKeptTable = (link: Link): SharedKeptRows => ({
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
