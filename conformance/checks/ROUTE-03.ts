// ROUTE-03: An unknown id gets a 4xx that says so (Waybill: 404 `model_not_found`).
import { type Check, finding } from '../check.ts'
import { ref, refs, requestsOf, where } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { step } from '../step.ts'
import { ended, listed } from '../words.ts'

const unknown = step<{ model: string }>('unknown model')

export const unknownIds = {
  id: 'ROUTE-03',
  async exercise(session) {
    // Where a gateway leaves it to the provider to know a model, the provider says no.
    const script = [{ scenario: '404' }]
    for (const model of ['no-such-route', 'no-such-provider/no-such-model'])
      await session.chat(unknown.with({ model }), { model, script })
  },
  judge: ({ evidence, waybill }) =>
    unknown.in(evidence).flatMap((exchange) => {
      const { status, body, details } = exchange
      const refused = status !== null && status >= 400 && status < 500
      const worded = waybill
        ? status === 404 && at(jsonOf(body), '/error/code') === 'model_not_found'
        : body.length > 0
      const elsewhere = requestsOf(evidence, exchange).filter(
        ({ model }) => model === null || !details.model.endsWith(model),
      )
      return [
        finding(
          'unknown-is-refused',
          refused && worded,
          `the answer to a call of the unknown model "${details.model}"`,
          {
            expected: waybill ? '404 model_not_found' : 'a 4xx that says why',
            actual: `${ended(exchange)}: ${body.slice(0, 120) || 'no body'}`,
          },
          [ref(exchange)],
        ),
        finding(
          'goes-nowhere-else',
          elsewhere.length === 0,
          `other models that "${details.model}" was sent to`,
          { expected: 'none', actual: listed(elsewhere.map(where)) },
          refs(exchange, ...elsewhere),
        ),
      ]
    }),
} satisfies Check
