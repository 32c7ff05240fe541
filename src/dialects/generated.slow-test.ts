// Random compositions of deviations mean the same as the undisturbed answer: natively, and for a client of another dialect.
// WAYBILL_DEVIATIONS is the number of cases of each dialect, WAYBILL_DEVIATIONS_SEED the seed of the first.
import { test } from 'node:test'
import { clock } from '../shared/clock.ts'
import { IS_FULL } from '../test/test-size.ts'
import { assertSame, GENERATED } from './test-generator.ts'

const CASES = Number(process.env.WAYBILL_DEVIATIONS ?? (IS_FULL ? 100_000 : 5_000))
const SEED = Number(process.env.WAYBILL_DEVIATIONS_SEED ?? clock.now() % 2 ** 31)
/** Cases of one test. */
const BATCH = 5_000

for (const dialect of GENERATED)
  for (let from = 0; from < CASES; from += BATCH)
    test(`random compositions of ${dialect} mean the same as the undisturbed answer, from ${from} on (DIAL-15, DIAL-16, DIAL-17)`, (t) => {
      t.diagnostic(`WAYBILL_DEVIATIONS_SEED=${SEED + from}`)
      const end = SEED + Math.min(from + BATCH, CASES)
      for (let seed = SEED + from; seed < end; seed++) assertSame(dialect, seed)
    })
