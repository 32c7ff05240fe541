// TELL-03: The request id of an answer identifies exactly one record.

import { isSameId, itemsOf, recordIn, ref, refs, requestIdOf } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  call: step('call'),
}

export const idFindsTheRecord = {
  id: 'TELL-03',
  needs: ['request_id', 'log'],
  async exercise(session) {
    for (const stream of [false, true, false]) {
      const exchange = await session.chat(steps.call, { stream })
      await session.record(exchange)
    }
  },
  judge({ evidence, target }) {
    const calls = steps.call.in(evidence)
    const ids = calls.map((exchange) => requestIdOf(target, exchange))
    return [
      finding(
        'ids-differ',
        new Set(ids).size === calls.length,
        `request ids of ${calls.length} answers`,
        { expected: 'all different', actual: `${new Set(ids).size} different` },
        calls.map(ref),
      ),
      ...calls.map((exchange, index) => {
        const reading = recordExchange(evidence, exchange)
        const record = ids[index] ? recordIn(target, reading, ids[index]) : undefined
        const { fields, one } = target.observability.log!
        const same = isSameId(at(record, fields.id), ids[index])
        const found = one === undefined && reading ? (itemsOf(target, reading) ?? []) : [record]
        const twice = found.filter((item) => isSameId(at(item, fields.id), ids[index])).length > 1
        return finding(
          'id-finds-one-record',
          record !== undefined && same && !twice,
          `what request id ${ids[index] ?? 'none'} finds`,
          {
            expected: 'one record, its own',
            actual: record === undefined ? 'none' : twice ? 'more than one' : same ? 'one' : 'another',
          },
          refs(exchange, reading),
        )
      }),
    ]
  },
} satisfies Check
