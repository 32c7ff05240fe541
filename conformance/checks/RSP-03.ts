// RSP-03: Every stream ends with a terminal event (`response.completed`, `response.incomplete` or `response.failed`)
// or with a reset.

import { refs, servedBy } from '../dialects/lookup.ts'
import { type AnyJson, jsonOf, readEvents } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ scenario: string }>('stream')

const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed', 'error']

export const responsesEnd = {
  id: 'RSP-03',
  needs: ['responses'],
  dialect: 'responses',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    for (const scenario of ['plain', 'finish-length', 'cut-after-2', 'cut-after-4']) {
      await session.chat(call.with({ scenario }), { stream: true, script: [{ scenario }] })
      if (scenario.startsWith('cut')) await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      // Keepalives and the gateway's own events may occur anywhere.
      const last = readEvents(exchange.body)
        .map(({ data }) => jsonOf(data) as AnyJson | undefined)
        .findLast((event) => /^(response\.|error$)/.test(event?.type ?? ''))
      // Before the response starts, an error is a status.
      const refused = exchange.status === null || exchange.status >= 400
      const ok = refused || exchange.end === 'cut' || TERMINAL.includes(last?.type)
      return finding(
        'ends-in-a-terminal-event',
        ok,
        `how "${stepText(exchange)}" ended`,
        {
          expected: 'a terminal event, or a broken connection',
          actual: `${last?.type ?? 'no event'}, ${exchange.end === 'timed_out' ? exchange.error : exchange.end}`,
        },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
