// Finds the tools that a request offers, and the schema to which it binds the answer, in any dialect, and makes
// values that fit these schemas. Pure; independent of providers.

type Json = Readonly<Record<string, unknown>>

/** Tool that the caller itself runs. */
export interface OfferedTool {
  readonly name: string
  /** JSON Schema of the tool's arguments; may use Gemini's spelling of types. */
  readonly schema: Json
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : [])

/** Returns the offered tools; a required tool comes first. */
export function offeredTools(body: unknown): OfferedTool[] {
  if (!isObject(body)) return []
  const tools = [...list(body.tools), ...list(body.functions)].flatMap((tool) => {
    const declared = list(tool.functionDeclarations ?? tool.function_declarations)
    return (declared.length > 0 ? declared : [tool]).flatMap(offered)
  })
  const forced = forcedName(body)
  return tools.toSorted((a, b) => Number(b.name === forced) - Number(a.name === forced))
}

/** Reads one tool. A provider's own tool has a type but no schema, and is left out. */
function offered(tool: Json): OfferedTool[] {
  const { name, parameters, input_schema, parametersJsonSchema, parameters_json_schema } = isObject(
    tool.function,
  )
    ? tool.function
    : tool
  const schema = parameters ?? input_schema ?? parametersJsonSchema ?? parameters_json_schema
  const own = isObject(schema) || tool.type === undefined || tool.type === 'function'
  return own && typeof name === 'string' ? [{ name, schema: isObject(schema) ? schema : {} }] : []
}

function forcedName(body: Json): unknown {
  const choice = isObject(body.tool_choice) ? body.tool_choice : {}
  if (isObject(choice.function)) return choice.function.name
  const config = body.toolConfig ?? body.tool_config
  const calling = isObject(config) ? (config.functionCallingConfig ?? config.function_calling_config) : null
  const allowed = isObject(calling) ? (calling.allowedFunctionNames ?? calling.allowed_function_names) : null
  return choice.name ?? (Array.isArray(allowed) ? allowed[0] : undefined)
}

/**
 * Returns a text that fits the schema to which a request binds its answer: JSON, or the value of an enumeration; null
 * if the text is free.
 */
export function wantedJson(body: unknown): string | null {
  if (!isObject(body)) return null
  const at = (holder: unknown, ...names: string[]): unknown =>
    names.map((name) => (isObject(holder) ? holder[name] : undefined)).find((value) => value !== undefined)
  const config = at(body, 'generationConfig', 'generation_config')
  const type = String(at(config, 'responseMimeType', 'response_mime_type'))
  const asked = at(body, 'response_format', 'output_format') ?? at(body.text, 'format')
  const format = isObject(asked) ? asked : (at(body.output_config, 'format') ?? body.format)
  const schema =
    at(config, 'responseJsonSchema', 'response_json_schema', 'responseSchema', 'response_schema') ??
    at(at(format, 'json_schema'), 'schema') ??
    at(format, 'schema', 'json_schema') ??
    at(body, 'guided_json') ??
    (isObject(format) && !FORMAT_TYPES.test(String(format.type)) ? format : undefined) // Ollama's
  if (/x\.enum$/.test(type)) return String(sampleOf(schema))
  const isFree =
    format === undefined || /^(?:text|markdown|plain)$/.test(String(at(format, 'type') ?? format))
  if (schema === undefined && isFree && !/json/.test(type)) return null
  return JSON.stringify(schema === undefined ? {} : sampleOf(schema))
}

/** Types of a format that is no schema itself. */
const FORMAT_TYPES = /^(?:json_schema|json_object|json|text|regex|grammar|structural_tag)$/

/** Maximum depth of a schema; a schema that contains itself would have no end. */
const MAX_DEPTH = 8

/**
 * Returns a value that fits the schema: only required members, the first value of each choice, and the
 * smallest value of each range.
 */
export function sampleOf(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return null
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  const { enum: values, examples, $ref } = schema
  if (Array.isArray(values)) return values[0]
  if (Array.isArray(examples) && examples.length > 0) return examples[0]
  if (typeof $ref === 'string') return sampleOf(referenced($ref, root), root, depth + 1)
  const all = list(schema.allOf)
  if (all.length > 0) return sampleOf(mergedOf([schema, ...all], root), root, depth + 1)
  const choice = list(schema.anyOf ?? schema.oneOf)[0]
  if (choice) return sampleOf(schema.properties ? mergedOf([schema, choice], root) : choice, root, depth + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (String(type ?? (schema.properties ? 'object' : 'string')).toLowerCase()) {
    case 'object':
      return Object.fromEntries(
        membersOf(schema).map(([name, member]) => [name, sampleOf(member, root, depth + 1)]),
      )
    case 'array': {
      const first = list(schema.prefixItems)
      const count = Math.max(
        first.length,
        Number(schema.minItems ?? Math.min(1, Number(schema.maxItems ?? 1))),
      )
      return Array.from({ length: count }, (_, i) =>
        sampleOf(first[i] ?? schema.items ?? {}, root, depth + 1),
      )
    }
    case 'integer':
    case 'number':
      return numberIn(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return textIn(schema)
  }
}

/** Merges schemas that must hold together: members and required members of all, otherwise the last one's word. */
function mergedOf(schemas: readonly Json[], root: unknown): Json {
  const resolved = schemas.map(({ allOf: _, anyOf: __, oneOf: ___, ...one }): Json => {
    const to = typeof one.$ref === 'string' ? referenced(one.$ref, root) : one
    return isObject(to) ? to : {}
  })
  const required = resolved.flatMap((one) => (Array.isArray(one.required) ? one.required : []))
  const properties = resolved.map((one) => (isObject(one.properties) ? one.properties : {}))
  return {
    ...Object.assign({}, ...resolved),
    ...(required.length > 0 && { required }),
    ...(properties.some((one) => Object.keys(one).length > 0) && {
      properties: Object.assign({}, ...properties),
    }),
  }
}

function membersOf({ properties, required }: Json): [string, unknown][] {
  const members = Object.entries(isObject(properties) ? properties : {})
  return Array.isArray(required) ? members.filter(([name]) => required.includes(name)) : members
}

function referenced(ref: string, root: unknown): unknown {
  const steps = ref.replace(/^#\/?/, '').split('/')
  return steps.reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), root)
}

function numberIn({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf = 1 }: Json): number {
  const step = Number(multipleOf)
  if (minimum !== undefined) return Math.ceil(Number(minimum) / step) * step
  if (exclusiveMinimum !== undefined) return (Math.floor(Number(exclusiveMinimum) / step) + 1) * step
  if (maximum !== undefined) return Math.min(step, Math.floor(Number(maximum) / step) * step)
  if (exclusiveMaximum !== undefined)
    return Math.min(step, (Math.ceil(Number(exclusiveMaximum) / step) - 1) * step)
  return step
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  time: '12:00:00Z',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function textIn({ format, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Json): string {
  const text = FORMATS[String(format)] ?? 'text'
  return text.padEnd(Number(minLength), 't').slice(0, Number(maxLength))
}
