// CAT: the catalog names what can be asked for, and nothing else changes it.
import { z } from 'zod'
import { type Check, finding } from '../check.ts'
import { labelled, ref, refs } from '../lookup.ts'
import { jsonOf } from '../reading.ts'

/** OpenAI's model list; gateways may add fields. */
const modelList = z.looseObject({
  object: z.literal('list'),
  data: z.array(z.looseObject({ id: z.string().min(1), object: z.literal('model') })),
})

export const catalogNamesModels = {
  id: 'CAT-01',
  needs: ['catalog'],
  async exercise(session) {
    await session.ask('catalog', session.target.capabilities.catalog!)
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'catalog').flatMap((exchange) => {
      const parsed = modelList.safeParse(jsonOf(exchange.body))
      if (!parsed.success)
        return [
          finding(
            false,
            `no OpenAI model list: ${parsed.error.issues[0]!.path.join('.')}: ${parsed.error.issues[0]!.message}`,
            [ref(exchange)],
          ),
        ]
      const ids = parsed.data.data.map(({ id }) => id)
      const configured = [...target.models.logical, ...target.models.direct].map(({ id }) => id)
      const missing = configured.filter((id) => !ids.includes(id))
      return [
        finding(exchange.status === 200 && ids.length > 0, `${ids.length} entries`, [ref(exchange)]),
        finding(missing.length === 0, `configured and not listed: ${missing.join(', ') || 'none'}`, [
          ref(exchange),
        ]),
        finding(new Set(ids).size === ids.length, 'no id is listed twice', [ref(exchange)]),
      ]
    }),
} satisfies Check

/** The entries of a list, in whatever order they came and whenever they say that they were made. */
function entriesIn(body: string): string {
  const parsed = modelList.safeParse(jsonOf(body))
  if (!parsed.success) return body
  const entries = parsed.data.data.map(({ created: _, ...entry }) => JSON.stringify(entry))
  return entries.sort().join('\n')
}

export const catalogIsConstant = {
  id: 'CAT-03',
  needs: ['catalog'],
  async exercise(session) {
    const path = session.target.capabilities.catalog!
    const header = session.target.capabilities.session?.header ?? 'x-session-id'
    await session.ask('catalog', path)
    await session.ask('catalog', path, { headers: { [header]: 'conformance-session' } })
    await session.chat('call', { headers: { [header]: 'conformance-session' } })
    await session.ask('catalog', path, { headers: { [header]: 'conformance-session' } })
    await session.ask('catalog', path)
  },
  judge({ evidence, waybill }) {
    const lists = labelled(evidence, 'catalog')
    const bodies = new Set(lists.map(({ body }) => (waybill ? body : entriesIn(body))))
    return [
      finding(
        lists.every(({ status }) => status === 200),
        'every reading was answered',
        lists.map(ref),
      ),
      finding(
        bodies.size === 1,
        `${lists.length} readings, with and without a session, before and after a call: ${bodies.size} different bodies`,
        refs(...lists),
      ),
    ]
  },
} satisfies Check
