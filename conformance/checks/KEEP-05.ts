// KEEP-05: Public metadata holds exactly the public fields.
import { type Check, finding } from '../check.ts'
import { labelled, ref } from '../lookup.ts'
import { jsonOf } from '../reading.ts'

const PUBLIC = ['name', 'strategy', 'model_ids', 'providerId', 'description']

export const publicMetadata = {
  id: 'KEEP-05',
  async exercise(session) {
    await session.ask('public', '/v1beta/models')
  },
  judge: ({ evidence }) =>
    labelled(evidence, 'public').map((exchange) => {
      const json = jsonOf(exchange.body) as { models?: object[] } | undefined
      const models = json?.models ?? []
      const keys = new Set(models.flatMap((each) => Object.keys(each)))
      const ok =
        models.length > 0 &&
        Object.keys(json!).join() === 'models' &&
        [...keys].sort().join() === [...PUBLIC].sort().join()
      return finding(
        'only-public-fields',
        ok,
        `${models.length} entries with the fields ${[...keys].join(', ')}`,
        [ref(exchange)],
      )
    }),
} satisfies Check
