// SRV-09: `/v1/models` is OpenAI's list of at least one model. The list contains the model of the run (SHOULD).
import { ref } from '../dialects/lookup.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText, listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { modelListSchema } from './catalog.ts'

const list = step('model list')

export const theModelIsListed = {
  id: 'SRV-09',
  needs: ['catalog'],
  async exercise(session) {
    await session.ask(list, session.target.capabilities.catalog!)
  },
  judge: ({ evidence, target }) =>
    list.in(evidence).flatMap((exchange) => {
      const { success, data } = modelListSchema.safeParse(jsonOf(exchange.body))
      const ids = success ? data.data.map(({ id }) => id) : []
      const { call } = target.models
      return [
        finding(
          'is-a-model-list',
          exchange.status === 200 && success && ids.length > 0,
          'the model list',
          {
            expected: "200, and OpenAI's list with at least one model",
            actual: `${endText(exchange)}: ${exchange.body.slice(0, 200)}`,
          },
          [ref(exchange)],
        ),
        // Aliases and models that are loaded on demand need not be listed.
        {
          ...finding(
            'called-model-is-listed',
            call === undefined || ids.includes(call),
            'the model of this run in the list',
            { expected: String(call), actual: listed(ids.slice(0, 20)) },
            [ref(exchange)],
          ),
          advice: true,
        },
      ]
    }),
} satisfies Check
