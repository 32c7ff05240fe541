// CAT-01: `/v1/models` is a valid OpenAI list that names the configured models and routes.

import { ref } from '../dialects/lookup.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText, listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { modelListSchema } from './cat.ts'

const steps = {
  catalog: step('catalog'),
}

export const catalogNamesModels = {
  id: 'CAT-01',
  needs: ['catalog'],
  async exercise(session) {
    await session.ask(steps.catalog, session.target.capabilities.catalog!)
  },
  judge: ({ evidence, target, waybill }) =>
    steps.catalog.in(evidence).flatMap((exchange) => {
      const parsed = modelListSchema.safeParse(jsonOf(exchange.body))
      if (!parsed.success)
        return [
          finding(
            'is-a-model-list',
            false,
            'the catalog',
            {
              expected: "OpenAI's model list",
              actual: `${endText(exchange)}, and at "${parsed.error.issues[0]!.path.join('.')}": ${parsed.error.issues[0]!.message}`,
            },
            [ref(exchange)],
          ),
        ]
      const ids = parsed.data.data.map(({ id }) => id)
      const configured = [...target.models.logical, ...target.models.direct].map(({ id }) => id)
      // A gateway that forwards all models of a provider may list them as one entry: `openai/*`.
      const names = (entry: string, id: string) =>
        entry === id || (!waybill && entry.endsWith('/*') && id.startsWith(entry.slice(0, -1)))
      const missing = configured.filter((id) => !ids.some((entry) => names(entry, id)))
      return [
        finding(
          'has-entries',
          exchange.status === 200 && ids.length > 0,
          'entries of the catalog',
          { expected: '200, and at least one', actual: `${endText(exchange)}, and ${ids.length}` },
          [ref(exchange)],
        ),
        finding(
          'configured-are-listed',
          missing.length === 0,
          'models of the target file that the catalog does not list',
          { expected: 'none', actual: listed(missing) },
          [ref(exchange)],
        ),
        // Other gateways may list a model name once for each provider that has it.
        ...(waybill
          ? [
              finding(
                'no-id-twice',
                new Set(ids).size === ids.length,
                'ids',
                { expected: 'each once', actual: `${ids.length} entries of ${new Set(ids).size} ids` },
                [ref(exchange)],
              ),
            ]
          : []),
      ]
    }),
} satisfies Check
