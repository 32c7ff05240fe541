// LOG-06: A call that the client left is not recorded as a completed success.
import { type Check, finding } from '../check.ts'
import { labelled, recordIn, refs, requestIdOf } from '../lookup.ts'
import { at } from '../reading.ts'
import { leave } from './log.ts'

export const leftIsNotCompleted = {
  id: 'LOG-06',
  needs: ['log', 'record', 'state'],
  hostile: true,
  async exercise(session) {
    const exchange = await leave(session, 'left')
    await session.wait(session.target.observability.log!.lag_ms)
    await session.record(`record of #${exchange.n}`, exchange)
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'left').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const state = at(record, target.observability.log!.fields.state)
      const ok =
        exchange.end === 'left' &&
        record !== undefined &&
        !target.observability.log!.completed.includes(String(state))
      return finding(
        'left-is-not-completed',
        ok,
        `a call that the client left (${exchange.end}) is on record as ${JSON.stringify(state) ?? 'nothing'}`,
        refs(exchange, reading),
      )
    }),
} satisfies Check
