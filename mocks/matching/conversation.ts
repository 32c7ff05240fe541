// Reads a request's conversation into one form for all dialects: parts in order, tools by name, and the other settings. Replaces
// ids by positions, so that a conversation is the same on every run. Also judges the conditions of handwritten answers on a
// conversation and a model. Pure; knows the dialects' fields, independent of providers, digests, scripts and recordings.
import { hash } from 'node:crypto'
import { z } from 'zod'
import { isSealed } from '../redaction/vocabulary.ts'
import { offeredTools } from '../scenarios/offered-tools.ts'

export const ROLES = ['system', 'user', 'assistant', 'tool'] as const
export const KINDS = ['text', 'reasoning', 'call', 'result', 'image', 'file', 'other'] as const

/** Part of a message: a text, a call, a result or a file. */
export interface Part {
  readonly role: (typeof ROLES)[number]
  readonly kind: (typeof KINDS)[number]
  /** Content; for an image or a file, the SHA-256 or the address. */
  readonly text: string
}

export interface Conversation {
  readonly parts: readonly Part[]
  readonly tools: readonly { readonly name: string; readonly definition: string }[]
  /** Other fields that can change the answer, as JSON. */
  readonly settings: Readonly<Record<string, string>>
}

type Json = Readonly<Record<string, unknown>>
type Role = Part['role']

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Fields that hold the conversation. */
const SPOKEN = [
  ...['system', 'instructions', 'systemInstruction', 'system_instruction', 'prompt', 'previous_response_id'],
  ...['messages', 'input', 'contents', 'tools', 'functions', 'previous_interaction_id'],
]
/** Fields that change who pays, where the answer is stored or how it is sent, but not its content. */
const IGNORED = [
  ...['model', 'stream', 'stream_options', 'user', 'metadata', 'store', 'service_tier', 'thread', 'include'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'safety_identifier', 'background', 'client_metadata'],
  ...['labels', 'webhook_config'],
]

/**
 * Returns the conversation of a request's body; null if the body is not a JSON object, or is nested too
 * deeply.
 */
export function conversationOf(body: unknown): Conversation | null {
  try {
    return isObject(body) ? read(body) : null
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function read(body: Json): Conversation {
  const reader = new Reader()
  for (const name of ['system', 'instructions', 'systemInstruction', 'system_instruction'])
    reader.content('system', body[name])
  const previous = body.previous_response_id ?? body.previous_interaction_id
  if (typeof previous === 'string') reader.add('system', 'other', `continues ${previous}`)
  reader.content('user', body.prompt)
  for (const message of list(body.messages)) reader.message(message)
  for (const turn of list(body.contents)) reader.message(turn)
  if (Array.isArray(body.input)) for (const item of body.input) reader.message(item)
  else reader.content('user', body.input)
  const others = Object.entries(body).filter(
    ([name, value]) =>
      !SPOKEN.includes(name) && !IGNORED.includes(name) && value !== null && value !== undefined,
  )
  return {
    parts: reader.inOrder(),
    tools: toolsOf(body),
    settings: Object.fromEntries(others.map(([name, value]) => [name, canonical(value)]).sort()),
  }
}

/** Reads the tools without descriptions, sorted by name because their order changes from run to run. */
function toolsOf(body: Json): Conversation['tools'] {
  const added = list(body.input).filter((item) => isObject(item) && item.type === 'additional_tools')
  const tools = [body, ...added].flatMap((holder) => flat(list((holder as Json).tools)))
  const named = offeredTools({ ...body, tools }).map(({ name, schema }) => ({
    name,
    definition: canonical(schema),
  }))
  for (const { type, name, format } of tools) {
    const known = type === 'custom' ? name : type
    if (typeof known === 'string' && known !== 'function' && named.every((one) => one.name !== known))
      named.push({ name: known, definition: type === 'custom' ? canonical(format ?? null) : '' })
  }
  return named.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Takes the tools out of their namespaces and prefixes them with the namespace's name. */
const flat = (tools: readonly unknown[]): Json[] =>
  tools
    .filter(isObject)
    .flatMap((tool) =>
      tool.type === 'namespace'
        ? flat(list(tool.tools)).map((inner) => ({ ...inner, name: `${tool.name}.${inner.name}` }))
        : [tool],
    )

class Reader {
  readonly #parts: { part: Part; call: number }[] = []
  readonly #calls = new Map<string, number>()

  add(role: Role, kind: Part['kind'], text: string, call = -1): void {
    const clean = text.replaceAll('\r\n', '\n').trim()
    if (clean !== '') this.#parts.push({ part: { role, kind, text: clean }, call })
  }

  /** Returns the parts. Sorts consecutive results in the order of their calls, because calls run in parallel. */
  inOrder(): Part[] {
    const parts = [...this.#parts]
    for (let from = 0; from < parts.length; from++) {
      let to = from
      while (parts[to]?.part.kind === 'result') to++
      if (to > from) parts.splice(from, to - from, ...parts.slice(from, to).sort((a, b) => a.call - b.call))
      from = Math.max(from, to - 1)
    }
    return parts.map(({ part }) => part)
  }

  /** Reads a message, an item of the Responses dialect, or a turn of Gemini. */
  message(message: unknown): void {
    if (!isObject(message)) this.content('user', message)
    else if (message.role === 'tool' || message.role === 'function')
      this.result(message.tool_call_id ?? message.name, message.content)
    else if (message.role === undefined && message.type !== undefined && message.type !== 'message')
      this.block('user', message)
    else this.#spoken(message, roleOf(message.role))
  }

  #spoken(message: Json, role: Role): void {
    for (const field of ['reasoning_content', 'reasoning']) this.text(role, 'reasoning', message[field])
    this.content(role, message.content ?? message.parts)
    this.text(role, 'text', message.refusal)
    for (const call of list(message.tool_calls).filter(isObject)) {
      const called = isObject(call.function) ? call.function : isObject(call.custom) ? call.custom : call
      this.call(call.id, called.name, called.arguments ?? called.input)
    }
    if (isObject(message.function_call))
      this.call(undefined, message.function_call.name, message.function_call.arguments)
  }

  content(role: Role, content: unknown): void {
    if (typeof content === 'string') this.add(role, 'text', content)
    else if (Array.isArray(content) && content.every((one) => typeof one === 'number'))
      this.add(role, 'other', canonical(content)) // tokens
    else if (Array.isArray(content)) for (const block of content) this.block(role, block)
    else if (isObject(content) && Array.isArray(content.parts)) this.content(role, content.parts)
    else if (isObject(content)) this.block(role, content)
  }

  block(role: Role, block: unknown): void {
    if (!isObject(block)) this.content(role, block)
    else (BLOCKS[geminiType(block) ?? String(block.type)] ?? readOther)(this, block, role)
  }

  text(role: Role, kind: Part['kind'], text: unknown): void {
    if (typeof text === 'string') this.add(role, kind, text)
  }

  call(id: unknown, name: unknown, given: unknown): void {
    if (typeof id === 'string') this.#calls.set(id, this.#calls.size)
    this.add('assistant', 'call', `${String(name)}(${canonical(parsed(given))})`)
  }

  result(id: unknown, content: unknown): void {
    const inner = new Reader()
    inner.content('tool', content)
    const texts = inner.inOrder().map(({ kind, text }) => (kind === 'text' ? text : `[${kind} ${text}]`))
    this.add('tool', 'result', texts.join('\n') || '(empty)', this.#calls.get(String(id)) ?? -1)
  }
}

type ReadBlock = (reader: Reader, block: Json, role: Role) => void

/** Gemini's parts have no `type`; the name of their member shows it. */
const geminiType = (block: Json): string | undefined =>
  ['functionCall', 'function_call', 'functionResponse', 'function_response'].find((name) =>
    isObject(block[name]),
  )

const readGeminiCall: ReadBlock = (reader, block) => {
  const { id, name, args } = (block.functionCall ?? block.function_call) as Json
  reader.call(id, name, args)
}
const readGeminiResult: ReadBlock = (reader, block) => {
  const { id, name, response } = (block.functionResponse ?? block.function_response) as Json
  reader.result(id ?? name, canonical(response))
}
const readToolUse: ReadBlock = (reader, { id, name, input }) => reader.call(id, name, input)
const readCallItem: ReadBlock = (reader, block) =>
  reader.call(block.call_id ?? block.id, block.name, block.arguments ?? block.input)
const readOutputItem: ReadBlock = (reader, { call_id, output }) => reader.result(call_id, output)

const BLOCKS: Readonly<Record<string, ReadBlock>> = {
  functionCall: readGeminiCall,
  function_call: (reader, block) =>
    isObject(block.function_call)
      ? readGeminiCall(reader, block, 'assistant')
      : readCallItem(reader, block, 'assistant'),
  functionResponse: readGeminiResult,
  function_response: readGeminiResult,
  tool_use: readToolUse,
  server_tool_use: readToolUse,
  tool_result: (reader, { tool_use_id, content }) => reader.result(tool_use_id, content),
  custom_tool_call: readCallItem,
  function_call_output: readOutputItem,
  custom_tool_call_output: readOutputItem,
  user_input: (reader, { content }) => reader.content('user', content),
  model_output: (reader, { content }) => reader.content('assistant', content),
  function_result: (reader, { call_id, result }) =>
    reader.result(call_id, isObject(result) ? canonical(result) : result),
  thought: (reader, { summary }) => {
    for (const one of list(summary)) if (isObject(one)) reader.text('assistant', 'reasoning', one.text)
  },
  thinking: (reader, { thinking }) => reader.text('assistant', 'reasoning', thinking),
  additional_tools() {}, // read together with the tools
  redacted_thinking() {}, // encrypted, and different in every run
  reasoning(reader, { summary, content }) {
    for (const one of [...list(summary), ...list(content)])
      if (isObject(one)) reader.text('assistant', 'reasoning', one.text)
  },
  refusal: (reader, { refusal }, role) => reader.text(role, 'text', refusal),
}

const readOther: ReadBlock = (reader, block, role) => {
  const file = fileIn(block)
  if (typeof block.text === 'string')
    reader.add(role, block.thought === true ? 'reasoning' : 'text', block.text)
  else if (file) reader.add(role, file.kind, file.text)
  else reader.add(role, 'other', canonical(withoutIds(block)))
}

const roleOf = (name: unknown): Role =>
  name === 'assistant' || name === 'model'
    ? 'assistant'
    : name === 'system' || name === 'developer'
      ? 'system'
      : 'user'

/** Returns an image or another file of a block: its content if the request includes it, otherwise its address. */
function fileIn(block: Json): { kind: 'image' | 'file'; text: string } | null {
  const inner = [block, block.source, block.image_url, block.inlineData, block.inline_data, block.input_audio]
  const holders = [...inner, block.file, block.fileData, block.file_data].filter(isObject)
  const values = holders.flatMap(
    ({ data, url, uri, image_url, file_data, file_url, fileUri, file_uri, file_id }) => [
      ...[data, file_data, url, uri, image_url, file_url, fileUri, file_uri, file_id],
    ],
  )
  const value = values.find((one) => typeof one === 'string')
  if (value === undefined) return null
  const kind = /image/.test(
    `${block.type} ${holders.map(({ mimeType, mime_type }) => mimeType ?? mime_type).join()}`,
  )
    ? 'image'
    : 'file'
  const encoded = /^data:[^,]*,/.test(value) ? value.slice(value.indexOf(',') + 1) : value
  const isContent = encoded !== value || holders.some((one) => one.data === value || one.file_data === value)
  return { kind, text: isContent ? `sha256 ${hash('sha256', Buffer.from(encoded, 'base64'))}` : value }
}

/** Leaves out values that differ in every run: ids, encrypted content, and cache markers. */
const withoutIds = (block: Json): Json =>
  JSON.parse(
    JSON.stringify(block, (name, value) =>
      isSealed(name) || /^(?:id|.*_id|.*[a-z]Id|status|cache_control)$/.test(name) ? undefined : value,
    ),
  )

const parsed = (given: unknown): unknown => {
  if (typeof given !== 'string') return given ?? {}
  try {
    return JSON.parse(given || '{}')
  } catch {
    return given
  }
}

/** Formats a value as JSON with sorted names and LF line ends. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner) =>
      isObject(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : typeof inner === 'string'
          ? inner.replaceAll('\r\n', '\n')
          : inner,
    ) ?? 'null'
  )
}

const isPattern = (source: string): boolean => {
  try {
    return Boolean(new RegExp(source))
  } catch {
    return false
  }
}

const textSchema = z
  .union(
    [
      z.string().min(1),
      z.strictObject({ pattern: z.string().refine(isPattern, 'is no regular expression') }),
    ],
    'takes a text, or {"pattern": "a regular expression"}',
  )
  .describe('A piece of the text; or a pattern.')

/** Condition; all of its members must hold. */
export const predicateSchema = z
  .strictObject({
    user: textSchema.optional().describe('In the last text of the user.'),
    system: textSchema.optional().describe('In any of the instructions.'),
    tool_result: textSchema.optional().describe('In the last result of a tool, which nothing follows.'),
    turn: z.int().positive().optional().describe('Number of the turn: 1 before the model said anything.'),
    model: textSchema.optional().describe('In the model id.'),
  })
  .refine((members) => Object.keys(members).length > 0, 'needs one of user, system, tool_result, turn, model')

export type Predicate = z.infer<typeof predicateSchema>

/** Parts of a call that a predicate examines. */
export interface Spoken {
  readonly model: string | null
  readonly parts: readonly Part[]
}

/** Returns true if every member of the predicate holds. */
export function holds(predicate: Predicate, { model, parts }: Spoken): boolean {
  const { user, system, tool_result, turn } = predicate
  const last = parts.at(-1)
  const spoken = parts.findLast(({ role, kind }) => role === 'user' && kind === 'text')
  return (
    fits(user, spoken?.text) &&
    (system === undefined || parts.some((part) => part.role === 'system' && fits(system, part.text))) &&
    fits(tool_result, last?.kind === 'result' ? last.text : undefined) &&
    (turn === undefined || turn === turnOf(parts)) &&
    fits(predicate.model, model ?? undefined)
  )
}

function fits(wanted: Predicate['user'], text: string | undefined): boolean {
  if (wanted === undefined) return true
  if (text === undefined) return false
  return typeof wanted === 'string' ? text.includes(wanted) : new RegExp(wanted.pattern).test(text)
}

/** Counts the model's turns, including the turn that is requested now. */
function turnOf(parts: readonly Part[]): number {
  const spoke = parts.filter(({ role }, i) => role === 'assistant' && parts[i - 1]?.role !== 'assistant')
  return spoke.length + 1
}
