// Strict formats and tools at OpenAI: a schema that strict mode does not allow is sent without it, and the loss is named.
import type { Losses } from '../core/losses.ts'
import { schemaSubset } from '../models/requests.ts'
import type { Conversation, Tool } from './blocks.ts'
import type { Json } from './json.ts'
import { isWithin } from './json-schema.ts'

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
