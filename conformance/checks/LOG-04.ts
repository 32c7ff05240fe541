// LOG-04: The record is final within the declared lag (Waybill: none; a read that begins after the last byte of an answer
// sees that call closed).
import { type Check, finding } from '../check.ts'
import { labelled, recordIn, refs, requestIdOf } from '../lookup.ts'
import { at } from '../reading.ts'

export const finalInTime = {
  id: 'LOG-04',
  needs: ['log', 'record', 'state'],
  async exercise(session) {
    for (const stream of [false, true]) {
      const exchange = await session.chat('call', { stream })
      await session.record(`record of #${exchange.n}`, exchange, session.target.observability.log!.lag_ms)
    }
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'call').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const { fields, completed, lag_ms } = target.observability.log!
      const state = String(at(recordIn(target, reading, requestIdOf(target, exchange) ?? ''), fields.state))
      const late = reading ? Math.round(reading.at - exchange.end_at) : null
      const what = `state ${JSON.stringify(state)} was read ${late ?? '?'} ms after the end, declared lag ${lag_ms} ms`
      return finding('final-in-time', completed.includes(state), what, refs(exchange, reading))
    }),
} satisfies Check
