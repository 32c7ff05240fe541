// The form of a vector, and whether a result meets it. `conformance/vectors/README.md` describes both for other languages.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

const path = z.string().startsWith('/').describe('A JSON Pointer into the result.')

/** Checks of one place of a result. */
const check = z.union([
  z.tuple([z.literal('is'), path, z.json()]),
  z.tuple([z.literal('count'), path, z.int().nonnegative()]),
  z.tuple([z.literal('one'), path, z.array(z.json()).min(1)]),
  z.tuple([z.literal('has'), path, z.string().min(1)]),
  z.tuple([z.literal('absent'), path]),
  z.tuple([z.literal('same'), path, path]),
])
export type VectorCheck = z.output<typeof check>

const source = z.array(z.strictObject({ url: z.string(), date: z.iso.date().optional() }))

const rule = z.strictObject({
  what: z.string().min(1),
  known: z.string().min(1).describe('How the expected results are known.'),
})

const vector = z.strictObject({
  id: z.string(),
  rule: z.string(),
  source: source.optional(),
  given: z.record(z.string(), z.json()),
  expect: z
    .array(z.array(check).min(1))
    .min(1)
    .describe('Alternatives; a result that meets one of them is right.'),
})
export interface Vector extends z.output<typeof vector> {}

/** An answer of a provider. Vectors name its id in `given.answer`. */
const answer = z.strictObject({
  what: z.string(),
  by: z.array(z.string()),
  source,
  dialect: z.string(),
  form: z.enum(['stream', 'whole']),
  headers: z.record(z.string(), z.string().nullable()),
  text: z.string().optional(),
  base64: z.string().optional(),
  cut: z.boolean(),
})
export interface ProviderAnswer extends z.output<typeof answer> {}

export const fileSchema = z.strictObject({
  version: z.literal(1),
  set: z.string(),
  date: z.iso.date(),
  kind: z.enum(['answer', 'request', 'model', 'cost', 'refusal']),
  rules: z.record(z.string(), rule),
  answers: z.record(z.string(), answer).optional(),
  vectors: z.array(vector),
})
export interface VectorFile extends z.output<typeof fileSchema> {}

type Outcome = { readonly verdict: 'pass' | 'untold' } | { readonly verdict: 'fail'; readonly why: string }

const MISSING = Symbol('missing')

function at(value: unknown, pointer: string): unknown {
  for (const name of pointer
    .slice(1)
    .split('/')
    .map((each) => each.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return MISSING
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const isEqual = (a: unknown, b: unknown): boolean =>
  typeof a === 'number' && typeof b === 'number'
    ? Math.abs(a - b) <= 1e-9 * Math.max(1e-9, Math.abs(a), Math.abs(b))
    : isDeepStrictEqual(a, b)

/** Returns why a result does not hold, `null` if it does, and `untold` if it does not have the first name of the path. */
function wrong(result: object, [kind, pointer, value]: VectorCheck): string | null {
  if (at(result, `/${pointer.split('/')[1]}`) === MISSING) return 'untold'
  const found = at(result, pointer)
  const shown = found === MISSING ? 'nothing' : textOf(found)
  const told = (holds: boolean, expected: string) =>
    holds ? null : `${pointer}: ${shown}, expected ${expected}`
  if (kind === 'absent') return told(found === MISSING, 'nothing')
  if (kind === 'count') return told(isEqual(found === MISSING ? 0 : (found ?? 0), value), String(value))
  if (kind === 'is') return told(isEqual(found, value), JSON.stringify(value))
  if (kind === 'one')
    return told(
      value.some((each) => isEqual(found, each)),
      `one of ${JSON.stringify(value)}`,
    )
  if (kind === 'has')
    return told(found !== MISSING && textOf(found).includes(value), `a text with ${JSON.stringify(value)}`)
  return told(found !== MISSING && isEqual(found, at(result, value)), `the same as ${value}`)
}

/** Compares a result with the alternatives of a vector. */
export function judgeResult(result: object, { expect }: Pick<Vector, 'expect'>): Outcome {
  const found = expect.map((all) => all.map((each) => wrong(result, each)))
  if (found.some((all) => all.every((each) => each === null))) return { verdict: 'pass' }
  if (found.some((all) => all.every((each) => each === null || each === 'untold')))
    return { verdict: 'untold' }
  return {
    verdict: 'fail',
    why: found.map((all) => all.find((each) => each !== null && each !== 'untold')).join('; or '),
  }
}
