// CAT-03: The entries of the catalog do not depend on session headers or on earlier calls (Waybill: nor do its
// bytes).
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { ref, refs } from '../lookup.ts'
import { jsonOf } from '../reading.ts'
import { step } from '../step.ts'
import { ended } from '../words.ts'
import { modelList } from './cat.ts'

const steps = {
  catalog: step('catalog'),
  call: step('call'),
}

type Entry = Readonly<Record<string, unknown>>

/** In an entry neither members nor lists, such as of what a model can do, have an order that means something. */
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
  modelList.safeParse(jsonOf(body)).data?.data.map((entry) => sorted(entry) as Entry) ?? null

/** Members that differ between two readings with nothing in between: a clock, a time of making. They say nothing here. */
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

/** The entries of a list in whatever order they came, without some of their members. */
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
    // Twice, with nothing in between: what differs here differs by itself.
    await session.ask(steps.catalog, path)
    await session.ask(steps.catalog, path)
    await session.ask(steps.catalog, path, { headers: { [header]: 'conformance-session' } })
    await session.chat(steps.call, { headers: { [header]: 'conformance-session' } })
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
        { expected: '200 each', actual: lists.map(ended).join(', ') },
        lists.map(ref),
      ),
      finding(
        'readings-are-alike',
        bodies.size === 1,
        `${lists.length} readings, with and without a session, before and after a call`,
        { expected: 'the same each time', actual: `${bodies.size} different ones` },
        refs(...lists),
      ),
    ]
  },
} satisfies Check
