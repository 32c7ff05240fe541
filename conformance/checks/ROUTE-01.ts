// ROUTE-01: A logical id reaches one of its configured targets, and the provider sees the target's model id.
import { type Check, finding } from '../check.ts'
import { labelled, refs, servedBy, where } from '../lookup.ts'
import { isIn } from './route.ts'

export const logicalIds = {
  id: 'ROUTE-01',
  needs: ['logical'],
  async exercise(session) {
    for (const { id } of session.target.models.logical)
      for (const stream of [false, true, false]) await session.chat(id, { model: id, stream })
  },
  judge: ({ evidence, target }) =>
    target.models.logical.flatMap((table) =>
      labelled(evidence, table.id).map((exchange) => {
        const entry = servedBy(evidence, exchange)
        const ok = entry !== null && isIn(table, entry) && exchange.status === 200
        const went = entry ? where(entry) : 'nowhere'
        return finding(
          'reaches-a-configured-target',
          ok,
          `"${table.id}" went to ${went}, the client got ${exchange.status}`,
          refs(exchange, entry),
        )
      }),
    ),
} satisfies Check
