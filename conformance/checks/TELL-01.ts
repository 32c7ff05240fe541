// TELL-01: Response headers name the provider and model that served, streaming too.
import type { Check } from '../check.ts'
import { headersName } from './tell.ts'

export const headersNameTheServer = {
  id: 'TELL-01',
  needs: ['headers'],
  async exercise(session) {
    const { logical, direct } = session.target.models
    for (const { id } of [...logical, ...direct])
      for (const stream of [false, true])
        await session.chat(`${id}${stream ? ', streamed' : ''}`, { model: id, stream })
  },
  judge: ({ evidence, target }) =>
    evidence.exchanges.map((exchange) => headersName(evidence, target, exchange)),
} satisfies Check
