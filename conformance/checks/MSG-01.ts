// MSG-01: `/v1/messages` is matched by its path, whatever the query.
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { step } from '../step.ts'
import { ended } from '../words.ts'

const call = step<{ query: string }>('call')

export const anyQuery = {
  id: 'MSG-01',
  needs: ['messages'],
  surface: 'messages',
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
        { expected: '200', actual: `${ended(exchange)}${entry ? '' : ', and no provider was asked'}` },
        refs(exchange, entry),
      )
    }),
} satisfies Check
