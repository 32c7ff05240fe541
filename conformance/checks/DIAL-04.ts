// DIAL-04: Everything that a translation loses is named with fixed words in the record of the attempt and in
// `X-Gateway-Lossy`. A route with `on_loss: refuse` answers 400 in the client's dialect instead, and nothing is
// sent. The tier, speed and region that served the call are on the record, not in a translated answer.

import { modelsOf, refs, requestsOf, servedBy } from '../dialects/lookup.ts'
import { dialectOf, isCrossed } from '../dialects/registry.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { recordExchange, step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { recordAfter } from './use/parts.ts'

const steps = {
  call: step<{ model: string }>('call'),
  refused: step('a route that refuses losses'),
}

/** Member without an equivalent in chat. */
const LOST = { top_k: 5 }
const WORD = 'sampling.top_k'

export const lossesAreNamed = {
  id: 'DIAL-04',
  needs: ['messages', 'record', 'variant:losses'],
  dialect: 'messages',
  async exercise(session) {
    for (const model of modelsOf(session))
      await recordAfter(session, steps.call.with({ model }), { model, body: LOST })
    await session.another('losses')
    await session.chat(steps.refused, { model: 'refuses', body: LOST })
  },
  judge: ({ evidence }) => [
    ...steps.call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const crossed = entry !== null && isCrossed(exchange, entry)
      const reading = recordExchange(evidence, exchange)
      const losses = at(jsonOf(reading?.body ?? ''), '/attempt_log/0/losses')
      const inHeader = (exchange.headers['x-gateway-lossy'] ?? '').split(', ').includes(WORD)
      const onRecord = Array.isArray(losses) && losses.includes(WORD)
      return finding(
        'losses-are-named',
        entry !== null && inHeader === crossed && onRecord === crossed,
        `what "${stepText(exchange)}" says of top_k`,
        {
          expected: crossed ? `${WORD}, in the header and on record` : 'nothing, it was relayed',
          actual: `${exchange.headers['x-gateway-lossy'] ?? 'no header'}, and on record ${JSON.stringify(losses)}`,
        },
        refs(exchange, reading, entry),
      )
    }),
    ...steps.refused.in(evidence).map((exchange) => {
      const requests = requestsOf(evidence, exchange)
      return finding(
        'losses-are-refused',
        exchange.status === 400 && dialectOf(exchange).isError(exchange.body) && requests.length === 0,
        'a call that would lose something, on a route that refuses that',
        {
          expected: '400 in the dialect of the client, and nothing at the mock',
          actual: `${endText(exchange)}, and ${requests.length} requests: ${exchange.body.slice(0, 100)}`,
        },
        refs(exchange, ...requests),
      )
    }),
  ],
} satisfies Check
