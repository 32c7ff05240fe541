import assert from 'node:assert/strict'
import test from 'node:test'
import { paired } from './measure.ts'

const row = (count: number) => Array.from({ length: count }, (_, index) => (index * 7) % count)

test('the median’s interval excludes as many pairs as the sign test allows', () => {
  // Values from tables of the two-sided sign test at 5 %: 6 pairs leave out 0 on each side, 15 leave out 3,
  // and 25 leave out 7.
  assert.deepEqual(paired(row(6)), { median: 2.5, low: 0, high: 5 })
  assert.deepEqual(paired([...Array(15).keys()]), { median: 7, low: 3, high: 11 })
  assert.deepEqual(paired(row(25)), { median: 12, low: 7, high: 17 })
})

test('too few pairs give no interval', () => {
  assert.throws(() => paired([1, 2, 3, 4, 5]), /too few/)
})
