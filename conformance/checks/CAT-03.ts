// CAT-03: The entries of the catalog do not depend on session headers or on earlier calls (Waybill: its bytes do
// not depend on them either).
import { isDeepStrictEqual } from 'node:util'
import { ref, refs } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { modelListSchema } from './cat.ts'

const steps = {
  catalog: step('catalog'),
  call: step('call'),
}

type Entry = Readonly<Record<string, unknown>>

/** Sorts members and lists of an entry, because their order has no meaning. Capabilities are an example. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted).sort(byText)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(byText)
      .map(([name, each]) => [name, sorted(each)]),
  )
}

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

const entriesOf = (body: string): readonly Entry[] | null =>
  modelListSchema.safeParse(jsonOf(body)).data?.data.map((entry) => sorted(entry) as Entry) ?? null

/** Returns the members to ignore. They differ between two reads in a row, as a creation time may do. */
function restless([first, second]: readonly Exchange[]): ReadonlySet<string> {
  const [before, after] = [entriesOf(first?.body ?? ''), entriesOf(second?.body ?? '')]
  const names = new Set(['created'])
  for (const entry of before ?? [])
    for (const [name, value] of Object.entries(entry)) {
      const others = (after ?? []).filter(({ id }) => id === entry.id)
      if (name !== 'id' && !others.some((other) => isDeepStrictEqual(other[name], value))) names.add(name)
    }
  return names
}

/** Returns the entries of a list in a fixed order, without the members in `without`. */
function meaningOf(body: string, without: ReadonlySet<string>): string {
  const entries = entriesOf(body)
  if (!entries) return body
  const said = entries.map((entry) =>
    JSON.stringify(Object.entries(entry).filter(([name]) => !without.has(name))),
  )
  return said.sort().join('\n')
}

export const catalogIsConstant = {
  id: 'CAT-03',
  needs: ['catalog'],
  async exercise(session) {
    const path = session.target.capabilities.catalog!
    const header = session.target.capabilities.session?.header ?? 'x-session-id'
    // Reads twice in a row, so that no call can cause a difference between the two reads.
    await session.ask(steps.catalog, path)
    await session.ask(steps.catalog, path)
    await session.ask(steps.catalog, path, { headers: { [header]: 'conformance-session' } })
    const { logical, direct } = session.target.models
    for (const { id: model } of [...logical, ...direct, { id: session.model }])
      await session.chat(steps.call, { model, headers: { [header]: 'conformance-session' } })
    await session.ask(steps.catalog, path, { headers: { [header]: 'conformance-session' } })
    await session.ask(steps.catalog, path)
  },
  judge({ evidence, waybill }) {
    const lists = steps.catalog.in(evidence)
    const without = restless(lists)
    const bodies = new Set(lists.map(({ body }) => (waybill ? body : meaningOf(body, without))))
    return [
      finding(
        'readings-are-answered',
        lists.every(({ status }) => status === 200),
        'readings of the catalog',
        { expected: '200 each', actual: lists.map(endText).join(', ') },
        lists.map(ref),
      ),
      finding(
        'readings-are-alike',
        bodies.size === 1,
        `${lists.length} readings, with and without a session, before and after calls`,
        { expected: 'the same each time', actual: `${bodies.size} different ones` },
        refs(...lists),
      ),
    ]
  },
} satisfies Check
