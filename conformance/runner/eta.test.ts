// Tests the estimate of a run with its own clock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Results } from '../judge/judge.ts'
import { inTime, timeLeft } from './eta.ts'

const earlier = {
  verdicts: [
    { id: 'PURE-02', duration: 60_000, outcome: 'pass' },
    { id: 'FLOW-06', duration: 4_000, outcome: 'fail' },
    { id: 'KEEP-01', duration: 1, outcome: 'disabled' },
  ],
} as Results

test('the remaining time decreases as time passes and with each completed check', () => {
  let time = 0
  const ids = ['PURE-02', 'FLOW-06']
  const estimate = timeLeft(ids, 1, { earlier, now: () => time })
  assert.equal(estimate.left(), 64_000)
  estimate.begun('PURE-02')
  time = 20_000
  assert.equal(estimate.left(), 44_000)
  time = 90_000
  assert.equal(estimate.left(), 4_000, 'one that takes longer than it should does not make it negative')
  estimate.ended('PURE-02')
  estimate.begun('FLOW-06')
  estimate.ended('FLOW-06')
  assert.equal(estimate.left(), 0)
})

test('the estimate for two workers is half as long, but never shorter than the longest check', () => {
  assert.equal(timeLeft(['PURE-02', 'FLOW-06'], 2, { earlier, now: () => 0 }).left(), 60_000)
  assert.equal(timeLeft(['FLOW-06', 'FLOW-06x', 'FLOW-06y'], 2, { earlier, now: () => 0 }).left(), 4_000)
})

test('a check that never ran is estimated from its duration with the reference', () => {
  assert.ok(timeLeft(['PURE-02'], 1, { earlier: null, now: () => 0 }).left() >= 60_000)
  assert.ok(timeLeft(['PURE-02'], 1, { quick: true, earlier: null, now: () => 0 }).left() < 10_000)
  assert.ok(timeLeft(['KEEP-01'], 1, { earlier, now: () => 0 }).left() >= 1_000)
})

test('an estimate is rounded and contains “about”', () => {
  assert.deepEqual([3_200, 41_000, 89_000, 150_000].map(inTime), [
    'about 4 s',
    'about 45 s',
    'about 90 s',
    'about 3 min',
  ])
})
