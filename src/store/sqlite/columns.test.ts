// Compares the definition of a record with the database that the migrations create. Both have the same
// columns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { ATTEMPT_FIELDS, CALL_FIELDS } from '../../core/record.ts'
import { type Column, columnsOf } from '../sql/columns.ts'
import { migrate } from './migrations.ts'

const CALL_ID: Column = { name: 'call_id', type: 'TEXT', notNull: true }

for (const [table, columns] of [
  ['call_logs', columnsOf(CALL_FIELDS)],
  ['call_attempts', [CALL_ID, ...columnsOf(ATTEMPT_FIELDS)]],
] as const)
  test(`a fresh database has the columns of ${table} that its definition lists`, (t) => {
    const db = new Database(':memory:')
    t.after(() => db.close())
    migrate(db)
    const found = db.pragma(`table_info(${table})`) as { name: string; type: string; notnull: number }[]
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
    assert.deepEqual(
      found.map(({ name, type, notnull }) => ({ name, type, notNull: notnull === 1 })).sort(byName),
      [...columns].sort(byName),
    )
  })
