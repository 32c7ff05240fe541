// ROUTE-03: An unknown id gets a 4xx that says so (Waybill: 404 `model_not_found`).

import { ref, refs, requestsOf, where } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText, listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const unknown = step<{ model: string }>('unknown model')

export const unknownIds = {
  id: 'ROUTE-03',
  async exercise(session) {
    // A gateway may pass unknown models to the provider, which then refuses them.
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
            actual: `${endText(exchange)}: ${body.slice(0, 120) || 'no body'}`,
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
