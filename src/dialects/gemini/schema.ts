// Converts Google's schemas, which have OpenAPI's format, to JSON Schema. Bounds the recursion.
import type { Losses } from '../../core/losses.ts'
import { isObject, type Json } from '../json.ts'

/** Members that exist only in Google's format. */
const OWN = new Set(['propertyOrdering', 'property_ordering', 'example'])
/** Maximum depth of a schema. Deeper content is passed on unchanged. */
const MAX_DEPTH = 64

/** Returns the JSON Schema; null if `schema` is not a schema. */
export function jsonSchemaOf(schema: unknown, losses: Losses, depth = 0): Json | null {
  if (!isObject(schema)) return null
  if (depth > MAX_DEPTH) return schema
  const inner = (value: unknown): unknown => jsonSchemaOf(value, losses, depth + 1) ?? value
  const out: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (OWN.has(name)) losses.add('schema')
    else if (name === 'nullable') continue
    else if (name === 'type' && typeof value === 'string') out.type = typeIn(value, schema.nullable === true)
    else if (name === 'items') out.items = inner(value)
    else if (name === 'anyOf' || name === 'any_of')
      out.anyOf = Array.isArray(value) ? value.map(inner) : value
    else if (name === 'properties' && isObject(value))
      out.properties = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inner(each)]))
    else if (COUNTS.test(name) && typeof value === 'string') out[name] = Number(value)
    else out[name] = value
  }
  return out
}

const typeIn = (type: string, nullable: boolean): string | string[] => {
  const lower = type.toLowerCase()
  return nullable ? [lower, 'null'] : lower
}

/** Counts in a schema, since Google writes 64-bit numbers in quotes. */
const COUNTS = /^(min|max)(Items|Length|Properties)$/
