// MSG-21: `HEAD /api/hello` needs no key and is not a call.

import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const hello = step<{ method: string }>('hello')

export const helloIsNoCall = {
  id: 'MSG-21',
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    for (const method of ['HEAD', 'GET'])
      await session.ask(hello.with({ method }), '/api/hello', { method, key: null })
    await session.drain()
  },
  judge: ({ evidence }) =>
    hello.in(evidence).map((exchange) => {
      const asked = evidence.ledger.filter(({ at }) => at >= exchange.at)
      return finding(
        'hello-is-no-call',
        exchange.status === 200 && asked.length === 0,
        `${exchange.details.method} /api/hello without a key`,
        {
          expected: '200, and nothing at the mock',
          actual: `${endText(exchange)}, and ${asked.length} requests`,
        },
        [exchange, ...asked].map(ref),
      )
    }),
} satisfies Check
