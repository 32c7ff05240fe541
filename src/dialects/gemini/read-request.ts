// Converts a Gemini request to blocks. Format: Gemini API reference, "Generating content", "Function
// calling", "Thought signatures". Reports the losses that occur in every dialect. Never throws for an unknown
// format.
import type { Loss, Losses } from '../../core/losses.ts'
import { countMembers, estimateTokens, readableText } from '../../core/token-estimate.ts'
import {
  type Block,
  type Conversation,
  extrasOf,
  type Format,
  type ReasoningWish,
  type Source,
  type Tool,
  type ToolChoice,
  type Turn,
} from '../blocks.ts'
import { isObject, type Json, listOrEmpty, member, numberOf, textOf } from '../json.ts'
import { originalId } from '../tools.ts'
import { parts as signed, thoughtsIn } from './signatures.ts'

export const FAMILY = 'google'

const READ = new Set(['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'model'])
const FIELDS: Readonly<Record<string, Loss>> = {
  safetySettings: 'safeguards',
  labels: 'metadata',
  cachedContent: 'prompt_cache',
  serviceTier: 'service_tier',
  store: 'store',
}
const CONFIG_READ = new Set(
  'maxOutputTokens stopSequences temperature topP topK seed presencePenalty frequencyPenalty responseMimeType responseSchema responseJsonSchema _responseJsonSchema thinkingConfig candidateCount'.split(
    ' ',
  ),
)
const CONFIG_FIELDS: Readonly<Record<string, Loss>> = {
  responseLogprobs: 'logprobs',
  logprobs: 'logprobs',
  responseModalities: 'modalities',
  speechConfig: 'modalities',
  imageConfig: 'modalities',
  mediaResolution: 'image.detail',
}

/** Returns the names in camelCase, as in the reference. */
const camel = (json: unknown): Json =>
  Object.fromEntries(
    Object.entries(isObject(json) ? json : {}).map(([name, value]) => [
      name.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )

export function parseRequest(json: Json, _request: unknown, losses: Losses): Conversation {
  const body = camel(json)
  const config = camel(body.generationConfig)
  const calls = new ToolCalls()
  const system = partsOf(body.systemInstruction, calls, losses)
  const turns = listOrEmpty(body.contents).flatMap((content): Turn[] => {
    const blocks = partsOf(content, calls, losses)
    return blocks.length > 0
      ? [{ role: member(content, 'role') === 'model' ? 'assistant' : 'user', blocks }]
      : []
  })
  if ((numberOf(config.candidateCount) ?? 1) > 1) losses.add('n')
  const calling = either(body.toolConfig, 'functionCallingConfig')
  return {
    turns: system.length > 0 ? [{ role: 'system', blocks: system }, ...turns] : turns,
    tools: listOrEmpty(body.tools).flatMap((tool) => toolsOf(tool, losses)),
    choice: choiceOf(calling, losses),
    parallel: null,
    maxTokens: numberOf(config.maxOutputTokens),
    stop: listOrEmpty(config.stopSequences).filter((each) => typeof each === 'string'),
    sampling: {
      temperature: numberOf(config.temperature),
      topP: numberOf(config.topP),
      topK: numberOf(config.topK),
      seed: numberOf(config.seed),
      presencePenalty: numberOf(config.presencePenalty),
      frequencyPenalty: numberOf(config.frequencyPenalty),
    },
    reasoning: reasoningOf(config.thinkingConfig),
    format: formatOf(config, losses),
    user: null,
    extras: [
      ...extrasOf(body, 'google', READ, FIELDS),
      ...extrasOf(config, 'google', CONFIG_READ, CONFIG_FIELDS),
    ],
  }
}

/** Tracks calls by id. Calls without ids are numbered, and results are matched by name. */
export class ToolCalls {
  readonly #open: { readonly id: string; readonly name: string }[] = []
  #n = 0

  called(id: unknown, name: string): string {
    const own = typeof id === 'string' && id !== '' ? originalId(id) : `${name}_${this.#n}`
    this.#n++
    this.#open.push({ id: own, name })
    return own
  }

  answered(id: unknown, name: string): string {
    const own = typeof id === 'string' && id !== '' ? originalId(id) : null
    const at = this.#open.findIndex((call) => (own === null ? call.name === name : call.id === own))
    const [call] = at < 0 ? [] : this.#open.splice(at, 1)
    return own ?? call?.id ?? name
  }
}

/** Converts the parts of a content to blocks. */
export function partsOf(content: unknown, calls: ToolCalls, losses: Losses, family = FAMILY): Block[] {
  const blocks: Block[] = []
  for (const part of listOrEmpty(member(content, 'parts'))) {
    const json = camel(part)
    const thoughts = thoughtsIn(json.thoughtSignature)
    if (thoughts) {
      // Our marks include the text of the thoughts, because some clients do not return thought parts.
      const isBare = (block: Block) => block.type === 'reasoning' && (block.opaque?.bytes ?? '') === ''
      while (blocks.length > 0 && isBare(blocks.at(-1)!)) blocks.pop()
      blocks.push(...thoughts, ...(isEmptyText(json) ? [] : [blockOf(json, calls, losses)]))
    } else blocks.push(...signed(json, family, () => blockOf(json, calls, losses)))
  }
  return blocks
}

const isEmptyText = (part: Json): boolean => part.text === ''

export function blockOf(part: Json, calls: ToolCalls, losses: Losses): Block {
  const { text, inlineData, fileData, functionCall: call, functionResponse: response } = part
  losses.of(part.videoMetadata, 'image.detail')
  if (typeof text === 'string') return { type: 'text', text }
  if (isObject(inlineData)) {
    const { mimeType, data, displayName } = camel(inlineData)
    return fileBlock({ kind: 'base64', mediaType: textOf(mimeType), data: textOf(data) }, displayName)
  }
  if (isObject(fileData)) {
    const { mimeType, fileUri: uri, displayName } = camel(fileData)
    const mediaType = textOf(mimeType)
    // Only Google can read a file that it stores.
    const source: Source = /^gs:|^https:\/\/generativelanguage\.googleapis\.com\//.test(textOf(uri))
      ? { kind: 'file', id: textOf(uri) }
      : { kind: 'url', url: textOf(uri), ...(mediaType && { mediaType }) }
    return mediaType.startsWith('image/')
      ? { type: 'image', source }
      : { type: 'document', source, name: typeof displayName === 'string' ? displayName : null }
  }
  if (isObject(call)) {
    const name = textOf(call.name)
    const args = isObject(call.args) ? JSON.stringify(call.args) : ''
    return { type: 'call', id: calls.called(call.id, name), name, namespace: null, kind: 'function', args }
  }
  if (isObject(response)) return resultOf(response, calls, losses)
  const loss: Loss = part.executableCode || part.codeExecutionResult ? 'tool.server' : 'unknown.block'
  return { type: 'unknown', dialect: 'gemini', raw: part, loss }
}

function fileBlock(source: Source, name: unknown): Block {
  if (source.kind === 'base64' && source.mediaType.startsWith('image/')) return { type: 'image', source }
  return { type: 'document', source, name: typeof name === 'string' ? name : null }
}

/** Google's members for a plain result are `output` and `error`. Any other object is kept as JSON. */
function resultOf(response: Json, calls: ToolCalls, losses: Losses): Block {
  const { id, name, response: said, parts } = response
  const error = member(said, 'error')
  const plain = isObject(said) && Object.keys(said).length === 1 ? (error ?? said.output) : undefined
  const text = typeof plain === 'string' ? plain : JSON.stringify(said ?? {})
  return {
    type: 'result',
    id: calls.answered(id, textOf(name)),
    blocks: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...listOrEmpty(parts).map((part) => blockOf(camel(part), calls, losses)),
    ],
    error: typeof plain === 'string' && plain === error,
  }
}

function toolsOf(tool: unknown, losses: Losses): Tool[] {
  const { functionDeclarations: declared, ...others } = camel(tool)
  for (const name of Object.keys(others)) losses.add(name === 'computerUse' ? 'tool.builtin' : 'tool.server')
  return listOrEmpty(declared).flatMap((declaration): Tool[] => {
    if (!isObject(declaration)) return []
    const { name, description, parameters, parametersJsonSchema, ...rest } = camel(declaration)
    for (const field of Object.values(rest)) losses.of(field, 'tool.options')
    const schema = isObject(parametersJsonSchema) ? parametersJsonSchema : jsonSchemaOf(parameters, losses)
    return [
      {
        kind: 'function',
        name: textOf(name),
        namespace: null,
        description: typeof description === 'string' ? description : null,
        schema: schema ?? { type: 'object', properties: {} },
        strict: null,
      },
    ]
  })
}

function choiceOf(calling: unknown, losses: Losses): ToolChoice | null {
  const allowed = listOrEmpty(either(calling, 'allowedFunctionNames'))
  switch (member(calling, 'mode')) {
    case 'AUTO':
    case 'VALIDATED':
      losses.of(allowed[0], 'tool_choice')
      return { type: 'auto' }
    case 'NONE':
      return { type: 'none' }
    case 'ANY':
      if (allowed.length === 1) return { type: 'tool', name: textOf(allowed[0]), namespace: null }
      losses.of(allowed[0], 'tool_choice')
      return { type: 'required' }
    default:
      return null
  }
}

function reasoningOf(thinking: unknown): ReasoningWish {
  const level = either(thinking, 'thinkingLevel')
  const budget = numberOf(either(thinking, 'thinkingBudget'))
  const shown = either(thinking, 'includeThoughts') === true
  return {
    effort: typeof level === 'string' ? level.toLowerCase() : null,
    budget: budget !== null && budget > 0 ? budget : null,
    on: budget === 0 ? false : budget !== null || typeof level === 'string' || shown ? true : null,
  }
}

function formatOf(config: Json, losses: Losses): Format | null {
  const { responseMimeType: type, responseSchema, responseJsonSchema, _responseJsonSchema } = config
  const whole = responseJsonSchema ?? _responseJsonSchema
  const schema = isObject(whole) ? whole : jsonSchemaOf(responseSchema, losses)
  if (type === 'application/json')
    return schema ? { type: 'schema', name: null, schema, strict: null } : { type: 'json' }
  if (type !== 'text/plain') losses.of(type, 'format')
  return null
}

/** Returns a member by its camelCase name or the same name in snake_case. */
export const either = (value: unknown, name: string): unknown =>
  isObject(value)
    ? (value[name] ?? value[name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`)])
    : undefined

const BINARY = new Set(['inlineData', 'inline_data', 'fileData', 'file_data'])
/** Members that no model reads as text. A signature only proves that the provider produced the thought. */
const UNREAD = new Set([...BINARY, 'thoughtSignature', 'thought_signature'])

export interface Input {
  /**
   * Text to count. Includes member names, as an estimate of the text that a provider adds around contents and
   * tools.
   */
  readonly text: string
  readonly binaries: number
}

export function inputOf(body: Json): Input {
  // A counting request may contain a whole request. Each member may have either spelling.
  const requests = [body, body.generateContentRequest, body.generate_content_request].filter(isObject)
  const contents = requests.flatMap((each) => [
    each.systemInstruction,
    each.system_instruction,
    each.contents,
  ])
  const definitions = requests.flatMap((each) => [each.tools, each.generationConfig, each.generation_config])
  return {
    text: readableText(contents, UNREAD, definitions),
    binaries: countMembers(contents, (name) => BINARY.has(name)),
  }
}

/** Tokens assumed for an image or a file, both here and in budgets. */
const BINARY_TOKENS = 1_500

/** Estimates the length of a request that no provider can count. */
export function estimateAll(body: Json): number {
  const { text, binaries } = inputOf(body)
  return estimateTokens(text) + BINARY_TOKENS * binaries
}

/** Members that exist only in Google's format. */
const OWN = new Set(['propertyOrdering', 'property_ordering', 'example'])
/** Maximum depth of a schema. Deeper content is passed on unchanged. */
const MAX_DEPTH = 64

/** Returns the JSON Schema; null if `schema` is not a schema. */
function jsonSchemaOf(schema: unknown, losses: Losses, depth = 0): Json | null {
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
