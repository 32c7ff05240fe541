// A conversation can continue as soon as the client has received the end of an answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { databaseFile } from '../../store/sqlite/open.ts'
import { temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { converse, keepsAnswers } from './test-continuations.ts'

test('an answer can be continued from the record before the client has received the end of the answer (RSP-06)', async (t) => {
  const data = temporaryDirectory(t)
  const { url } = await testGateway(t, {
    data,
    providers: { alpha: keepsAnswers() },
    dialects: { alpha: ['responses'] },
  })
  // A second connection reads the data that a gateway killed at this moment would leave behind.
  const db = new Database(databaseFile(data), { readonly: true })
  t.after(() => void db.close())
  const find = db.prepare('SELECT 1 FROM call_logs WHERE response_id = ?')
  const missing: string[] = []
  const onEnd = (id: string) => void (find.get(id) ?? missing.push(id))
  assert.deepEqual(await converse([url], { count: 400, lanes: 4, onEnd }), [])
  assert.deepEqual(missing, [])
})
