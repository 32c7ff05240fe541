import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { temporaryDirectory } from '../../test/test-gateway.ts'
import { openKeptReads, openKeptTable } from './kept-rows.ts'
import { migrate } from './migrations.ts'

function open(t: TestContext, most = 1_000) {
  const db = new Database(':memory:')
  t.after(() => void db.close())
  migrate(db)
  let emptied = 0
  const table = openKeptTable(db, most, () => void emptied++)
  const keep = (id: string, expiresAt: number, previous: string | null = null, keyName = 'one') =>
    table.keep({ id, keyName, previous, expiresAt, sealed: 'x'.repeat(100) })
  const ids = () => db.prepare('SELECT id FROM kept_responses ORDER BY rowid').pluck().all()
  return { ...openKeptReads(db), table, keep, ids, emptied: () => emptied }
}

test('a response expires with its conversation, once no later response continues it', (t) => {
  const { table, keep, ids, emptied } = open(t)
  keep('first', 10)
  keep('alone', 10)
  keep('second', 20, 'first')
  keep('of another key', 20, 'alone', 'two')
  table.expire(10)
  assert.deepEqual([ids(), emptied()], [['first', 'second', 'of another key'], 1])
  table.expire(20)
  assert.deepEqual([ids(), emptied()], [[], 2])
})

test('deleted responses leave no byte in the file, also where the tree has grown around them', (t) => {
  const file = join(temporaryDirectory(t), 'kept.db')
  const db = new Database(file)
  t.after(() => void db.close())
  db.pragma('journal_mode = WAL')
  migrate(db)
  const table = openKeptTable(db, 1e9, () => void db.pragma('wal_checkpoint(TRUNCATE)'))
  const ids = Array.from({ length: 60 }, (_, n) => `id-${n}`)
  for (const [n, id] of ids.entries())
    table.keep({
      id,
      keyName: 'one',
      previous: null,
      expiresAt: 10,
      sealed: `CANARY-${id}-`.repeat(20 + 37 * n),
    })
  db.pragma('wal_checkpoint(TRUNCATE)')
  assert.ok(readFileSync(file).includes('CANARY'))
  for (const id of ids) table.drop(id, 'one')
  for (const each of [file, `${file}-wal`]) assert.equal(readFileSync(each).includes('CANARY'), false, each)
})

test('a conversation is read from its end and only for its key, and a cycle of ids does not cause an endless loop', (t) => {
  const { keep, keptChain } = open(t)
  keep('a', 10, 'c')
  keep('b', 10, 'a')
  keep('c', 10, 'b')
  keep('b', 10, null, 'two')
  const names = (...asked: Parameters<typeof keptChain>) => keptChain(...asked).map(({ id }) => id)
  assert.deepEqual(names('c', 'one', 2), ['c', 'b'])
  assert.deepEqual(names('c', 'one', 5), ['c', 'b', 'a', 'c', 'b'])
  assert.deepEqual(names('b', 'two', 5), ['b'])
  assert.deepEqual(names('c', 'two', 5), [])
})

test('when stored responses exceed their limit, the oldest are deleted; storing a response again replaces it', (t) => {
  const { table, keep, ids } = open(t, 350)
  for (const id of ['a', 'b', 'c', 'd']) keep(id, 10)
  assert.deepEqual(ids(), ['b', 'c', 'd'])
  keep('c', 10)
  assert.deepEqual(ids(), ['b', 'd', 'c'])
  assert.deepEqual([table.drop('d', 'two'), table.drop('d', 'one')], [false, true])
  keep('e', 10)
  assert.deepEqual(ids(), ['b', 'c', 'e'])
})
