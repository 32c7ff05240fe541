// GEM-07: An unknown id goes to the default route for Gemini, or gets 404 `NOT_FOUND`.
import { refs, servedBy } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ model: string }>('call')

export const geminiDefault = {
  id: 'GEM-07',
  needs: ['gemini'],
  dialect: 'gemini',
  async exercise(session) {
    for (const model of ['gemini-of-tomorrow', 'nobody/nothing'])
      await session.chat(call.with({ model }), { model })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const status = at(jsonOf(exchange.body), '/error/status')
      const isRouted = exchange.status === 200 && entry !== null
      return finding(
        'default-or-not-found',
        isRouted || (exchange.status === 404 && status === 'NOT_FOUND' && entry === null),
        `the answer to "${stepText(exchange)}"`,
        {
          expected: '200 from the default route, or 404 NOT_FOUND and no request',
          actual: `${endText(exchange)} ${status ?? ''}${entry ? ', and a provider was asked' : ''}`,
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
