// LIFE-01, LOG-07: kills with each durability of a single gateway, while another program sometimes locks the
// database, the disk is full or the writer thread ends; during the upgrade of a record of the first release; and with
// interactions of which many run in the background of their provider. `WAYBILL_KILLS=40` runs 40 kills.
// `../fleet/sigkill.slow-test.ts` tests `shared`.
import { test } from 'node:test'
import { killUnderLoad } from './test-sigkill.ts'
import { IS_FULL } from './test-size.ts'

/** The dialects of coding agents. */
const FOUR = { dialects: ['chat', 'messages', 'responses', 'gemini'] }
const KILLS = Number(process.env.WAYBILL_KILLS ?? (IS_FULL ? 8 : 2))

for (const durability of ['process', 'full'] as const)
  test(
    `with durability ${durability}, ${KILLS} kills lose no call, with foreign locks, a full disk and a dead writer in between (LIFE-01, LOG-07)`,
    {
      timeout: 600_000 + KILLS * 20_000,
    },
    (t) => killUnderLoad(t, { calls: KILLS * 200, kills: KILLS, troubles: KILLS, durability, ...FOUR }),
  )

test(
  'a record of the first release loses no call while its upgrade is killed again and again (LIFE-01, LIFE-08, LOG-07)',
  { timeout: 600_000 },
  (t) => killUnderLoad(t, { calls: 500, kills: 2, earlier: 30_000, ...FOUR }),
)

test(
  `${KILLS} kills lose no interaction, whole, streamed or in the background, and the background is polled on (LIFE-01, LOG-07)`,
  { timeout: 600_000 + KILLS * 20_000 },
  (t) => killUnderLoad(t, { calls: KILLS * 100, kills: KILLS, dialects: ['interactions'], background: 0.4 }),
)
