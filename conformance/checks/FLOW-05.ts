// FLOW-05: When the client disconnects, the provider's stream is closed within 5 s (Waybill: 1 s).

import { everyModel, refs, servedBy } from '../dialects/lookup.ts'
import { delta, END } from '../dialects/scripted.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { ordinaryCall, pace } from './pace.ts'

const steps = {
  left: step<{ model: string }>('left'),
}

/** Maximum difference between the clocks of client and mock on one machine, ms. */
const MAX_CLOCK_SKEW_MS = 250

export const leavingClosesUpstream = {
  id: 'FLOW-05',
  timeout: 90_000,
  hostile: true,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gate = session.nonce()
      const call = await session.openChat(steps.left.with({ model }), {
        ...{ model, stream: true, script: [{ events: [delta('one'), { gate }, END] }] },
      })
      await call.says('one')
      call.leave()
      await call.done
      // Waits until the ledger reports the end of the request that served the call, at most for the longer
      // limit.
      for (let waited = 0; waited < 5_500; waited += 50) {
        if (servedBy(await session.soFar(), call)?.peer_left_at != null) break
        await session.wait(50)
      }
      await session.mock.release(gate)
      await ordinaryCall(session)
    }
  },
  judge: ({ evidence, waybill }) =>
    steps.left.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const left = entry?.peer_left_at ?? null
      const ms = left === null ? null : Math.round(left - exchange.end_at)
      const limit = Math.round((waybill ? 1_000 : 5_000) + pace(evidence))
      return finding(
        'stream-is-closed',
        ms !== null && ms <= limit && ms >= -MAX_CLOCK_SKEW_MS,
        `when the provider's stream was closed in "${stepText(exchange)}"`,
        {
          expected: `at most ${limit} ms after the client had left, and not before`,
          actual: ms === null ? 'not closed' : `${ms} ms after`,
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
