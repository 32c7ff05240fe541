// TELL-03: The answer's request id finds exactly one record.
import { type Check, finding } from '../check.ts'
import { itemsOf, labelled, recordIn, ref, refs, requestIdOf } from '../lookup.ts'
import { at } from '../reading.ts'

export const idFindsTheRecord = {
  id: 'TELL-03',
  needs: ['request_id', 'log'],
  async exercise(session) {
    for (const stream of [false, true, false]) {
      const exchange = await session.chat('call', { stream })
      await session.record(`record of #${exchange.n}`, exchange)
    }
  },
  judge({ evidence, target }) {
    const calls = labelled(evidence, 'call')
    const ids = calls.map((exchange) => requestIdOf(target, exchange))
    return [
      finding(
        'ids-differ',
        new Set(ids).size === calls.length,
        `${calls.length} answers carry ${new Set(ids).size} different request ids`,
        calls.map(ref),
      ),
      ...calls.map((exchange, index) => {
        const [reading] = labelled(evidence, `record of #${exchange.n}`)
        const record = ids[index] ? recordIn(target, reading, ids[index]) : undefined
        const { fields, one } = target.observability.log!
        const same = String(at(record, fields.id)) === ids[index]
        const found = one === undefined && reading ? (itemsOf(target, reading) ?? []) : [record]
        const twice = found.filter((item) => String(at(item, fields.id)) === ids[index]).length > 1
        return finding(
          'id-finds-one-record',
          record !== undefined && same && !twice,
          `request id ${ids[index] ?? 'none'} finds ${record === undefined ? 'no record' : twice ? 'more than one record' : 'its record'}`,
          refs(exchange, reading),
        )
      }),
    ]
  },
} satisfies Check
