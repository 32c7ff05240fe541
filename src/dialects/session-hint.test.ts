import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionInMetadata } from './request-fields.ts'

const ROWS: readonly [string, unknown, unknown][] = [
  ['metadata as JSON', { user_id: '{"session_id":"m"}' }, 'm'],
  ['metadata with a suffix', { user_id: 'user_1_account_2_session_0f3c' }, '0f3c'],
  ['metadata with two suffixes', { user_id: 'a_session_b_session_c' }, 'c'],
  ['metadata of 4 MB, at once', { user_id: `${'_session_'.repeat(450_000)}\n` }, '\n'],
  ['metadata with neither', { user_id: 'somebody' }, null],
  ['JSON that is no object', { user_id: '7' }, undefined],
  ['a user that is no text', { user_id: { session_id: 'x' } }, null],
  ['metadata that is no object', 'text', null],
  ['no metadata', undefined, null],
]

for (const [name, metadata, expected] of ROWS)
  test(`reads the session in ${name}`, () => assert.equal(sessionInMetadata(metadata), expected))
