// The shared log in PostgreSQL. Has three connections, so that none waits for another: for calls, for reads, and for
// urgent short requests. Each connection is opened when it is first needed.
import { clock } from '../../shared/clock.ts'
import type { SharedLog, SharedLogOptions } from '../shared-log.ts'
import { openCallReads } from './call-reads.ts'
import { forget, listInstances } from './forget.ts'
import { pulse, register, reportStop } from './instances.ts'
import { openSharedKeptReads, openSharedKeptTable } from './kept-rows.ts'
import { takeLease } from './leases.ts'
import { leave } from './left-writes.ts'
import { openLink } from './link.ts'
import { openRates } from './rates.ts'
import { dropEmptySessions, dropOldDays, dropOldSums, missingDays, oldDays } from './retention.ts'
import { comingDays, createTables, lookAtSchema, makePartitions } from './schema.ts'
import { openSessionReads } from './session-reads.ts'
import { ship } from './ship.ts'
import { openSpanReads } from './span-reads.ts'

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
