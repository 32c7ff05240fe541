// Problems in a configuration, the explanation of a schema's errors to the author of the file, and the probably intended
// word for a mistyped one. Uses the types in the schema; independent of YAML and of the particular settings. Pure.
import type { z } from 'zod'
import { escaped } from '../terminal/clean.ts'

/** One problem, with its message. */
export interface Problem {
  /** Place in the configuration; empty for the whole file. */
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** True to point at the name of the last part of the path, not at its value. */
  readonly atName?: boolean
  /** Offset in the text, if it is known more precisely than the path. */
  readonly offset?: number
}

/** Quotes a text of the file for a message. */
export const quoted = (text: string): string => `"${escaped(text)}"`

/** The subset of JSON Schema that this project reads. */
export interface JsonSchema {
  readonly title?: string
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly pattern?: string
  readonly anyOf?: readonly JsonSchema[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
}

/** A file's allowed content. */
export interface Settings {
  readonly schema: z.ZodType
  /** Returns the JSON Schema, which names the settings. Called only for an unknown name, because it takes 20 ms. */
  readonly json: () => JsonSchema
}

/** Returns a problem for every setting that is unknown, missing or has a wrong value. */
export function mistakes(raw: unknown, { schema, json }: Settings): Problem[] {
  const { error } = schema.safeParse(raw, { error: worded, reportInput: true })
  return withoutEchoes((error?.issues ?? []).flatMap((issue) => problemsOf(issue, [], json)))
}

/** A problem with the probably intended name, for an unknown name. */
type Told = Problem & { readonly meant?: string | null }

/** Reports a mistyped name only once, without reporting the intended name as missing. */
function withoutEchoes(problems: readonly Told[]): Told[] {
  const meant = new Set(
    problems.flatMap((each) => (each.meant ? [key([...each.path.slice(0, -1), each.meant])] : [])),
  )
  return problems.filter(({ path, message }) => message !== MISSING || !meant.has(key(path)))
}

const key = (path: readonly PropertyKey[]): string => JSON.stringify(path.map(String))

/** Message for a setting that is not there. */
export const MISSING = 'is missing'
/** Zod's own message, used for a problem without a message of ours. */
const UNWORDED = 'Invalid input'

/** Converts an issue to problems. `above`: path at which the issue's own path begins. */
function problemsOf(issue: z.core.$ZodIssue, above: readonly PropertyKey[], json: Settings['json']): Told[] {
  const path = [...above, ...issue.path]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => {
      const known = settingsAt(path, json())
      const meant = nearest(name, known)
      const advice = meant === null ? `there are: ${known.join(', ')}` : `did you mean ${meant}?`
      return { path: [...path, name], message: `no such setting; ${advice}`, atName: true, meant }
    })
  if (issue.code === 'invalid_key')
    return [{ path, message: issue.issues[0]?.message ?? issue.message, atName: true }]
  // Explains the nearest form of a setting that has several forms and no message in the schema.
  if (issue.code === 'invalid_union' && issue.message === UNWORDED && issue.errors.length > 0) {
    const forms = issue.errors.map((issues) =>
      withoutEchoes(issues.flatMap((each) => problemsOf(each, path, json))),
    )
    return forms.reduce((best, each) => (each.length < best.length ? each : best))
  }
  return [{ path, message: issue.message }]
}

/** Returns the names of the settings below a path. */
function settingsAt(path: readonly PropertyKey[], json: JsonSchema): string[] {
  let here: readonly JsonSchema[] = [json]
  for (const part of path)
    here = here.flatMap(formsOf).flatMap((each) => {
      const below = each.properties?.[String(part)] ?? each.items ?? each.additionalProperties
      return typeof below === 'object' ? [below] : []
    })
  return [...new Set(here.flatMap(formsOf).flatMap((each) => Object.keys(each.properties ?? {})))]
}

const formsOf = (json: JsonSchema): readonly JsonSchema[] => json.anyOf ?? [json]

/** Returns the message of an issue for which the schema has none. */
function worded(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? MISSING : `must be ${KINDS[issue.expected]}${not(issue.input)}`
    case 'invalid_value': {
      if (issue.input === undefined) return MISSING
      const values = issue.values.map(String)
      if (values.length === 1) return `must be ${values[0]}`
      const near = typeof issue.input === 'string' ? nearest(issue.input, values) : null
      return `must be one of ${values.join(', ')}${near === null ? '' : `; did you mean ${near}?`}`
    }
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty'
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
    case 'too_big':
      return `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
    case 'invalid_format':
      return issue.format === 'url' ? 'must be an address such as https://api.example.com/v1' : undefined
    default:
      return undefined
  }
}

const KINDS: Partial<Record<z.core.$ZodInvalidTypeExpected, string>> = {
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

function not(input: unknown): string {
  if (input === null) return ', and is empty'
  if (Array.isArray(input)) return ', not a list'
  if (typeof input === 'object') return ', not a mapping'
  if (typeof input === 'string') return ', not text'
  if (typeof input === 'boolean') return `, not ${input}`
  return Number.isFinite(input) ? `, not ${escaped(String(input))}` : ', not this value'
}

/** Returns the nearest known word; null if none is near. Ignores case, `-` and `_`. */
export function nearest(word: string, known: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_\s]/g, '')
  const asked = plain(word.slice(0, MAX_NAME_LENGTH))
  let best: string | null = null
  let least = Math.max(1, Math.floor(asked.length / 3)) + 1
  for (const each of known) {
    const steps = distance(asked, plain(each))
    if (steps >= least || steps >= each.length) continue
    best = each
    least = steps
  }
  return best
}

/** Maximum length of a compared name, in characters. Bounds the work for a hostile name. */
const MAX_NAME_LENGTH = 64

/** Returns the number of letters to insert, delete, replace or swap with a neighbour. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const changed = rows[i - 1]![j - 1]! + (same ? 0 : 1)
      const exchanged =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : changed
      row.push(Math.min(changed, exchanged, rows[i - 1]![j]! + 1, row[j - 1]! + 1))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
