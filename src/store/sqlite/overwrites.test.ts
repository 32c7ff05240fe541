// LIFE-04: a copy written over the open database is noticed at the next check, regardless of writes in between.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { temporaryDirectory } from '../../test/test-gateway.ts'
import { closeDescriptors, openDescriptors, watchOverwrites } from './overwrites.ts'

const PAGE = 4_096

/** Opens a database that grows by pages, and a function that checks its files. */
function start(t: Parameters<typeof temporaryDirectory>[0]) {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'a.db')
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE t (x)')
  const grow = (rows: number) => {
    for (let n = 0; n < rows; n++) db.prepare('INSERT INTO t VALUES (?)').run('x'.repeat(PAGE))
  }
  grow(5)
  const descriptors = openDescriptors(file)
  t.after(() => {
    db.close()
    closeDescriptors(descriptors)
  })
  const cp = (from: string, to: string) => execFileSync('cp', [from, to])
  return { file, aside: join(directory, 'aside'), db, grow, cp, look: watchOverwrites(descriptors, PAGE) }
}

test('a database replaced by an older copy is detected even if the log was merged and written since the last check', (t) => {
  const { file, aside, db, grow, cp, look } = start(t)
  db.pragma('wal_checkpoint(TRUNCATE)')
  cp(file, aside)
  assert.equal(look(), null)
  grow(20)
  assert.equal(look(), null)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.exec("UPDATE t SET x = 'y' WHERE rowid = 1")
  cp(aside, file)
  assert.equal(look(), 'database')
})

test('a database that another program checkpoints, grows and shrinks is still recognized', (t) => {
  const { db, grow, look } = start(t)
  for (const act of [
    () => grow(20),
    () => db.pragma('wal_checkpoint(TRUNCATE)'),
    () => db.exec('DELETE FROM t WHERE rowid > 3'),
    () => db.pragma('wal_checkpoint(RESTART)'),
    () => db.exec('VACUUM'),
    () => {
      db.pragma('wal_checkpoint(TRUNCATE)')
      grow(4_100) // more pages than the first block of the index holds
    },
    () => grow(1),
    () => db.pragma('wal_checkpoint(TRUNCATE)'),
    () => {
      grow(30)
      db.pragma('wal_checkpoint(TRUNCATE)')
      db.exec('DELETE FROM t WHERE rowid > 2; VACUUM')
      db.pragma('wal_checkpoint(TRUNCATE)')
      grow(2)
    },
    () => {
      db.exec('DELETE FROM t; VACUUM')
      db.pragma('wal_checkpoint(TRUNCATE)')
      grow(40)
    },
  ]) {
    act()
    assert.equal(look(), null)
  }
})
