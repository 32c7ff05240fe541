// LIFE-01, LOG-07: kills for each durability of a single gateway, while another program takes the lock of the
// database now and then. `WAYBILL_KILLS=40` makes more of them. `shared` is in `../fleet/sigkill.slow-test.ts`.
import { test } from 'node:test'
import { killUnderLoad } from './test-sigkill.ts'

const KILLS = Number(process.env.WAYBILL_KILLS ?? 8)

for (const durability of ['process', 'full'] as const)
  test(
    `${KILLS} kills and locks of another program lose no call with durability: ${durability} (LIFE-01, LOG-07)`,
    {
      timeout: KILLS * 20_000,
    },
    (t) => killUnderLoad(t, { calls: KILLS * 100, kills: KILLS, locks: KILLS, durability }),
  )
