// LIFE-01, LOG-07: see `test-sigkill.ts`. `npm test` runs two kills, and `.ci/run --whole` eight.
import { test } from 'node:test'
import { killUnderLoad } from './test-sigkill.ts'
import { IS_FULL } from './test-size.ts'

const calls = Number(process.env.WAYBILL_KILL_CALLS ?? (IS_FULL ? 4_000 : 1_000))
const kills = Number(process.env.WAYBILL_KILLS ?? (IS_FULL ? 8 : 2))

test('after SIGKILL under load, the record contains every inference and nothing else (LIFE-01, LOG-07)', (t) =>
  killUnderLoad(t, { calls, kills }))
