// MSG-01: `/v1/messages` is matched by its path alone, because the official client adds a query.

import { refs, servedBy } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ query: string }>('call')

export const anyQuery = {
  id: 'MSG-01',
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    for (const query of ['?beta=true', '?beta=true&x=1', '?'])
      await session.chat(call.with({ query }), { query })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      return finding(
        'any-query-is-served',
        exchange.status === 200 && entry !== null,
        `a call of /v1/messages${exchange.details.query}`,
        { expected: '200', actual: `${endText(exchange)}${entry ? '' : ', and no provider was asked'}` },
        refs(exchange, entry),
      )
    }),
} satisfies Check
