// CAT-02: Chat, embedding and image models and routes are listed, each with its type.

import { ref } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  catalog: step('catalog'),
}

export const catalogHasTypes = {
  id: 'CAT-02',
  needs: ['catalog'],
  async exercise(session) {
    await session.ask(steps.catalog, session.target.capabilities.catalog!)
  },
  judge: ({ evidence }) =>
    steps.catalog.in(evidence).flatMap((exchange) => {
      const data = (at(jsonOf(exchange.body), '/data') ?? []) as { id: string; type: string }[]
      const types = ['chat', 'embedding', 'image', 'route']
      return types.map((type) => {
        const ids = data.filter((each) => each.type === type).map(({ id }) => id)
        return finding(
          'each-type-is-listed',
          ids.length > 0,
          `entries of the type ${type}`,
          { expected: 'at least one', actual: listed(ids) },
          [ref(exchange)],
        )
      })
    }),
} satisfies Check
