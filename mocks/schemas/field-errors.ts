// Providers' messages for an invalid field: OpenAI's sentences, and Pydantic's, which Anthropic and Mistral
// use. Knows zod's issues; independent of providers.
import { z } from 'zod'

export type Issue = z.core.$ZodIssue

/** Zod's type names -> type names in OpenAI's sentences. */
const OPENAI_TYPES: Readonly<Record<string, string>> = {
  number: 'a decimal',
  int: 'an integer',
  string: 'a string',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

/** Returns OpenAI's sentence. `field` is written as `messages[0].role`; empty for the body. */
export function openAiFieldError(field: string, issue: Issue): string {
  const got = typeName(issue.input)
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.input === undefined) return `Missing required parameter: '${field}'.`
      const expected = OPENAI_TYPES[issue.expected] ?? `one of ${issue.expected}`
      return `Invalid type for '${field}': expected ${expected}, but got ${OPENAI_TYPES[got] ?? got} instead.`
    }
    case 'too_big':
    case 'too_small': {
      const big = issue.code === 'too_big'
      const limit = limitOf(issue)
      const [side, sign] = big ? ['above maximum', '<='] : ['below minimum', '>=']
      if (issue.origin === 'array' || issue.origin === 'string') {
        const size = (issue.input as string | unknown[] | undefined)?.length ?? 0
        const word = issue.origin === 'array' ? 'array' : 'string'
        const [fault, bound] = big
          ? ['too long', 'maximum']
          : size === 0
            ? [null, 'minimum']
            : ['too short', 'minimum']
        return `Invalid '${field}': ${fault ? `${word} ${fault}` : `empty ${word}`}. Expected ${OPENAI_TYPES[word]} with ${bound} length ${limit}, but got ${size === 0 ? `an empty ${word}` : `${OPENAI_TYPES[word]} with length ${size}`} instead.`
      }
      const kind = Number.isInteger(issue.input) && Number.isInteger(limit) ? 'integer' : 'decimal'
      return `Invalid '${field}': ${kind} ${side} value. Expected a value ${sign} ${limit}, but got ${String(issue.input)} instead.`
    }
    case 'invalid_value':
      return `Invalid value: '${String(issue.input)}'. Supported values are: ${listed(issue.values, 'and')}.`
    case 'invalid_union': {
      const { options, input, path } = issue as typeof issue & { readonly options?: readonly unknown[] }
      const given = (input as Readonly<Record<string, unknown>> | undefined)?.[String(path.at(-1))]
      if (options)
        return `Invalid value: '${String(given)}'. Supported values are: ${listed(options, 'and')}.`
      return `Invalid type for '${field}': ${issue.message}.`
    }
    case 'invalid_format':
      return `Invalid '${field}': string does not match pattern. Expected a string that matches the pattern '${patternOf(issue)}'.`
    default:
      return `Invalid value for '${field}': ${issue.message}.`
  }
}

/** Returns Pydantic's sentence, without the field. */
export function pydanticFieldError(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'Field required'
      return `Input should be a valid ${{ array: 'list', object: 'dictionary', record: 'dictionary', int: 'integer' }[issue.expected as string] ?? issue.expected}`
    case 'too_big':
    case 'too_small': {
      const big = issue.code === 'too_big'
      const limit = limitOf(issue)
      if (issue.origin !== 'array' && issue.origin !== 'string')
        return `Input should be ${big ? 'less' : 'greater'} than or equal to ${limit}`
      const [kind, unit] = issue.origin === 'array' ? ['List', 'item'] : ['String', 'character']
      const size = (issue.input as string | unknown[] | undefined)?.length ?? 0
      return `${kind} should have at ${big ? 'most' : 'least'} ${limit} ${unit}${limit === 1 ? '' : 's'}${issue.origin === 'array' ? ` after validation, not ${size}` : ''}`
    }
    case 'invalid_value':
      return `Input should be ${listed(issue.values, 'or')}`
    case 'invalid_format':
      return `String should match pattern '${patternOf(issue)}'`
    default:
      return issue.message
  }
}

/** Returns the nearest allowed value; for a decimal bound, returns the bound itself. */
function limitOf(issue: Extract<Issue, { code: 'too_big' | 'too_small' }>): number {
  const limit = Number(issue.code === 'too_big' ? issue.maximum : issue.minimum)
  if (issue.inclusive !== false || !Number.isInteger(issue.input)) return limit
  return issue.code === 'too_big' ? limit - 1 : limit + 1
}

const typeName = (input: unknown): string =>
  input === null ? 'null' : Array.isArray(input) ? 'array' : Number.isInteger(input) ? 'int' : typeof input

/**
 * Formats a list: `'a'`, `'a' or 'b'`, `'a', 'b' or 'c'`; OpenAI puts a comma before "and" in lists of three
 * or more.
 */
function listed(values: readonly unknown[], word: 'and' | 'or'): string {
  const quoted = values.map((value) => `'${String(value)}'`)
  if (quoted.length < 2) return quoted.join('')
  const comma = word === 'and' && quoted.length > 2 ? ',' : ''
  return `${quoted.slice(0, -1).join(', ')}${comma} ${word} ${quoted.at(-1)}`
}

const patternOf = (issue: Issue): string =>
  ('pattern' in issue ? String(issue.pattern) : '').replace(/^\/|\/[a-z]*$/g, '')

/**
 * Validates an object by the schema for its `type`; other types are accepted. `unnamed` is the type of an
 * object without a `type`. A discriminated union would reject other types, and a plain union would not name
 * the invalid field.
 */
export const byType = (kinds: Readonly<Record<string, z.ZodObject>>, unnamed?: string) =>
  z
    .looseObject({ type: unnamed === undefined ? z.string() : z.string().nullish() })
    .superRefine((value, context) => {
      const type = value.type ?? unnamed ?? ''
      const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
      for (const issue of kind?.safeParse(value, { reportInput: true }).error?.issues ?? [])
        context.addIssue({ ...issue } as z.core.$ZodSuperRefineIssue)
    })
