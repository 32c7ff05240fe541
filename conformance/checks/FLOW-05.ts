// FLOW-05: When the client disconnects, the provider's stream is closed.
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { delta, END } from '../scripted.ts'
import { step } from '../step.ts'

const steps = {
  left: step('left'),
}

/** How much the clocks of the client and the witness may be apart, ms: they are on one machine. */
const EARLY = 250

export const leavingClosesUpstream = {
  id: 'FLOW-05',
  hostile: true,
  async exercise(session) {
    const gate = session.nonce()
    const call = await session.openChat(steps.left, {
      stream: true,
      script: [{ events: [delta('one'), { gate }, END] }],
    })
    await call.says('one')
    call.leave()
    await call.done
    // Waits for the ledger to say it, for as long as the weaker limit allows.
    for (let waited = 0; waited < 5_500; waited += 50) {
      const entry = await session.witness.seen(call.nonce, 1)
      if (entry?.peer_left_at != null) break
      await session.wait(50)
    }
    await session.witness.release(gate)
  },
  judge: ({ evidence, waybill }) =>
    steps.left.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const left = entry?.peer_left_at ?? null
      const ms = left === null ? null : Math.round(left - exchange.end_at)
      const limit = waybill ? 1_000 : 5_000
      return finding(
        'stream-is-closed',
        ms !== null && ms <= limit && ms >= -EARLY,
        "when the provider's stream was closed",
        {
          expected: `at most ${limit} ms after the client had left, and not before`,
          actual: ms === null ? 'not closed' : `${ms} ms after`,
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
