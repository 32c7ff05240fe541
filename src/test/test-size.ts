// Size of a test run. `npm test` runs a tenth of the kills, the fuzz cases and the captures, and samples of long lists;
// WAYBILL_TESTS=full runs all.
import { SYSTEM_CLOCK } from '../shared/clock.ts'

export const IS_FULL = process.env.WAYBILL_TESTS === 'full'

const SEED = Number(process.env.WAYBILL_SAMPLE_SEED ?? SYSTEM_CLOCK.now() % 2 ** 31)
/** Tests that have printed the seed. */
const told = new WeakSet<object>()

/**
 * Returns one of every `among` neighbours in a list, and all of them in a full run. The place among the neighbours begins
 * with the seed and moves on from group to group, so that a list of combinations is crossed diagonally, and as many runs
 * as there are neighbours have seen all.
 */
export function sample<Row>(
  t: { diagnostic(said: string): void },
  rows: readonly Row[],
  among: number,
): readonly Row[] {
  if (IS_FULL) return rows
  if (!told.has(t)) t.diagnostic(`a sample of the rows (WAYBILL_SAMPLE_SEED=${SEED} repeats it)`)
  told.add(t)
  return rows.filter((_, index) => index % among === (SEED + Math.floor(index / among)) % among)
}
