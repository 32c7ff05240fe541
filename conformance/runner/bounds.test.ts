import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_WITHOUT_END } from '../checks/context.ts'
import type { Evidence } from '../evidence/evidence.ts'
import { openBounds } from './limits.ts'

/** Returns evidence of a check with the maximum number of answers without an end that a run may have. */
const silent = (check: string, facts: Evidence['facts']) => {
  const request = { method: 'POST', path: '/v1/chat/completions' }
  const exchanges = Array.from({ length: MAX_WITHOUT_END }, (_, n) => ({
    n,
    request,
    end: 'timed_out',
    body: '',
  }))
  return { check, exchanges, facts } as unknown as Evidence
}

test('a run stops after too many answers that never end, but tolerates one series before the gateway restarts', () => {
  const bounds = openBounds('a gateway')
  assert.equal(bounds.exceeded(silent('KEEP-01', { gone: 'it does not answer' })), null)
  assert.match(
    bounds.exceeded(silent('FAIL-06', { gone: 'it does not answer' }))!,
    /6 answers of a gateway in a row/,
  )
  assert.match(openBounds('a gateway').exceeded(silent('KEEP-01', {}))!, /the last of them KEEP-01#5/)
})
