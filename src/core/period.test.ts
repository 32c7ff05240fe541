// Budget periods: their names in the record and their ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOf, periodOf, periodsOf } from './period.ts'

/** A time with its day, week and month, and the ends of these periods. */
const MOMENTS: readonly (readonly [string, string, string, string, string, string, string])[] = [
  [
    '2026-11-25T12:00:00.000Z',
    '2026-11-25',
    'week 2026-11-23',
    '2026-11',
    '2026-11-26',
    '2026-11-30',
    '2026-12-01',
  ],
  [
    '2026-11-23T00:00:00.000Z',
    '2026-11-23',
    'week 2026-11-23',
    '2026-11',
    '2026-11-24',
    '2026-11-30',
    '2026-12-01',
  ],
  [
    '2026-11-29T23:59:59.999Z',
    '2026-11-29',
    'week 2026-11-23',
    '2026-11',
    '2026-11-30',
    '2026-11-30',
    '2026-12-01',
  ],
  [
    '2026-12-31T23:59:59.999Z',
    '2026-12-31',
    'week 2026-12-28',
    '2026-12',
    '2027-01-01',
    '2027-01-04',
    '2027-01-01',
  ],
  [
    '2027-01-01T00:00:00.000Z',
    '2027-01-01',
    'week 2026-12-28',
    '2027-01',
    '2027-01-02',
    '2027-01-04',
    '2027-02-01',
  ],
  [
    '2028-02-29T01:00:00.000Z',
    '2028-02-29',
    'week 2028-02-28',
    '2028-02',
    '2028-03-01',
    '2028-03-06',
    '2028-03-01',
  ],
]

for (const [moment, day, week, month, dayEnd, weekEnd, monthEnd] of MOMENTS)
  test(`names the periods that contain ${moment}`, () => {
    const at = Date.parse(moment)
    assert.deepEqual(periodsOf(at, null), [day, week, month])
    assert.deepEqual(
      (['day', 'week', 'month'] as const).map((per) => endOf(per, at)),
      [dayEnd, weekEnd, monthEnd].map((date) => Date.parse(date)),
    )
  })

test('a session is a period without an end; a call without a session has no session period', () => {
  assert.deepEqual(periodsOf(0, 'a b').at(-1), 'session a b')
  assert.equal(periodOf('session', 0, null), null)
  assert.equal(endOf('session', 0), null)
})
