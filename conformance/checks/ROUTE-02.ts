// ROUTE-02: A direct provider/model id is never rerouted.
import { type Check, finding } from '../check.ts'
import { labelled, refs, requestsOf, where } from '../lookup.ts'
import { failure } from '../scripted.ts'

export const directIds = {
  id: 'ROUTE-02',
  needs: ['direct'],
  async exercise(session) {
    for (const { id } of session.target.models.direct) {
      await session.chat(id, { model: id })
      await session.chat(id, { model: id, stream: true })
      await session.chat(id, { model: id, script: [failure(500)] })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target }) =>
    target.models.direct.flatMap(({ id, provider, model }) =>
      labelled(evidence, id).map((exchange) => {
        const entries = requestsOf(evidence, exchange)
        const ok =
          entries.length > 0 && entries.every((entry) => entry.provider === provider && entry.model === model)
        const went = entries.map(where).join(', ') || 'nowhere'
        return finding('reaches-its-model-only', ok, `"${id}" went to ${went}`, refs(exchange, ...entries))
      }),
    ),
} satisfies Check
