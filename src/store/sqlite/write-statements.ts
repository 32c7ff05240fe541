// The statements that write the events of a call (`../writes.ts`). Used by the writer thread and by `open-here.ts`.
import type { Database } from 'better-sqlite3'
import {
  ATTEMPT_FIELDS,
  type AttemptClosing,
  type AttemptOpening,
  CALL_FIELDS,
  type CallClosing,
  type CallOpening,
  costOfAttempt,
} from '../../core/record.ts'
import type { Cost } from '../../pricing/cost.ts'
import { writingOf } from '../sql/columns.ts'
import type { EndedAttempt, Opening, Write } from '../writes.ts'
import { CLOSED_CALL, type ClosedCall, type RollUps } from './roll-ups.ts'
import { prepareSpending } from './spending.ts'

/**
 * Prepares the statements of an opening on a connection. Returns the function that runs one opening, without
 * a transaction.
 */
export function prepareOpenings(db: Database): (opening: Opening) => void {
  const columns = writingOf<CallOpening>(CALL_FIELDS, 'open')
  const openCall = db.prepare(`INSERT INTO call_logs ${inserting(columns.columns)}`)
  const begin = prepareAttempts(db)
  const { reserve } = prepareSpending(db)
  return (opening) => {
    const { call, route, reserved } = opening
    openCall.run(...columns.values(opening))
    if (reserved !== undefined) reserve(call.id, reserved)
    if (call.cache !== 'HIT') begin(call.id, 1, route.candidates[0], call.createdAt)
  }
}

/** Prepares the opening of an attempt. */
function prepareAttempts(db: Database) {
  const columns = writingOf<AttemptOpening>(ATTEMPT_FIELDS, 'open')
  const openAttempt = db.prepare(`INSERT INTO call_attempts ${inserting(['call_id', ...columns.columns])}`)
  return (id: string, n: number, target: AttemptOpening['target'], at: number) =>
    openAttempt.run(id, ...columns.values({ n, target, at }))
}

/** Prepares the writes that happen while a call is open. */
function prepareMeanwhile(db: Database) {
  const name = db.prepare(
    `UPDATE call_logs SET response_id = coalesce(?, response_id), container_id = coalesce(?, container_id)
       WHERE id = ? AND completed_at IS NULL`,
  )
  const runOn = db.prepare('INSERT OR REPLACE INTO background_calls (call_id, run) VALUES (?, ?)')
  const ranOn = db.prepare('DELETE FROM background_calls WHERE call_id = ?')
  return { name, runOn, ranOn }
}

/**
 * Prepares the statements on a connection. Returns the function that runs one write, without a transaction.
 */
export function prepareWrites(db: Database, rollUps: RollUps): (write: Write) => void {
  const findPrice = db.prepare<[string], number>('SELECT id FROM prices WHERE snapshot = ?').pluck()
  const addPrice = db
    .prepare<[string], number>('INSERT INTO prices (snapshot) VALUES (?) RETURNING id')
    .pluck()
  const priceId = (snapshot: string) => findPrice.get(snapshot) ?? addPrice.get(snapshot)!

  const callClosing = writingOf<CallClosing>(CALL_FIELDS, 'close', priceId)
  const attemptClosing = writingOf<AttemptClosing>(ATTEMPT_FIELDS, 'close')

  const closeAttempt = db.prepare(
    `UPDATE call_attempts SET ${setting(attemptClosing.columns)} WHERE call_id = ? AND n = ? AND outcome = 'open'`,
  )
  const withdrawAttempt = db.prepare(`
    UPDATE call_attempts SET ended_at = ?, outcome = 'not_sent', error_code = 'log_unavailable'
    WHERE call_id = ? AND outcome = 'open'`)
  const resolveAgain = db.prepare(`
    UPDATE call_logs SET resolved_provider = ?, resolved_model = ?, tier = ?, attempts = ?, fallbacks = ? WHERE id = ?`)
  // A `streaming` write may be retried after its call was closed.
  const streaming = db.prepare(
    `UPDATE call_logs SET state = 'streaming', ttft_ms = ?, objects = coalesce(?, objects)
       WHERE id = ? AND completed_at IS NULL`,
  )
  const { name, runOn, ranOn } = prepareMeanwhile(db)
  const closeCall = db.prepare<unknown[], ClosedCall>(
    `UPDATE call_logs SET ${setting(callClosing.columns)} WHERE id = ? AND completed_at IS NULL RETURNING ${CLOSED_CALL}`,
  )
  const { spend, charge, noteUnknown, release } = prepareSpending(db)
  const open = prepareOpenings(db)
  const begin = prepareAttempts(db)
  /**
   * Returns false if the write was already on record: a writer that died may have committed its last batch.
   */
  const end = (id: string, at: number, ended: EndedAttempt, cost: Cost): boolean =>
    closeAttempt.run(...attemptClosing.values({ at, ended, cost }), id, ended.n).changes > 0
  const pay = (id: string, ended: EndedAttempt, cost: Cost, estimated = 0) => {
    if (cost.flat) return // a subscription pays
    if (cost.usd === null) charge(id, estimated)
    else (ended.tokens?.source === 'estimated' && !cost.reported ? charge : spend)(id, cost.usd)
    if (estimated === 0 && costOfAttempt({ ended, cost }).missing.length > 0) noteUnknown(id)
  }

  return (write) => {
    switch (write.kind) {
      case 'open':
        open(write)
        return
      case 'next': {
        const { id, at, ended, cost, target, fallbacks, requestsSent } = write
        if (end(id, at, ended, cost)) pay(id, ended, cost, write.charge)
        begin(id, ended.n + 1, target, at)
        resolveAgain.run(target.provider, target.model, target.tier, requestsSent + 1, fallbacks, id)
        return
      }
      case 'streaming':
        streaming.run(write.ttftMs, write.objects ? JSON.stringify(write.objects) : null, write.id)
        return
      case 'named':
        name.run(write.responseId, write.containerId, write.id)
        return
      case 'background':
        runOn.run(write.id, write.run)
        return
      case 'close': {
        if (write.wasBackground) ranOn.run(write.id)
        const { id, at, ended, cost, target, fallbacks, outcome, requestsSent } = write
        const isEnded = ended !== null && end(id, at, ended, cost)
        // A call that was refused because its opening failed may still have a reservation.
        if (write.charge !== undefined || write.releases || outcome.state === 'failed') release(id)
        // The writer may have died after committing a `next`. That attempt was refused, so it was never sent.
        if (outcome.state !== 'completed' && withdrawAttempt.run(at, id).changes > 0)
          resolveAgain.run(target.provider, target.model, target.tier, requestsSent, fallbacks, id)
        const closed = closeCall.get(...callClosing.values(write), id)
        if (closed) rollUps.count(closed)
        // Only a key has a spending sum.
        if (isEnded && closed?.key_name !== null) pay(id, ended, cost, write.charge)
      }
    }
  }
}

const inserting = (columns: readonly string[]): string =>
  `(${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`

const setting = (columns: readonly string[]): string => columns.map((name) => `${name} = ?`).join(', ')
