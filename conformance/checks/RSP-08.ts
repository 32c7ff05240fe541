// RSP-08: An upgrade to a WebSocket on `/v1/responses` is immediately accepted (101) or refused (426).

import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { ordinaryCall, pace } from './pace.ts'

const upgrade = step('upgrade')

/** Maximum delay that counts as immediate, ms. */
const AT_ONCE_MS = 2_000

export const upgradesAreAnswered = {
  id: 'RSP-08',
  needs: ['responses'],
  dialect: 'responses',
  async exercise(session) {
    await ordinaryCall(session)
    await session.ask(upgrade, session.dialect.path, {
      headers: {
        ...{ connection: 'Upgrade', upgrade: 'websocket' },
        ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'd2F5YmlsbC1jb25mb3JtIQ==' },
      },
    })
  },
  judge: ({ evidence }) =>
    upgrade.in(evidence).map((exchange) => {
      const took = Math.round(exchange.end_at - exchange.at)
      const limit = Math.round(AT_ONCE_MS + pace(evidence))
      const allowed = [426, 101]
      return finding(
        'upgrade-is-answered',
        allowed.includes(exchange.status ?? 0) && took <= limit,
        `the answer to an upgrade of ${exchange.request.path}`,
        {
          expected: `${allowed.join(' or ')} within ${limit} ms: after any other status clients try again for seconds`,
          actual: `${endText(exchange)} after ${took} ms`,
        },
        [ref(exchange)],
      )
    }),
} satisfies Check
