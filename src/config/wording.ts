// What the schema refuses, in words for whoever wrote the file. Knows the schema's kinds, not its settings.
import type { z } from 'zod'
import { escaped } from '../terminal/clean.ts'
import { nearest } from './nearest.ts'
import type { Problem } from './problem.ts'
import { configJsonSchema, type JsonSchema, schema } from './schema.ts'

/** Every setting that is unknown, missing or has a wrong value. */
export function mistakes(raw: unknown): Problem[] {
  const { error } = schema.safeParse(raw, { error: worded, reportInput: true })
  return withoutEchoes((error?.issues ?? []).flatMap(problemsOf))
}

/** A mistyped name is told once, not as missing too. */
function withoutEchoes(problems: readonly (Problem & { readonly meant?: string | null })[]): Problem[] {
  const meant = new Set(
    problems.flatMap((each) => (each.meant ? [key([...each.path.slice(0, -1), each.meant])] : [])),
  )
  return problems.filter(({ path, message }) => message !== MISSING || !meant.has(key(path)))
}

const key = (path: readonly PropertyKey[]): string => JSON.stringify(path.map(String))

const MISSING = 'is missing'

function problemsOf(issue: z.core.$ZodIssue): (Problem & { readonly meant?: string | null })[] {
  const { path } = issue
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => {
      const known = settingsAt(path)
      const meant = nearest(name, known)
      const advice = meant === null ? `there are: ${known.join(', ')}` : `did you mean ${meant}?`
      return { path: [...path, name], message: `no such setting; ${advice}`, atName: true, meant }
    })
  if (issue.code === 'invalid_key')
    return [{ path, message: issue.issues[0]?.message ?? issue.message, atName: true }]
  return [{ path, message: issue.message }]
}

/** Names of the settings below a path. */
function settingsAt(path: readonly PropertyKey[]): string[] {
  let here: JsonSchema | undefined = configJsonSchema()
  for (const part of path) {
    const below: boolean | JsonSchema | undefined =
      here?.properties?.[String(part)] ?? here?.items ?? here?.additionalProperties
    here = typeof below === 'object' ? below : undefined
  }
  return Object.keys(here?.properties ?? {})
}

/** The message of an issue where the schema itself names none. */
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
  return Number.isFinite(input) ? `, not ${escaped(String(input))}` : ', not what stands there'
}
