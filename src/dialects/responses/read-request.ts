// Converts a Responses request to blocks. Format: OpenAI API reference, "Responses"; tools as Codex offers
// them. Reports the losses that occur in every dialect. Never throws for an unknown format.
import type { Loss, Losses } from '../../core/losses.ts'
import { parseExact } from '../../shared/exact-json.ts'
import {
  type Block,
  type CallBlock,
  type Conversation,
  type Extra,
  extrasOf,
  NO_SAMPLING,
  type Opaque,
  type ReasoningBlock,
  type Source,
  sourceOf,
  type Tool,
  type ToolChoice,
  type Turn,
  unpackOpaque,
} from '../blocks.ts'
import { isObject, type Json, listOrEmpty, member, numberOf, textOf } from '../json.ts'
import { formatIn } from '../openai.ts'
import { originalId } from '../tools.ts'

export const FAMILY = 'openai'

const READ = new Set(
  'model stream stream_options instructions input max_output_tokens temperature top_p tools tool_choice parallel_tool_calls reasoning text user include'.split(
    ' ',
  ),
)
const FIELDS: Readonly<Record<string, Loss>> = {
  metadata: 'metadata',
  client_metadata: 'metadata',
  service_tier: 'service_tier',
  store: 'store',
  background: 'store',
  conversation: 'store',
  previous_response_id: 'store',
  prompt: 'store',
  prompt_cache_key: 'prompt_cache',
  prompt_cache_retention: 'prompt_cache',
  prompt_cache_options: 'prompt_cache',
  safety_identifier: 'safety_identifier',
  moderation: 'safeguards',
  top_logprobs: 'logprobs',
  truncation: 'context_management',
  context_management: 'context_management',
  max_tool_calls: 'tool.server',
}

export function parseRequest(json: Json, _request: unknown, losses: Losses): Conversation {
  const { instructions, input, tools, tool_choice: choice, reasoning, text } = json
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listOrEmpty(input)
  const added = items.map(addedTools)
  const prompt: Turn[] =
    typeof instructions === 'string' && instructions !== ''
      ? [{ role: 'system', blocks: [{ type: 'text', text: instructions }] }]
      : []
  const effort = member(reasoning, 'effort')
  nameIncluded(json.include, losses)
  if (saysMore(reasoning)) losses.add('thinking.context')
  return {
    turns: [
      ...prompt,
      ...joined(items.filter((_, at) => !added[at]).map((item) => partOfItem(item, losses, FAMILY))),
    ],
    // Tools that an item adds or a search finds can be called in all later turns.
    tools: named([...listOrEmpty(tools), ...items.flatMap((item, at) => added[at] ?? foundBy(item))], losses),
    choice: choiceOf(choice, losses),
    parallel: typeof json.parallel_tool_calls === 'boolean' ? json.parallel_tool_calls : null,
    maxTokens: numberOf(json.max_output_tokens),
    stop: [],
    sampling: { ...NO_SAMPLING, temperature: numberOf(json.temperature), topP: numberOf(json.top_p) },
    reasoning: {
      effort: typeof effort === 'string' ? effort : null,
      budget: null,
      on: wishesToSee(reasoning),
    },
    format: formatIn(member(text, 'format'), member(text, 'format'), losses),
    user: typeof json.user === 'string' ? json.user : null,
    extras: [...extrasOf(json, FAMILY, READ, FIELDS).filter(isSaying), ...verbosityOf(text)],
  }
}

/** Returns true if a request asks to show reasoning but names no effort. Such a request needs some reasoning. */
const wishesToSee = (reasoning: unknown): true | null =>
  member(reasoning, 'effort') == null && member(reasoning, 'summary') != null ? true : null

/** Returns true if the request selects the reasoning that the model sees, or the mode of reasoning. */
const saysMore = (reasoning: unknown): boolean =>
  ![undefined, null, 'auto'].includes(member(reasoning, 'context') as string) ||
  ![undefined, null, 'standard'].includes(member(reasoning, 'mode') as string)

/** Returns false for a setting without effect. Omitting it is no loss. */
const isSaying = ({ name, value }: Extra): boolean =>
  !(['store', 'background'].includes(name) && value === false) &&
  !(name === 'truncation' && value === 'disabled')

const verbosityOf = (text: unknown): Extra[] => {
  const value = member(text, 'verbosity')
  return value == null ? [] : [{ owner: FAMILY, name: 'verbosity', value, loss: 'verbosity' }]
}

/** Reports losses of `include`. Encrypted reasoning is always included. */
function nameIncluded(include: unknown, losses: Losses): void {
  for (const each of listOrEmpty(include))
    if (/logprobs/.test(String(each))) losses.add('logprobs')
    else if (each !== 'reasoning.encrypted_content') losses.add('tool.server')
}

/** Joins the assistant's successive items into one turn, and successive tool results into another. */
function joined(parts: readonly Turn[]): Turn[] {
  const turns: { role: Turn['role']; blocks: Turn['blocks'][number][]; isJoined: boolean }[] = []
  for (const { role, blocks } of parts) {
    const isJoined = role === 'assistant' || blocks.every(({ type }) => type === 'result')
    const last = turns.at(-1)
    if (last?.role === role && last.isJoined && isJoined) last.blocks.push(...blocks)
    else turns.push({ role, blocks: [...blocks], isJoined })
  }
  return turns.map(({ role, blocks }) => ({ role, blocks }))
}

const foundBy = (item: unknown): readonly unknown[] =>
  member(item, 'type') === 'tool_search_output' ? listOrEmpty(member(item, 'tools')) : []

/** Returns each tool once, since a repeated search finds the same tools again. */
function named(tools: readonly unknown[], losses: Losses): Tool[] {
  const byName = new Map<string, Tool>()
  for (const tool of tools.flatMap((each) => toolsOf(each, losses)))
    byName.set(JSON.stringify([tool.namespace, tool.name]), tool)
  return [...byName.values()]
}

function toolsOf(tool: unknown, losses: Losses): Tool[] {
  if (!isObject(tool)) return lost(losses, 'unknown.tool')
  const { type, name, description, tools } = tool
  if (type !== 'namespace') return toolOf(tool, null, null, losses)
  // A group's settings apply to each of its tools.
  return listOrEmpty(tools).flatMap((each) =>
    isObject(each)
      ? toolOf(each, textOf(name), textOf(description) || null, losses)
      : lost(losses, 'unknown.tool'),
  )
}

function toolOf(
  { type, name, description, parameters, strict, format, defer_loading: defer, execution }: Json,
  namespace: string | null,
  ofGroup: string | null,
  losses: Losses,
): Tool[] {
  const own = typeof description === 'string' ? description : null
  const described = ofGroup === null ? own : [ofGroup, own].filter((each) => each !== null).join('\n\n')
  const base = { name: textOf(name), namespace, description: described, strict: null }
  const schema = isObject(parameters) ? parameters : {}
  if (defer === true) losses.add('tool.search')
  if (type === 'function')
    // Tools in other dialects are not strict by default.
    return [{ ...base, kind: 'function', schema, strict: strict === true ? true : null }]
  if (type === 'custom') {
    const grammar = format == null || member(format, 'type') === 'text' ? {} : { grammar: format }
    return [{ ...base, kind: 'custom', schema: null, ...grammar }]
  }
  if (type === 'tool_search' && execution !== 'server')
    return [{ ...base, kind: 'search', name: SEARCH, schema }]
  return lost(losses, kindOf(textOf(type)))
}

/**
 * Returns the loss for a tool. Only OpenAI's models know client tools by their type; the provider runs all
 * other typed tools.
 */
const kindOf = (type: string): Loss =>
  /^tool_search/.test(type)
    ? 'tool.search'
    : /^(local_shell|shell|apply_patch|computer)/.test(type)
      ? 'tool.builtin'
      : /search|code_interpreter|image_generation|mcp|programmatic/.test(type)
        ? 'tool.server'
        : 'unknown.tool'

function lost(losses: Losses, word: Loss): [] {
  losses.add(word)
  return []
}

function choiceOf(choice: unknown, losses: Losses): ToolChoice | null {
  if (choice == null) return null
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  const { type, name, namespace, mode } = isObject(choice) ? choice : {}
  if ((type === 'function' || type === 'custom') && typeof name === 'string')
    return { type: 'tool', name, namespace: typeof namespace === 'string' ? namespace : null }
  losses.add('tool_choice')
  return mode === 'required' ? { type: 'required' } : null
}

/** Name of the tool that searches for tools. */
const SEARCH = 'tool_search'

/**
 * Returns the tools of an item that adds tools; null for any other item. Codex sends all of its tools in this
 * way, at the beginning.
 */
export const addedTools = (item: unknown): readonly unknown[] | null =>
  member(item, 'type') === 'additional_tools' ? listOrEmpty(member(item, 'tools')) : null

/** Converts an item to part of a turn. `family`: owner of opaque data without our mark. */
export function partOfItem(item: unknown, losses: Losses, family: string): Turn {
  if (!isObject(item)) return { role: 'user', blocks: [unknown(item, 'unknown.block')] }
  const type = item.type ?? 'message'
  if (type === 'message') return messageOf(item, losses)
  if (type === 'reasoning') return { role: 'assistant', blocks: [reasoningOf(item, family)] }
  const call = callOf(item)
  if (call) return { role: 'assistant', blocks: [call] }
  if (typeof type === 'string' && OUTPUTS.has(type) && item.execution !== 'server')
    return { role: 'user', blocks: [resultOf(item, losses)] }
  const role = textOf(type).endsWith('_output') ? 'user' : 'assistant'
  return { role, blocks: [unknown(item, lossOf(textOf(type)))] }
}

function messageOf({ role, content, phase }: Json, losses: Losses): Turn {
  losses.of(phase, 'phase')
  const blocks = partsOf(content, losses)
  return role === 'assistant' || role === 'system' || role === 'developer'
    ? { role, blocks }
    : { role: 'user', blocks }
}

/** Converts a string or a list of parts. */
export function partsOf(content: unknown, losses: Losses): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOrEmpty(content).map((part) => partOf(part, losses))
}

function partOf(part: unknown, losses: Losses): Block {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (!isObject(part)) return unknown(part, 'unknown.block')
  losses.of(part.prompt_cache_breakpoint, 'cache_control')
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      if (listOrEmpty(part.annotations).length > 0) losses.add('citations')
      return { type: 'text', text: textOf(part.text) }
    case 'refusal':
      losses.add('refusal')
      return { type: 'text', text: textOf(part.refusal) }
    case 'input_image': {
      const { image_url: url, file_id: id, detail } = part
      const source: Source = typeof url === 'string' ? sourceOf(url) : { kind: 'file', id: textOf(id) }
      return { type: 'image', source, ...(typeof detail === 'string' ? { detail } : {}) }
    }
    case 'input_file': {
      const { file_data: data, file_url: url, file_id: id, filename } = part
      const source: Source =
        typeof data === 'string'
          ? sourceOf(data)
          : typeof url === 'string'
            ? { kind: 'url', url }
            : { kind: 'file', id: textOf(id) }
      return { type: 'document', source, name: typeof filename === 'string' ? filename : null }
    }
    case 'input_audio': {
      const { data, format } = isObject(part.input_audio) ? part.input_audio : {}
      const source: Source = { kind: 'base64', mediaType: `audio/${textOf(format)}`, data: textOf(data) }
      return { type: 'document', source, name: null }
    }
    default:
      return unknown(part, 'unknown.block')
  }
}

const BETWEEN = '\n\n'
const textsOf = (parts: unknown): string[] => listOrEmpty(parts).map((part) => textOf(member(part, 'text')))

/** Converts a reasoning item. The readable text is the summary, or else the content. */
export function reasoningOf(item: Json, family: string): ReasoningBlock {
  const summary = textsOf(item.summary)
  const text = (summary.length > 0 ? summary : textsOf(item.content)).join(BETWEEN)
  return { type: 'reasoning', text, opaque: sealOf(item, family) }
}

/**
 * Packs encrypted data with the item's id and the number of summary parts, which the provider also needs.
 * Null without encrypted data.
 */
function sealOf({ id, summary, encrypted_content: sealed }: Json, family: string): Opaque | null {
  if (typeof sealed !== 'string' || sealed === '') return null
  const ours = unpackOpaque(sealed)
  if (ours) return ours
  const parts = listOrEmpty(summary).length > 1 ? { summary } : {}
  return { family, bytes: JSON.stringify({ id, encrypted_content: sealed, ...parts }) }
}

/** Returns the members that `sealOf` packed; null for any other text. */
export function unsealed(bytes: string): Json | null {
  try {
    const json = parseExact(bytes)
    return isObject(json) && typeof json.encrypted_content === 'string' ? json : null
  } catch {
    return null
  }
}

/** Returns arguments as a text. Some servers send an object. */
export const argumentsOf = (args: unknown): string => (isObject(args) ? JSON.stringify(args) : textOf(args))

/** Converts a call of a client's tool; null for any other item. */
export function callOf({ type, call_id, name, namespace, execution, ...item }: Json): CallBlock | null {
  const call = {
    type: 'call',
    id: originalId(textOf(call_id)),
    name: textOf(name),
    namespace: typeof namespace === 'string' ? namespace : null,
  } as const
  if (type === 'function_call') return { ...call, kind: 'function', args: argumentsOf(item.arguments) }
  if (type === 'custom_tool_call') return { ...call, kind: 'custom', args: textOf(item.input) }
  if (type !== 'tool_search_call' || execution === 'server') return null
  const { arguments: args } = item
  return {
    ...call,
    kind: 'search',
    name: SEARCH,
    args: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
  }
}

const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output', 'tool_search_output'])

/** Converts a result. After a search, the model sees the found tools as the client described them. */
function resultOf({ type, call_id, output, tools }: Json, losses: Losses): Block {
  const found = type === 'tool_search_output' ? JSON.stringify(tools ?? []) : output
  return { type: 'result', id: originalId(textOf(call_id)), blocks: partsOf(found, losses), error: false }
}

const unknown = (raw: unknown, loss: Loss): Block => ({ type: 'unknown', dialect: 'responses', raw, loss })

/** Returns the loss of an item that cannot be translated. */
function lossOf(type: string): Loss {
  if (type.startsWith('compaction') || type === 'context_compaction') return 'compaction'
  if (type === 'item_reference') return 'store'
  if (/^(local_shell|shell|apply_patch|computer)_call/.test(type)) return 'tool.builtin'
  if (/^tool_search/.test(type)) return 'tool.search'
  return /_call(_output)?$|^mcp_/.test(type) ? 'tool.server' : 'unknown.block'
}
