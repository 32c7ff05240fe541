// LIFE-01, LOG-07: kills with each durability of a single gateway, while another program sometimes locks the
// database. `WAYBILL_KILLS=40` runs 40 kills. `../fleet/sigkill.slow-test.ts` tests `shared`.
import { test } from 'node:test'
import { killUnderLoad } from './test-sigkill.ts'
import { IS_FULL } from './test-size.ts'

const KILLS = Number(process.env.WAYBILL_KILLS ?? (IS_FULL ? 8 : 2))

for (const durability of ['process', 'full'] as const)
  test(
    `with durability ${durability}, ${KILLS} kills and locks by another program lose no call (LIFE-01, LOG-07)`,
    {
      timeout: 600_000 + KILLS * 20_000,
    },
    (t) => killUnderLoad(t, { calls: KILLS * 100, kills: KILLS, locks: KILLS, durability }),
  )
