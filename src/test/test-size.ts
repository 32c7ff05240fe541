// Size of a test run. `npm test` and `npm run test:slow` run a tenth of the kills, the fuzz cases and the captures, and a
// sample of the long tables; WAYBILL_TESTS=full runs all.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

export const IS_FULL = process.env.WAYBILL_TESTS === 'full'

/** `scripts/test.ts` takes another number each time, and prints it. */
const SAMPLE = Number(process.env.WAYBILL_SAMPLE ?? 0)

/**
 * Returns one of every `among` neighbours in a list, and all of them in a full run. WAYBILL_SAMPLE is the place among the
 * first neighbours. It moves on from group to group, so that a list of combinations is crossed diagonally, and as many
 * runs with consecutive numbers as there are neighbours see all.
 */
export const sample = <Row>(rows: readonly Row[], among: number): readonly Row[] =>
  IS_FULL ? rows : rows.filter((_, at) => at % among === (SAMPLE + Math.floor(at / among)) % among)

/**
 * Prints a value that other programs on the machine change: elapsed time, or a ratio of times. Only a full run judges it,
 * because a full run has an idle machine.
 */
export function judgeIdle(t: TestContext, what: string, value: number, most: number): void {
  t.diagnostic(`${what}: ${value.toFixed(1)}, at most ${most} on an idle machine`)
  if (IS_FULL) assert.ok(value <= most, `${what}: ${value.toFixed(1)}`)
}
