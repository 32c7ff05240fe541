import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from './test-run.ts'

// The same histories each time, so that chance fails no build. `npm run selftest -- simulate` looks for others.
test('ten histories keep what the contract promises', () => {
  const { status, stdout } = run('--seed', '757280', '--steps', '240', '--histories', '10')
  assert.equal(status, 0, stdout)
})

test('the simulation finds a call that is sent although it is not on record', () => {
  const { status, stdout } = run(
    'guards',
    'general-sends-without-record',
    '--steps',
    '240',
    '--seconds',
    '120',
  )
  assert.equal(status, 0, stdout)
})
