// CAT-01: `/v1/models` is a valid OpenAI list that names the configured models and routes.
import { type Check, finding } from '../check.ts'
import { labelled, ref } from '../lookup.ts'
import { jsonOf } from '../reading.ts'
import { modelList } from './cat.ts'

export const catalogNamesModels = {
  id: 'CAT-01',
  needs: ['catalog'],
  async exercise(session) {
    await session.ask('catalog', session.target.capabilities.catalog!)
  },
  judge: ({ evidence, target, waybill }) =>
    labelled(evidence, 'catalog').flatMap((exchange) => {
      const parsed = modelList.safeParse(jsonOf(exchange.body))
      if (!parsed.success)
        return [
          finding(
            'is-a-model-list',
            false,
            `no OpenAI model list: ${parsed.error.issues[0]!.path.join('.')}: ${parsed.error.issues[0]!.message}`,
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
        finding('has-entries', exchange.status === 200 && ids.length > 0, `${ids.length} entries`, [
          ref(exchange),
        ]),
        finding(
          'configured-are-listed',
          missing.length === 0,
          `configured and not listed: ${missing.join(', ') || 'none'}`,
          [ref(exchange)],
        ),
        // Elsewhere two providers may have a model of one name, and list it for each.
        ...(waybill
          ? [
              finding('no-id-twice', new Set(ids).size === ids.length, 'no id is listed twice', [
                ref(exchange),
              ]),
            ]
          : []),
      ]
    }),
} satisfies Check
