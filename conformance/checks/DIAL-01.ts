// DIAL-01: If the provider speaks the client's dialect, the body that it receives differs from the body that the
// client sent only in `model`.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { type Json, jsonOf } from '../reading.ts'
import { inWords, step } from '../step.ts'
import { isCrossed } from '../surfaces.ts'

const call = step<{ stream: boolean }>('call')

/** What dialects have in common, beside what each needs. */
const MORE = {
  metadata: { user_id: 'a-user' },
  temperature: 0.5,
  tools: [],
  x_waybill_probe: { deep: [1, null, 'two'] },
}

export const sameBody = {
  id: 'DIAL-01',
  needs: ['messages'],
  surface: 'messages',
  relays: true,
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(call.with({ stream }), { stream, body: MORE, script: [{ scenario: 'plain' }] })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const without = (body: unknown) => ({ ...(body as Json), model: null })
      const [got, sent] = [without(entry?.body), without(jsonOf(exchange.request.body ?? ''))]
      const apart = [...new Set([...Object.keys(got), ...Object.keys(sent)])].filter(
        (name) => !isDeepStrictEqual((got as Json)[name], (sent as Json)[name]),
      )
      return [
        finding(
          'same-body',
          entry !== null && apart.length === 0,
          `the body that the provider got of "${inWords(exchange)}"`,
          {
            expected: 'as it was sent, but for the model',
            actual:
              entry === null
                ? 'no provider was asked'
                : apart.length > 0
                  ? `other in ${apart.join(', ')}`
                  : 'the same',
          },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
