// PASS-05: If the cost of a call has no bound, a key with a budget is refused, and nothing is sent. (Waybill: 403.)

import { refs } from '../dialects/lookup.ts'
import { arrivedOf, postJson, RELAYED_CALLS } from '../dialects/passthrough.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ nonce: string }>('a speech, whose cost has no bound')

export const budgetsHaveBounds = {
  id: 'PASS-05',
  needs: ['passthrough', 'budget', 'variant:budget'],
  async exercise(session) {
    await session.another('budget')
    if (!session.target.capabilities.passthrough!.endpoints.includes('audio'))
      session.untestable('It relays no audio.')
    const nonce = session.nonce()
    const { path, body } = RELAYED_CALLS.audio
    await session.ask(call.with({ nonce }), path, postJson(body(nonce)))
  },
  judge: ({ evidence, waybill }) =>
    call.in(evidence).map((exchange) => {
      const { status, details } = exchange
      const entries = arrivedOf(evidence, details.nonce)
      const isRefused = status !== null && (waybill ? status === 403 : status >= 400 && status < 500)
      return finding(
        'unbounded-call-is-refused',
        isRefused && entries.length === 0,
        'a call of a key with a budget whose cost nobody can bound',
        {
          expected: `${waybill ? '403' : 'a 4xx'}, and nothing at the provider`,
          actual: `${endText(exchange)}; ${entries.length} requests at the provider`,
        },
        refs(exchange, ...entries),
      )
    }),
} satisfies Check
