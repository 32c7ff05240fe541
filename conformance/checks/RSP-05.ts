// RSP-05: `store` is passed on unchanged. (Waybill: if the provider does not keep an answer, its id is not kept
// either. With `store: false`, the gateway keeps nothing of the answer.)

import { refs, requestsOf, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { response } from './responses.ts'

const steps = {
  call: step<{ store: boolean; stream: boolean }>('call'),
  next: step('goes on from what was not kept'),
}

export const storeIsPassedOn = {
  id: 'RSP-05',
  since: 4,
  needs: ['responses'],
  dialect: 'responses',
  relays: true,
  async exercise(session) {
    let lost: unknown
    for (const store of [true, false])
      for (const stream of [true, false]) {
        const { body } = await session.chat(steps.call.with({ store, stream }), {
          ...{ stream, body: { store } },
          ...(!stream && { script: [{ body: { ...response(), id: 'resp_synthetic_0000', store } }] }),
        })
        lost = at(jsonOf(body), '/id')
      }
    if (typeof lost === 'string') await session.chat(steps.next, { body: { previous_response_id: lost } })
  },
  judge: ({ evidence, waybill }) => [
    ...steps.call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const got = at(entry?.body, '/store')
      return [
        finding(
          'store-is-passed-on',
          got === exchange.details.store,
          `/store of the provider's request in "${stepText(exchange)}"`,
          { expected: String(exchange.details.store), actual: JSON.stringify(got) ?? 'nothing' },
          refs(exchange, entry),
        ),
      ]
    }),
    ...steps.next.in(evidence).flatMap((exchange) => {
      if (!waybill) return []
      const requests = requestsOf(evidence, exchange)
      return [
        finding(
          'what-was-not-kept-is-unknown',
          exchange.status === 400 &&
            exchange.body.includes('previous_response_not_found') &&
            requests.length === 0,
          `the answer to a call that ${exchange.step}`,
          {
            expected: '400 previous_response_not_found, and nothing at the mock',
            actual: `${endText(exchange)}, and ${requests.length} requests: ${exchange.body.slice(0, 100)}`,
          },
          refs(exchange, ...requests),
        ),
      ]
    }),
  ],
} satisfies Check
