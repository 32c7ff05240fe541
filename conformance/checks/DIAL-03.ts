// DIAL-03: A stream in the client's dialect arrives byte for byte, including comments, pings and unknown events.

import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { delta, END } from '../dialects/scripted.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  call: step<{ scenario: string }>('call'),
  unknown: step('an event that nobody knows'),
}

const MYSTERY = { raw: 'event: mystery\ndata: {"type":"mystery","n": 1.0}\n\n' }

export const sameStream = {
  id: 'DIAL-03',
  needs: ['messages'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    for (const scenario of ['plain', 'tools-parallel', 'reasoning', 'comments', 'pings'])
      await session.chat(steps.call.with({ scenario }), { stream: true, script: [{ scenario }] })
    await session.chat(steps.unknown, { stream: true, script: [{ events: [delta('one'), MYSTERY, END] }] })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const sent = entry?.answer.body ?? ''
      const [got, theirs] = [exchange.body, sent].map((body) => body.split('\n\n'))
      const at = theirs!.findIndex((event, index) => event !== got![index])
      return [
        finding(
          'same-stream',
          sent !== '' && exchange.body === sent,
          `the stream of "${stepText(exchange)}"`,
          {
            expected: `the ${sent.length} characters that the provider sent`,
            actual:
              at < 0
                ? `${exchange.body.length} characters`
                : `event ${at + 1} is ${JSON.stringify(got![at]?.slice(0, 80) ?? null)}`,
          },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
