// LOG-03: The record exists as soon as the call is routed, and can be read while the answer is still streaming.

import { refs, where } from '../dialects/lookup.ts'
import { delta, END } from '../dialects/scripted.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { type PlainStep, recordExchange, step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { LOG, readAll, rowsIn } from './request-log.ts'

const steps = {
  call: step('call'),
  whileSilent: step('while silent'),
  whileStreaming: step('while streaming'),
}

export const fromRoutingTime = {
  id: 'LOG-03',
  async exercise(session) {
    const [silent, gate] = [session.nonce(), session.nonce()]
    const tag = session.nonce()
    const script = [{ events: [{ gate: silent }, delta('one'), { gate }, END] }]
    const call = await session.openChat(steps.call, {
      stream: true,
      script,
      headers: { 'x-gateway-session-id': tag },
    })
    await session.mock.seen(call.nonce, 5_000)
    await readAll(session, steps.whileSilent, `${LOG}?session_id=${tag}`)
    await session.mock.release(silent)
    await call.says('one')
    for (let tries = 0; tries < 60; tries++) {
      const page = await readAll(session, steps.whileStreaming, `${LOG}?session_id=${tag}`)
      if (rowsIn(page)[0]?.state === 'streaming') break
      await session.wait(50)
    }
    await session.mock.release(gate)
    await session.record(await call.done)
  },
  judge({ evidence }) {
    const read = (step: PlainStep, state: string) => {
      const exchange = step.in(evidence).at(-1)
      const rows = rowsIn(exchange)
      const named = rows[0]?.resolved_provider && rows[0]?.resolved_model
      return finding(
        'open-call-is-on-record',
        rows.length === 1 && rows[0]!.state === state && Boolean(named),
        `what is on record ${step.step}`,
        {
          expected: `one record, ${state}, that names provider and model`,
          actual: `${rows.length}${rows[0] ? `, ${rows[0].state}, ${where({ provider: rows[0].resolved_provider, model: rows[0].resolved_model })}` : ''}`,
        },
        refs(exchange),
      )
    }
    const [call] = steps.call.in(evidence)
    const after = recordExchange(evidence, call!)
    const state = at(jsonOf(after?.body ?? ''), '/state')
    return [
      read(steps.whileSilent, 'routed'),
      read(steps.whileStreaming, 'streaming'),
      finding(
        'completed-afterwards',
        state === 'completed',
        'the state on record afterwards',
        { expected: 'completed', actual: String(state) },
        refs(after),
      ),
    ]
  },
} satisfies Check
