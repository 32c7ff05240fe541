// Checks of the catalog of models.

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { ref, refs } from '../dialects/lookup.ts'
import { difference, type Exchange, endText, listed, step } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { each, family, type Told } from './check.ts'

const check = family({ needs: ['catalog'] })

/** OpenAI's model list; gateways may add fields. */
export const modelListSchema = z.looseObject({
  object: z.literal('list'),
  data: z.array(z.looseObject({ id: z.string().min(1), object: z.literal('model') })),
})

const catalog = step('catalog')

check('CAT-01', {
  exercise: (session) => session.ask(catalog, session.target.capabilities.catalog!),
  judge: each(catalog, ({ exchange, target, waybill }) => {
    const parsed = modelListSchema.safeParse(jsonOf(exchange.body))
    if (!parsed.success)
      return {
        'is-a-model-list': [
          false,
          'the catalog',
          "OpenAI's model list",
          `${endText(exchange)}, and at "${parsed.error.issues[0]!.path.join('.')}": ${parsed.error.issues[0]!.message}`,
        ],
      }
    const ids = parsed.data.data.map(({ id }) => id)
    const configured = [...target.models.logical, ...target.models.direct].map(({ id }) => id)
    // A gateway that forwards all models of a provider may list them as one entry: `openai/*`.
    const names = (entry: string, id: string) =>
      entry === id || (!waybill && entry.endsWith('/*') && id.startsWith(entry.slice(0, -1)))
    const missing = configured.filter((id) => !ids.some((entry) => names(entry, id)))
    return {
      'has-entries': [
        exchange.status === 200 && ids.length > 0,
        'entries of the list of models',
        '200, and at least one',
        `${endText(exchange)}, and ${ids.length}`,
      ],
      'configured-are-listed': [
        missing.length === 0,
        'models of the target file that the catalog does not list',
        'none',
        listed(missing),
      ], // Other gateways may list a model name once for each provider that has it.
      'no-id-twice': waybill && [
        new Set(ids).size === ids.length,
        'ids in the list of models',
        'each once',
        `more than once: ${listed(ids.filter((id, at) => ids.indexOf(id) !== at))}`,
      ],
    }
  }),
})

check('CAT-02', {
  exercise: (session) => session.ask(catalog, session.target.capabilities.catalog!),
  judge: each(catalog, ({ exchange }) => {
    const data = (at(jsonOf(exchange.body), '/data') ?? []) as { id: string; type: string }[]
    const types = ['chat', 'embedding', 'image', 'route']
    return types.map((type): Told => {
      const ids = data.filter((each) => each.type === type).map(({ id }) => id)
      return {
        'each-type-is-listed': [
          ids.length > 0,
          `entries of the list of models with the type ${type}`,
          'at least one',
          listed(ids),
        ],
      }
    })
  }),
})

const readings = { catalog: step('catalog'), call: step('call') }

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

check('CAT-03', {
  async exercise(session) {
    const path = session.target.capabilities.catalog!
    const header = session.target.capabilities.session?.header ?? 'x-session-id'
    // Reads twice in a row, so that no call can cause a difference between the two reads.
    await session.ask(readings.catalog, path)
    await session.ask(readings.catalog, path)
    await session.ask(readings.catalog, path, { headers: { [header]: 'conformance-session' } })
    const { logical, direct } = session.target.models
    for (const { id: model } of [...logical, ...direct, { id: session.model }])
      await session.chat(readings.call, { model, headers: { [header]: 'conformance-session' } })
    await session.ask(readings.catalog, path, { headers: { [header]: 'conformance-session' } })
    await session.ask(readings.catalog, path)
  },
  judge({ evidence, waybill }) {
    const lists = readings.catalog.in(evidence)
    const without = restless(lists)
    const bodies = lists.map(({ body }) => (waybill ? body : meaningOf(body, without)))
    const other = bodies.findIndex((body) => body !== bodies[0])
    return {
      'readings-are-answered': [
        lists.every(({ status }) => status === 200),
        'readings of the catalog',
        '200 each',
        listed(
          lists.flatMap((each, at) =>
            each.status === 200 ? [] : [`${endText(each)} for reading ${at + 1}`],
          ),
          '200 each',
        ),
        lists.map(ref),
      ],
      'readings-are-alike': [
        bodies.length > 0 && other < 0,
        `${lists.length} readings, with and without a session, before and after calls`,
        'the same each time',
        other < 0 ? 'the same' : `in reading ${other + 1}, ${difference(bodies[other]!, bodies[0]!)}`,
        refs(...lists),
      ],
    }
  },
})
