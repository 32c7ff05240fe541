// CAT-02: Chat, embedding and image models and routes are listed, each with its type.
import { type Check, finding } from '../check.ts'
import { labelled, ref } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'

export const catalogHasTypes = {
  id: 'CAT-02',
  needs: ['catalog'],
  async exercise(session) {
    await session.ask('catalog', session.target.capabilities.catalog!)
  },
  judge: ({ evidence }) =>
    labelled(evidence, 'catalog').flatMap((exchange) => {
      const data = (at(jsonOf(exchange.body), '/data') ?? []) as { id: string; type: string }[]
      const types = ['chat', 'embedding', 'image', 'route']
      return types.map((type) => {
        const ids = data.filter((each) => each.type === type).map(({ id }) => id)
        return finding('each-type-is-listed', ids.length > 0, `${type}: ${ids.join(', ') || 'none'}`, [
          ref(exchange),
        ])
      })
    }),
} satisfies Check
