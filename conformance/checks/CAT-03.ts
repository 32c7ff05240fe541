// CAT-03: The entries of the catalog depend neither on session headers nor on earlier calls (Waybill: nor do its
// bytes).
import { type Check, finding } from '../check.ts'
import { labelled, ref, refs } from '../lookup.ts'
import { jsonOf } from '../reading.ts'
import { modelList } from './cat.ts'

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
        'readings-are-answered',
        lists.every(({ status }) => status === 200),
        'every reading was answered',
        lists.map(ref),
      ),
      finding(
        'readings-are-alike',
        bodies.size === 1,
        `${lists.length} readings, with and without a session, before and after a call: ${bodies.size} different bodies`,
        refs(...lists),
      ),
    ]
  },
} satisfies Check
