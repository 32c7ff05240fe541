// LOG-03: The record exists from routing time: readable while the answer still streams.
import { type Check, finding } from '../check.ts'
import { labelled, refs, where } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { LOG, readAll, rowsIn } from '../request-log.ts'
import { DONE, delta } from '../scripted.ts'

export const fromRoutingTime = {
  id: 'LOG-03',
  async exercise(session) {
    const [silent, gate] = [session.nonce(), session.nonce()]
    const tag = session.nonce()
    const script = [{ events: [{ gate: silent }, delta('one'), { gate }, DONE] }]
    const call = await session.openChat('call', {
      stream: true,
      script,
      headers: { 'x-gateway-session-id': tag },
    })
    await session.witness.seen(call.nonce, 5_000)
    await readAll(session, 'while silent', `${LOG}?session_id=${tag}`)
    await session.witness.release(silent)
    await call.until((body) => body.includes('one'), 5_000)
    for (let tries = 0; tries < 60; tries++) {
      const page = await readAll(session, 'while streaming', `${LOG}?session_id=${tag}`)
      if (rowsIn(page)[0]?.state === 'streaming') break
      await session.wait(50)
    }
    await session.witness.release(gate)
    await session.record('afterwards', await call.done)
  },
  judge({ evidence }) {
    const read = (label: string, state: string) => {
      const exchange = labelled(evidence, label).at(-1)
      const rows = rowsIn(exchange)
      const named = rows[0]?.resolved_provider && rows[0]?.resolved_model
      return finding(
        'open-call-is-on-record',
        rows.length === 1 && rows[0]!.state === state && Boolean(named),
        `${label}: ${rows.length} record, state ${rows[0]?.state}, ${rows[0] ? where({ provider: rows[0].resolved_provider, model: rows[0].resolved_model }) : 'no road'}`,
        refs(exchange),
      )
    }
    const [after] = labelled(evidence, 'afterwards')
    return [
      read('while silent', 'routed'),
      read('while streaming', 'streaming'),
      finding(
        'completed-afterwards',
        at(jsonOf(after?.body ?? ''), '/state') === 'completed',
        'afterwards it is completed',
        refs(after),
      ),
    ]
  },
} satisfies Check
