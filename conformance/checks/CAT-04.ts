// CAT-04: `/v1/models/{id}` returns the same entry as the list.
import { isDeepStrictEqual } from 'node:util'
import { ref } from '../dialects/lookup.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { modelListSchema } from './cat.ts'

const steps = { list: step('list'), entry: step('entry') }

export const entryEqualsItsPlace = {
  id: 'CAT-04',
  needs: ['catalog'],
  async exercise(session) {
    const path = session.target.capabilities.catalog!
    const { body } = await session.ask(steps.list, path)
    const { data = [] } = modelListSchema.safeParse(jsonOf(body)).data ?? {}
    for (const { id } of data) await session.ask(steps.entry, `${path}/${encodeURIComponent(id)}`)
  },
  judge({ evidence }) {
    const [list] = steps.list.in(evidence)
    const { data = [] } = modelListSchema.safeParse(jsonOf(list?.body ?? '')).data ?? {}
    const entries = steps.entry.in(evidence)
    const others = data.filter((entry, n) => !isDeepStrictEqual(jsonOf(entries[n]?.body ?? ''), entry))
    return [
      finding(
        'entries-are-those-of-the-list',
        data.length > 0 && others.length === 0,
        `the ${data.length} entries of the list that differ when they are read alone`,
        { expected: 'none, of at least one', actual: listed(others.map(({ id }) => id)) },
        entries.map(ref),
      ),
    ]
  },
} satisfies Check
