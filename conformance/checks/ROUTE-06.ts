// ROUTE-06: Fields that the gateway does not know reach the provider unchanged.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { at } from '../reading.ts'

const UNKNOWN = { x_waybill_probe: { deep: [1, null, 'two'], flag: false } }

export const unknownFields = {
  id: 'ROUTE-06',
  async exercise(session) {
    await session.chat('unknown field', { body: UNKNOWN })
    await session.chat('unknown field, streamed', { body: UNKNOWN, stream: true })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const ok = isDeepStrictEqual(at(entry?.body, '/x_waybill_probe'), UNKNOWN.x_waybill_probe)
      return finding(
        'unknown-fields-arrive',
        ok,
        `${exchange.label}: ${ok ? 'arrived' : 'did not arrive'} unchanged`,
        refs(exchange, entry),
      )
    }),
} satisfies Check
