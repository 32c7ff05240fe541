// Days of time zones, also where the clock changes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOfDay } from './zone.ts'

for (const [zone, at, start] of [
  ['UTC', '2026-11-28T21:00:00Z', '2026-11-28T00:00:00.000Z'],
  ['Europe/Berlin', '2026-11-28T23:30:00Z', '2026-11-28T23:00:00.000Z'],
  ['Europe/Berlin', '2026-10-25T20:00:00Z', '2026-10-24T22:00:00.000Z'], // the clock went back at night
  ['Europe/Berlin', '2026-03-29T20:00:00Z', '2026-03-28T23:00:00.000Z'], // and forward
  ['Asia/Kathmandu', '2026-11-28T18:20:00Z', '2026-11-28T18:15:00.000Z'],
  ['America/St_Johns', '2026-11-28T03:00:00Z', '2026-11-27T03:30:00.000Z'],
  ['Asia/Beirut', '2026-03-29T12:00:00Z', '2026-03-28T22:00:00.000Z'], // this day began at one o'clock
] as const)
  test(`the day of ${at} in ${zone} begins at ${start}`, () => {
    assert.equal(new Date(startOfDay(zone, Date.parse(at))).toISOString(), start)
  })
