import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Requirement } from '../../conformance/checks/requirements.ts'
import { frozenIds, withRows } from './requirements.ts'

const row = (id: string, more: Partial<Requirement> = {}): Requirement =>
  ({ id, level: 'MUST', scope: 'Waybill', text: `${id} holds.`, ...more }) as Requirement

test('a table in the contract contains the rows of its family in order', () => {
  const head = 'A.\n\n| id | level | scope | needs | sentence |\n|---|---|---|---|---|\n'
  const before = `${head}| A-01 | MUST | x | | Old. |\n\n| id | level | sentence |\n|---|---|---|\n| B-01 | MUST | Old. |\n\nEnd.`
  const rows = [row('A-01', { needs: 'log', level_waybill: 'MUST' }), row('A-02'), row('B-01')]
  assert.equal(
    withRows(before, rows),
    `${head}| A-01 | MUST, MUST for Waybill | Waybill | log | A-01 holds. |\n| A-02 | MUST | Waybill | | A-02 holds. |\n\n| id | level | sentence |\n|---|---|---|\n| B-01 | MUST | B-01 holds. |\n\nEnd.`,
  )
  assert.throws(() => withRows(before, [row('C-01')]), /no table for C/)
})

test('a published id is never removed, and its version never changes', () => {
  const before = frozenIds('', [row('A-01', { since: 1 }), row('A-02')])
  assert.match(frozenIds(before, [row('A-01', { since: 1 }), row('A-02', { since: 4 })]), /^A-02 4$/m)
  assert.throws(() => frozenIds(before, [row('A-01', { since: 1 })]), /A-02 was given/)
  assert.throws(() => frozenIds(before, [row('A-01', { since: 2 }), row('A-02')]), /A-01 decides since 1/)
})
