// A sample of the random compositions of deviations in `generated.slow-test.ts`.
import { test } from 'node:test'
import { clock } from '../shared/clock.ts'
import { assertSame, GENERATED } from './test-generator.ts'

const CASES = 150
const SEED = Number(process.env.WAYBILL_DEVIATIONS_SEED ?? clock.now() % 2 ** 31)

for (const dialect of GENERATED)
  test(`random compositions of ${dialect} mean the same as the undisturbed answer (DIAL-15, DIAL-16, DIAL-17)`, (t) => {
    t.diagnostic(`WAYBILL_DEVIATIONS_SEED=${SEED}, ${CASES} cases`)
    for (let seed = SEED; seed < SEED + CASES; seed++) assertSame(dialect, seed)
  })
