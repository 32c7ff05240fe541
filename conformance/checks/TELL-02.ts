// TELL-02: After a fallback, the response headers name the target that served the call, never a target that failed.

import { aFallbackStatus, movedOn, refs, requestsOf } from '../dialects/lookup.ts'
import { firstTargetFails } from '../dialects/scripted.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, doubt } from '../runner/check.ts'
import { headersName } from './tell.ts'

const call = step<{ stream: boolean }>('call')

export const headersAfterFallback = {
  id: 'TELL-02',
  needs: ['headers', 'fallback'],
  timeout: 60_000,
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
    const script = firstTargetFails(aFallbackStatus(session.target), route)
    for (const stream of [false, true]) {
      await session.chat(call.with({ stream }), { model: route.id, stream, script })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target }) =>
    evidence.exchanges.map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      const fellBack = movedOn(target, exchange, entries).length > 0 && exchange.status === 200
      // ROUTE-07 checks that the gateway falls back.
      return fellBack
        ? headersName(evidence, target, exchange)
        : doubt(
            'headers-name-the-server',
            `${stepText(exchange)}: it was not answered after a fallback`,
            refs(exchange, ...entries),
          )
    }),
} satisfies Check
