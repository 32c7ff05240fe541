import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from './test-run.ts'

test('one seed is one history, byte for byte', () => {
  const [first, second] = [1, 2].map(() => run('--seed', '3', '--steps', '120', '--journal').stdout)
  assert.ok(first!.includes('the gateway dies'), 'the history has a crash')
  assert.equal(first, second)
})

// The same histories each time, so that chance fails no build. `npm run selftest -- simulate` looks for others.
test('a few histories keep what the contract promises', () => {
  const { status, stdout } = run('--seed', '46220', '--steps', '120', '--histories', '4')
  assert.equal(status, 0, stdout)
})
