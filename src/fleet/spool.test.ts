// Counting the calls that wait for the shared log, while more calls begin during a check of the journal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSpool } from './spool.ts'

const LIMITS = { calls: 3, bytes: 2 ** 30, age: 3_600_000 }
const seen = (calls: number) => ({ backlog: { calls, since: null }, bytes: 0 })

test('a call counts before its opening is in the journal, whatever a check of the journal finds (FLEET-04)', () => {
  const spool = createSpool(LIMITS)
  spool.began()()
  spool.began()()
  const opened = spool.began()
  spool.looking()(seen(2))
  assert.match(spool.full(0)!, /^3 calls are waiting/)
  opened()
  assert.match(spool.full(0)!, /^3 calls are waiting/)
  spool.looking()(seen(1))
  assert.equal(spool.calls, 1)
  assert.equal(spool.full(0), null)
})
