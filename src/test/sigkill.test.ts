// LIFE-01, LOG-07: see `test-sigkill.ts`. A tenth in `npm test`, all of it in `.ci/run`.
import { test } from 'node:test'
import { killUnderLoad } from './test-sigkill.ts'
import { IS_FULL } from './test-size.ts'

const calls = Number(process.env.WAYBILL_KILL_CALLS ?? (IS_FULL ? 10_000 : 1_000))
const kills = Number(process.env.WAYBILL_KILLS ?? (IS_FULL ? 20 : 2))

test('after SIGKILL under load every inference is on record, and nothing else is (LIFE-01, LOG-07)', (t) =>
  killUnderLoad(t, { calls, kills }))
