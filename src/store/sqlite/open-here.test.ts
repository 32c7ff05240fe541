// LOG-01, LIFE-04: the main thread commits an opening only if it needs to wait neither for a lock nor for the
// disk.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { emptyCall, idOf } from '../../core/call.ts'
import { clock } from '../../shared/clock.ts'
import { temporaryDirectory } from '../../test/test-gateway.ts'
import type { Opening } from '../writes.ts'
import { noteFiles } from './data-files.ts'
import { migrate } from './migrations.ts'
import { databaseFile } from './open.ts'
import { openHere } from './open-here.ts'
import { closeDescriptors, openDescriptors } from './overwrites.ts'

function start(t: TestContext) {
  const file = databaseFile(temporaryDirectory(t))
  const writer = new Database(file)
  writer.pragma('journal_mode = WAL')
  writer.pragma('wal_autocheckpoint = 0')
  migrate(writer)
  const descriptors = openDescriptors(file)
  const here = openHere(file, noteFiles([file, `${file}-wal`, `${file}-shm`]), descriptors)
  t.after(() => {
    here.close()
    writer.close()
    closeDescriptors(descriptors)
  })
  const target = { provider: 'alpha', model: 'm', tier: null, weight: 1 }
  const decision = { cause: 'direct', skipped: [] }
  const open = () => {
    const route: Opening['route'] = { name: null, strategy: 'direct', candidates: [target], decision }
    return here.commit([{ kind: 'open', call: emptyCall(idOf(clock.now())), route }])
  }
  return { writer, open }
}

const calls = (db: Database.Database) => db.prepare('SELECT count(*) FROM call_logs').pluck().get()

test('while another connection writes, recording the opening of a call is left to the writer thread (LIFE-04)', (t) => {
  const { writer, open } = start(t)
  assert.equal(open(), 'committed')
  writer.exec('BEGIN IMMEDIATE')
  const waits = [1, 2, 3, 4, 5].map(() => {
    const began = clock.monotonic()
    assert.equal(open(), 'locked')
    return clock.monotonic() - began
  })
  assert.ok(Math.min(...waits) < 500, 'without waiting for the lock')
  writer.exec('ROLLBACK')
  assert.equal(open(), 'committed')
  assert.equal(calls(writer), 2)
})

test('the first write after a checkpoint waits for the disk, so it is left to the writer thread (LOG-01)', (t) => {
  const { writer, open } = start(t)
  for (const how of ['PASSIVE', 'TRUNCATE']) {
    assert.equal(open(), 'committed')
    writer.pragma(`wal_checkpoint(${how})`)
    assert.equal(open(), 'not possible', how)
    writer.pragma(`user_version = ${writer.pragma('user_version', { simple: true })}`)
    assert.equal(open(), 'committed', how)
  }
  assert.equal(calls(writer), 4)
})
