// MSG-13: `Retry-After` and `x-should-retry` are passed on (Waybill: every 429 has `Retry-After`).
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { step } from '../step.ts'
import { ended } from '../words.ts'

const call = step<{ stream: boolean }>('the provider is busy')

const SAID = { 'retry-after': '1', 'x-should-retry': 'false' }

export const retryWords = {
  id: 'MSG-13',
  needs: ['messages'],
  surface: 'messages',
  relays: true,
  timeout: 150_000,
  async exercise(session) {
    for (const stream of [false, true]) {
      await session.chat(call.with({ stream }), {
        stream,
        script: [{ status: 429, headers: SAID }],
        timeout: 60_000,
      })
      await session.wait(Math.max(1_500, session.target.capabilities.cooldown_ms))
    }
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const got = Object.keys(SAID).map((name) => exchange.headers[name] ?? 'none')
      return finding(
        'retry-words-arrive',
        exchange.status === 429 && Number(got[0]) >= 1 && got[1] === 'false',
        'Retry-After and x-should-retry of an answer of a provider that is busy',
        { expected: '429, 1 and false', actual: `${ended(exchange)}, ${got.join(' and ')}` },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
