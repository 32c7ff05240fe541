// Compares the estimate before a run with the run's duration, for a fast and a slow gateway.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judgeIdle, sample } from '../../src/test/test-size.ts'
import { targetOf } from '../selftest/run.ts'
import type { Target } from '../target/schema.ts'
import { timeLeft } from './eta.ts'
import { conform } from './run.ts'

const ONLY = [
  ...['ROUTE-01', 'ROUTE-02', 'ROUTE-08', 'TELL-01', 'TELL-02', 'LOG-01', 'LOG-02', 'LOG-07', 'USE-01'],
  ...['FLOW-06', 'FAIL-04', 'KEEP-01', 'CAT-01', 'PURE-07'],
]

const { dialects: _, ...reference } = targetOf('slow')
const chatOnly = { ...reference, dialects: {}, instances: 1 } as Target

const GATEWAYS: readonly [what: string, target: Target][] = [
  ['the reference', { ...chatOnly, start: { inproc: 'selftest/reference' } }],
  [
    'a gateway that waits 600 ms before each request',
    { ...chatOnly, start: { inproc: 'selftest/start#slow' } },
  ],
  [
    'a gateway that does not use a failed target for two seconds',
    {
      ...chatOnly,
      capabilities: { ...chatOnly.capabilities, cooldown_ms: 2_000 },
      start: { inproc: 'selftest/start#cools-down-for-two-seconds' },
    },
  ],
]

// The gateways mostly wait, so that their runs do not slow each other down.
describe('the estimate before a run', { concurrency: true }, () => {
  for (const [what, target] of sample(GATEWAYS, 3)) testGateway(what, target)
})

function testGateway(what: string, target: Target): void {
  test(`the estimate for ${what} is within a third of the actual duration on an idle machine`, async (t) => {
    let [estimate, began] = [0, 0]
    let halfway: { at: number; left: number } | null = null
    let left: ReturnType<typeof timeLeft> | null = null
    await conform({
      target,
      profile: 'observable',
      quick: true,
      only: ONLY,
      onPlan(requirements, atOnce, pace) {
        const ids = requirements.map(({ id }) => id)
        left = timeLeft(ids, atOnce, { quick: true, pace, earlier: null, now: Date.now })
        estimate = left.left()
        began = Date.now()
      },
      onCheck({ id }, evidence) {
        if (evidence === null) left!.begun(id)
        else left!.ended(id)
        if (id === 'USE-01' && evidence) halfway = { at: Date.now(), left: left!.left() }
      },
    })
    const took = Date.now() - began
    const { at, left: told } = halfway!
    const rest = began + took - at
    t.diagnostic(
      `estimated ${estimate} ms, took ${took} ms; after USE-01 ${Math.round(told)} ms, took ${rest} ms`,
    )
    assert.ok(estimate > 0 && took > 0 && told > 0 && rest > 0)
    // The estimate is based on the pace of the gateway at the start, which other programs change later.
    judgeIdle(t, 'estimate, times the duration', estimate / took, 4 / 3)
    judgeIdle(t, 'duration, times the estimate', took / estimate, 3 / 2)
  })
}
