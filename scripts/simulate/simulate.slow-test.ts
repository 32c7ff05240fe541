import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/shared/clock.ts'
import { run } from './test-run.ts'

test('a minute of histories keeps what the contract promises', () => {
  const seed = String(SYSTEM_CLOCK.now() % 1_000_000)
  const { status, stdout } = run('--seed', seed, '--steps', '240', '--histories', '9999', '--seconds', '60')
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
