// KEEP-05: Public metadata contains exactly the public fields.

import { ref } from '../dialects/lookup.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  public: step('public'),
}

const PUBLIC = ['name', 'strategy', 'model_ids', 'providerId', 'description']

export const publicMetadata = {
  id: 'KEEP-05',
  async exercise(session) {
    await session.ask(steps.public, '/v1beta/models')
  },
  judge: ({ evidence }) =>
    steps.public.in(evidence).map((exchange) => {
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
        `the fields of ${models.length} entries`,
        { expected: `of at least one: ${PUBLIC.join(', ')}`, actual: listed([...keys]) },
        [ref(exchange)],
      )
    }),
} satisfies Check
