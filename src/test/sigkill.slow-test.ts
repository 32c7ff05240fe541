// LIFE-01, LOG-07: forty kills for each durability of a single gateway, while another program takes the lock of
// the database now and then. `shared` is in `../fleet/sigkill.slow-test.ts`.
import { test } from 'node:test'
import { killUnderLoad } from './test-sigkill.ts'

for (const durability of ['process', 'full'] as const)
  test(`forty kills and a lock of another program lose no call with durability: ${durability} (LIFE-01, LOG-07)`, (t) =>
    killUnderLoad(t, { calls: 4_000, kills: 40, locks: 40, durability }))
