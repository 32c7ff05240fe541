// ROUTE-07: Before the response starts, the gateway tries the next target under exactly the declared conditions.
// (Waybill: those listed under Errors; after a refused parameter, one more request goes to the same target, see
// FIT-01.)

import { aFallbackStatus, movedOn, refs, requestsOf, where } from '../dialects/lookup.ts'
import { firstTargetFails } from '../dialects/scripted.ts'
import type { Evidence } from '../evidence/evidence.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'

/** Statuses after which a gateway may fall back only if it declares this. */
const FINAL = [400, 413, 422]

const call = step<{ status: number; stream: boolean }>('the first target fails')

async function tryFallback(session: CheckContext, status: number, stream = false): Promise<void> {
  const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
  const script = firstTargetFails(status, route)
  await session.chat(call.with({ status, stream }), { model: route.id, script, stream })
  await session.wait(session.target.capabilities.cooldown_ms)
}

const routeOf = (entries: Evidence['ledger']): string => entries.map(where).join(', ') || 'no target'

export const fallbackConditions = {
  id: 'ROUTE-07',
  needs: ['fallback'],
  timeout: 120_000,
  async exercise(session) {
    const { fallback_statuses } = session.target.capabilities
    for (const status of fallback_statuses) await tryFallback(session, status)
    // One streamed call is enough to show that streams fall back as well.
    await tryFallback(session, aFallbackStatus(session.target), true)
    for (const status of FINAL.filter((each) => !fallback_statuses.includes(each)))
      await tryFallback(session, status)
  },
  judge: ({ evidence, target }) =>
    call.in(evidence).map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      const others = movedOn(target, exchange, entries)
      const { status } = exchange.details
      const moves = target.capabilities.fallback_statuses.includes(status)
      return finding(
        'moves-on-as-declared',
        moves ? others.length > 0 && exchange.status === 200 : entries.length > 0 && others.length === 0,
        `where the call went on to after ${status} of ${routeOf(entries.slice(0, 1))}, ${moves ? '' : 'not '}declared`,
        {
          expected: moves ? 'another target, and 200 for the client' : 'no target',
          actual: `${routeOf(others)}, and ${endText(exchange)} for the client`,
        },
        refs(exchange, ...entries),
      )
    }),
} satisfies Check
