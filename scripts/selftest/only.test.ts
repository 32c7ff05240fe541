import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requirementsNamed } from './results.ts'

test('--only accepts names one by one or with commas, and refuses unknown names', () => {
  assert.equal(requirementsNamed(undefined), undefined)
  assert.deepEqual(requirementsNamed(['PURE-01,ROUTE-01@messages', 'KEEP-03']), [
    'PURE-01',
    'ROUTE-01@messages',
    'KEEP-03',
  ])
  assert.throws(() => requirementsNamed(['PURE-01,PURE-99']), /--only: PURE-99/)
  assert.throws(() => requirementsNamed(['']), /--only/)
})
