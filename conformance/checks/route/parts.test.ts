// Tests the bounds of the statistical checks against sums that can be computed by hand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLeast, isPlausible, isToldApart } from './parts.ts'

test('the tail of a binomial distribution is the sum of its terms', () => {
  const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-12, `${a}, expected ${b}`)
  near(atLeast(0, 5, 0.3), 1)
  near(atLeast(1, 3, 0.5), 7 / 8)
  near(atLeast(3, 3, 0.5), 1 / 8)
  near(atLeast(2, 3, 1 / 3), 7 / 27)
  assert.deepEqual([atLeast(4, 3, 0.5), atLeast(1, 3, 0), atLeast(3, 3, 1)], [0, 0, 1])
})

test('an observed share is plausible only near the expected share, and an expected share of 0 or 1 allows no deviation (ROUTE-10)', () => {
  assert.ok(isPlausible(24, 240, 0.1))
  assert.ok(isPlausible(40, 240, 0.1))
  assert.ok(!isPlausible(60, 240, 0.1))
  assert.ok(!isPlausible(0, 240, 0.1))
  assert.ok(isPlausible(240, 240, 1))
  assert.ok(!isPlausible(239, 240, 1))
})

test('calls that reads caused are distinguished from background calls only if the counts allow it (PURE-01)', () => {
  assert.ok(!isToldApart(0, 0))
  assert.ok(isToldApart(1, 0))
  assert.ok(!isToldApart(3, 2))
  assert.ok(!isToldApart(26, 2))
  assert.ok(isToldApart(27, 2))
})
