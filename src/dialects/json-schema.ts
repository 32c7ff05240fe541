// Writes JSON Schemas in the subset of a provider, and reports what is left out. Bounds the recursion.
import type { Losses } from '../core/losses.ts'
import { type SchemaSubset, schemaSubset } from '../models/requests.ts'
import type { Conversation, Tool } from './blocks.ts'
import { isObject, type Json } from './json.ts'

/** Maximum depth of a schema. Deeper content is passed on unchanged. */
const MAX_DEPTH = 64

/** Members with schemas by name, and with one schema or a list of schemas. */
const BY_NAME = new Set(['properties', '$defs', 'definitions'])
const INNER = new Set(['items', 'anyOf', 'allOf', 'oneOf', 'prefixItems', 'additionalProperties'])

/** Members without a meaning for the answer. */
const SILENT = new Set([
  '$schema',
  '$id',
  '$comment',
  'examples',
  'example',
  'readOnly',
  'writeOnly',
  'deprecated',
])

/**
 * Returns a schema in a provider's subset. What the provider would refuse is left out, described in words as a hint
 * for the model, and reported as the loss `schema`.
 */
export function schemaWithin(schema: Json, subset: SchemaSubset, losses: Losses, depth = 0): Json {
  if (depth > MAX_DEPTH) return schema
  const inner = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(inner)
      : isObject(value)
        ? schemaWithin(value, subset, losses, depth + 1)
        : value
  const out: Record<string, unknown> = {}
  const hints: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    const known = name === 'oneOf' && !subset.words.includes(name) ? 'anyOf' : name
    if (known !== name) losses.add('schema')
    if (!subset.words.includes(known) || !isAcceptedValue(known, value, subset)) {
      if (SILENT.has(name)) continue
      losses.add('schema')
      if (!isObject(value)) hints[name] = value
    } else if (BY_NAME.has(known) && isObject(value))
      out[known] = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inner(each)]))
    else out[known] = INNER.has(known) ? inner(value) : value
  }
  if (!subset.open && isObjectSchema(schema)) {
    if (schema.additionalProperties !== false) losses.add('schema')
    out.additionalProperties = false
  }
  if (Object.keys(hints).length > 0)
    out.description = [schema.description, JSON.stringify(hints)].filter(Boolean).join('\n\n')
  return out
}

const isObjectSchema = ({ type, properties }: Json): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)

function isAcceptedValue(name: string, value: unknown, { formats }: SchemaSubset): boolean {
  if (name === 'format') return formats?.includes(String(value)) ?? true
  // Of Anthropic's grammar; a larger number is refused.
  if (name === 'minItems' && formats) return value === 0 || value === 1
  return true
}

/** Returns true if a schema is within a subset as it stands. */
function isWithin(schema: unknown, subset: SchemaSubset, depth = 0): boolean {
  if (!isObject(schema)) return true
  if (depth > MAX_DEPTH) return false
  if (isObjectSchema(schema)) {
    const names = Object.keys(isObject(schema.properties) ? schema.properties : {})
    const { required } = schema
    if (!subset.open && schema.additionalProperties !== false) return false
    if (subset.allRequired && !names.every((name) => Array.isArray(required) && required.includes(name)))
      return false
  }
  return Object.entries(schema).every(([name, value]) => {
    if (!subset.words.includes(name)) return SILENT.has(name)
    const schemas =
      BY_NAME.has(name) && isObject(value) ? Object.values(value) : INNER.has(name) ? [value].flat() : []
    return schemas.every((each) => isWithin(each, subset, depth + 1))
  })
}

const COMBINING = ['anyOf', 'oneOf', 'allOf']

/** Returns an object schema without alternatives at its top, which Anthropic refuses for the arguments of a tool. */
export function withoutTopAlternatives(schema: Json, losses: Losses): Json {
  if (!COMBINING.some((name) => name in schema)) return schema
  losses.add('schema')
  const { anyOf, oneOf, allOf, ...rest } = schema
  const parts = [anyOf, oneOf, allOf].flat().filter(isObject)
  const properties = Object.assign({}, ...parts.map((each) => each.properties), schema.properties) as Json
  const required = [
    ...listOf(schema.required),
    ...[allOf].flat().flatMap((each) => (isObject(each) ? listOf(each.required) : [])),
  ]
  return {
    ...rest,
    type: 'object',
    properties,
    ...(required.length > 0 && { required: [...new Set(required)] }),
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns true if OpenAI accepts a schema in strict mode. */
const isStrict = (schema: Json): boolean =>
  schema.type === 'object' && schema.anyOf === undefined && isWithin(schema, schemaSubset('openai'))

/** Returns a tool that is only strict if OpenAI accepts its schema as such. */
export function looseTool(tool: Tool, losses: Losses): Tool {
  if (tool.strict !== true || tool.schema === null || isStrict(tool.schema)) return tool
  losses.add('tool.options')
  return { ...tool, strict: false }
}

/** Returns a format that is only strict if OpenAI accepts its schema as such. */
export function looseFormat(format: Conversation['format'], losses: Losses): Conversation['format'] {
  if (format?.type !== 'schema' || format.strict !== true || isStrict(format.schema)) return format
  losses.add('format.name')
  return { ...format, strict: false }
}
