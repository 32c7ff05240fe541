// Converts items of responses to blocks, from a request's `input` and an answer's `output`. Format: OpenAI
// API reference, "Responses". Never throws for an unknown format.
import type { Loss, Losses } from '../../core/losses.ts'
import { parseExact } from '../../shared/exact-json.ts'
import type { Block, CallBlock, Opaque, ReasoningBlock, Source, Turn } from '../blocks.ts'
import { unpackOpaque } from '../carrier.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../json.ts'
import { sourceOf } from '../source.ts'
import { originalId } from '../tool-ids.ts'

/** Name of the tool that searches for tools. */
export const SEARCH = 'tool_search'

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
