import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/shared/clock.ts'
import { run } from './test-run.ts'

test('one seed is one history, byte for byte', () => {
  const [first, second] = [1, 2].map(() => run('--seed', '3', '--steps', '120', '--journal').stdout)
  assert.ok(first!.includes('the gateway dies'), 'the history has a crash')
  assert.equal(first, second)
})

test('histories of other seeds keep what the contract promises', () => {
  const seed = String(SYSTEM_CLOCK.now() % 1_000_000)
  const { status, stdout } = run('--seed', seed, '--steps', '120', '--histories', '99', '--seconds', '5')
  assert.equal(status, 0, stdout)
})
