// CAT-01: `/v1/models` is a valid OpenAI list that names the configured models and routes.
import { type Check, finding } from '../check.ts'
import { ref } from '../lookup.ts'
import { jsonOf } from '../reading.ts'
import { step } from '../step.ts'
import { ended, listed } from '../words.ts'
import { modelList } from './cat.ts'

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
      const parsed = modelList.safeParse(jsonOf(exchange.body))
      if (!parsed.success)
        return [
          finding(
            'is-a-model-list',
            false,
            'the catalog',
            {
              expected: "OpenAI's model list",
              actual: `${ended(exchange)}, and at "${parsed.error.issues[0]!.path.join('.')}": ${parsed.error.issues[0]!.message}`,
            },
            [ref(exchange)],
          ),
        ]
      const ids = parsed.data.data.map(({ id }) => id)
      const configured = [...target.models.logical, ...target.models.direct].map(({ id }) => id)
      // Where all models of a provider are passed on, one entry may stand for them: `openai/*`.
      const names = (entry: string, id: string) =>
        entry === id || (!waybill && entry.endsWith('/*') && id.startsWith(entry.slice(0, -1)))
      const missing = configured.filter((id) => !ids.some((entry) => names(entry, id)))
      return [
        finding(
          'has-entries',
          exchange.status === 200 && ids.length > 0,
          'entries of the catalog',
          { expected: '200, and at least one', actual: `${ended(exchange)}, and ${ids.length}` },
          [ref(exchange)],
        ),
        finding(
          'configured-are-listed',
          missing.length === 0,
          'models of the target file that the catalog does not list',
          { expected: 'none', actual: listed(missing) },
          [ref(exchange)],
        ),
        // Elsewhere two providers may have a model of one name, and list it for each.
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
