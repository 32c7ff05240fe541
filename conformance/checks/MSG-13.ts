// MSG-13: `Retry-After` and `x-should-retry` are passed on (Waybill: every 429 has `Retry-After`).

import { refs, saysWhen, servedBy } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ stream: boolean }>('the provider is busy')

/** Number of seconds that gateways do not use as a default. */
const SECONDS = 7

const SAID = { 'retry-after': String(SECONDS), 'x-should-retry': 'false' }

export const retryWords = {
  id: 'MSG-13',
  needs: ['messages'],
  dialect: 'messages',
  relays: true,
  timeout: 150_000,
  async exercise(session) {
    for (const stream of [false, true]) {
      await session.chat(call.with({ stream }), {
        stream,
        script: [{ status: 429, headers: SAID }],
        timeout: 60_000,
      })
      await session.wait(Math.max(SECONDS * 1_000 + 500, session.target.capabilities.cooldown_ms))
    }
  },
  judge: ({ evidence, target }) =>
    call.in(evidence).map((exchange) => {
      const seconds = Number(at(exchange.script, '/0/headers/retry-after') ?? SECONDS)
      const got = Object.keys(SAID).map((name) => exchange.headers[name] ?? 'none')
      return finding(
        'retry-words-arrive',
        exchange.status === 429 && saysWhen(seconds, exchange, target) && got[1] === 'false',
        'Retry-After and x-should-retry of an answer of a provider that is busy',
        { expected: `429, ${seconds} and false`, actual: `${endText(exchange)}, ${got.join(' and ')}` },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
