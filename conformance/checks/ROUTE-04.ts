// ROUTE-04: Nothing outside the configured targets is called, also when all of them fail.
import { type Check, finding } from '../check.ts'
import { labelled, refs, requestsOf, where } from '../lookup.ts'
import { failure } from '../scripted.ts'
import { isIn } from './route.ts'

export const nothingOutside = {
  id: 'ROUTE-04',
  needs: ['logical'],
  timeout: 90_000,
  async exercise(session) {
    for (const { id } of session.target.models.logical) {
      await session.chat(id, { model: id, script: [failure(500)] })
      await session.drain()
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target }) =>
    target.models.logical.flatMap((table) =>
      labelled(evidence, table.id).map((exchange) => {
        const entries = requestsOf(evidence, exchange)
        const outside = entries.filter((entry) => !isIn(table, entry))
        const ok = entries.length > 0 && outside.length === 0 && (exchange.status ?? 0) >= 400
        return finding(
          'no-other-target',
          ok,
          `all targets of "${table.id}" failed: ${entries.length} requests, ${outside.length} of them to others (${outside.map(where).join(', ') || 'none'}); the client got ${exchange.status}`,
          refs(exchange, ...entries),
        )
      }),
    ),
} satisfies Check
