// Converts a Messages request to blocks. Format: Anthropic API reference, "Messages". Reports the losses that
// occur in every dialect. Never throws for an unknown format.
import type { Loss, Losses } from '../../core/losses.ts'
import {
  type Block,
  type ClientRequest,
  type Conversation,
  extrasOf,
  type Format,
  NO_SAMPLING,
  type Opaque,
  type ReasoningWish,
  type Source,
  type Tool,
  type ToolChoice,
  type Turn,
  unpackOpaque,
} from '../blocks.ts'
import { isObject, type Json, listOrEmpty, member, numberOf, textOf } from '../json.ts'
import { originalId } from '../tools.ts'

/** Start of a line in the prompt that only Anthropic removes. */
const ATTRIBUTION = 'x-anthropic-billing-header:'

const READ = new Set(
  'model stream messages system max_tokens temperature top_p top_k stop_sequences tools tool_choice thinking output_config cache_control'.split(
    ' ',
  ),
)
const FIELDS: Readonly<Record<string, Loss>> = {
  metadata: 'metadata',
  service_tier: 'service_tier',
  speed: 'service_tier',
  inference_geo: 'service_tier',
  context_management: 'context_management',
  safeguards: 'safeguards',
  container: 'container',
  mcp_servers: 'mcp_servers',
  betas: 'betas',
  diagnostics: 'metadata',
  thread: 'thread',
}

export function parseRequest(
  json: Json,
  { forwarded }: Pick<ClientRequest, 'forwarded'>,
  losses: Losses,
): Conversation {
  const { system, messages, tools, tool_choice: choice, output_config: output } = json
  if (forwarded.includes('anthropic-beta')) losses.add('betas')
  losses.of(json.cache_control, 'cache_control')
  const turns = listOrEmpty(messages).flatMap((message): Turn[] =>
    isObject(message) ? [turnOf(message, losses)] : [],
  )
  const prompt = blocksOf(system, losses).filter(isNoAttribution(losses))
  return {
    turns: prompt.length > 0 ? [{ role: 'system', blocks: prompt }, ...turns] : turns,
    tools: listOrEmpty(tools).flatMap((tool) => toolOf(tool, losses)),
    choice: choiceOf(choice),
    parallel: member(choice, 'disable_parallel_tool_use') === true ? false : null,
    maxTokens: numberOf(json.max_tokens),
    stop: listOrEmpty(json.stop_sequences).filter((each) => typeof each === 'string'),
    sampling: {
      ...NO_SAMPLING,
      temperature: numberOf(json.temperature),
      topP: numberOf(json.top_p),
      topK: numberOf(json.top_k),
    },
    reasoning: reasoningOf(json.thinking, output, losses),
    format: formatOf(output, losses),
    user: null,
    extras: extrasOf(json, FAMILY, READ, FIELDS),
  }
}

const isNoAttribution = (losses: Losses) => (block: Block) => {
  if (block.type !== 'text' || !block.text.startsWith(ATTRIBUTION)) return true
  losses.add('attribution')
  return false
}

function turnOf(message: Json, losses: Losses): Turn {
  const { role, content } = message
  for (const name in message) if (name !== 'role' && name !== 'content') losses.add('system.place')
  return {
    role: role === 'assistant' || role === 'system' ? role : 'user',
    blocks: blocksOf(content, losses),
  }
}

const TOOL_FIELDS = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'cache_control',
  'strict',
  'defer_loading',
])

function toolOf(tool: unknown, losses: Losses): Tool[] {
  if (!isObject(tool)) return lost(losses, 'unknown.tool')
  const {
    type,
    name,
    description,
    input_schema: schema,
    strict,
    cache_control: cache,
    defer_loading: defer,
  } = tool
  if (type != null && type !== 'custom')
    return lost(losses, typeof type !== 'string' ? 'unknown.tool' : kindOfTool(type))
  if (defer === true) losses.add('tool.search')
  for (const field in tool) if (!TOOL_FIELDS.has(field)) losses.of(tool[field], 'tool.options')
  return [
    {
      kind: 'function',
      name: textOf(name),
      namespace: null,
      description: typeof description === 'string' ? description : null,
      schema: isObject(schema) ? schema : {},
      strict: typeof strict === 'boolean' ? strict : null,
      ...(cache == null ? {} : { cache }),
    },
  ]
}

function lost(losses: Losses, word: Loss): [] {
  losses.add(word)
  return []
}

/**
 * Returns the loss for a tool. Only Claude knows client tools by their type; Anthropic itself runs all other
 * typed tools.
 */
const kindOfTool = (type: string): Loss =>
  /^tool_search/.test(type)
    ? 'tool.search'
    : /^(bash|text_editor|computer|memory|browser)_/.test(type)
      ? 'tool.builtin'
      : /^(web_|code_execution|mcp_)/.test(type)
        ? 'tool.server'
        : 'unknown.tool'

function choiceOf(choice: unknown): ToolChoice | null {
  const type = member(choice, 'type')
  if (type === 'auto' || type === 'none') return { type }
  if (type === 'any') return { type: 'required' }
  const name = member(choice, 'name')
  return type === 'tool' && typeof name === 'string' ? { type, name, namespace: null } : null
}

function reasoningOf(thinking: unknown, output: unknown, losses: Losses): ReasoningWish {
  const effort = member(output, 'effort')
  const type = member(thinking, 'type')
  if (member(thinking, 'display') != null) losses.add('thinking.display')
  return {
    effort: typeof effort === 'string' ? effort : null,
    budget: numberOf(member(thinking, 'budget_tokens')),
    on: type === 'disabled' ? false : type == null ? null : true,
  }
}

function formatOf(output: unknown, losses: Losses): Format | null {
  if (isObject(output))
    for (const name in output)
      if (name !== 'effort' && name !== 'format') losses.of(output[name], 'unknown.field')
  const format = member(output, 'format')
  if (format == null) return null
  const schema = member(format, 'schema')
  if (member(format, 'type') === 'json_schema' && isObject(schema))
    return { type: 'schema', name: null, schema, strict: null }
  losses.add('format')
  return null
}

export const FAMILY = 'anthropic'

/** Prefix of redacted thinking. Signatures never contain a colon. */
export const REDACTED = 'redacted:'

/** Converts a string or a list of blocks. */
export function blocksOf(content: unknown, losses: Losses, family = FAMILY): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOrEmpty(content).map((block) => blockOf(block, losses, family))
}

/** Converts one block of a message or of an answer. */
export function blockOf(block: unknown, losses: Losses, family = FAMILY): Block {
  if (!isObject(block)) return unknown(block, 'unknown.block')
  const cache = block.cache_control == null ? {} : { cache: block.cache_control }
  switch (block.type) {
    case 'text':
      if (listOrEmpty(block.citations).length > 0) losses.add('citations')
      return { type: 'text', text: textOf(block.text), ...cache }
    case 'image':
    case 'document': {
      const source = sourceOf(block.source)
      if (!source) return unknown(block, block.type)
      if (block.type === 'image') return { type: 'image', source, ...cache }
      losses.of(block.context, 'document.title')
      if (member(block.citations, 'enabled') === true) losses.add('document.title')
      return {
        type: 'document',
        source,
        name: typeof block.title === 'string' ? block.title : null,
        ...cache,
      }
    }
    case 'thinking': {
      const signature = textOf(block.signature)
      const opaque = signature === '' ? null : opaqueOf(signature, family)
      return { type: 'reasoning', text: textOf(block.thinking), opaque }
    }
    case 'redacted_thinking': {
      const data = textOf(block.data)
      return { type: 'reasoning', text: '', opaque: unpackOpaque(data) ?? { family, bytes: REDACTED + data } }
    }
    case 'tool_use':
      return {
        type: 'call',
        id: originalId(textOf(block.id)),
        name: textOf(block.name),
        namespace: null,
        kind: 'function',
        args: JSON.stringify(block.input ?? {}),
        ...cache,
      }
    case 'tool_result':
      return {
        type: 'result',
        id: originalId(textOf(block.tool_use_id)),
        blocks: blocksOf(block.content, losses, family),
        error: block.is_error === true,
        ...cache,
      }
    default:
      return unknown(
        block,
        /^(server_tool_use|mcp_tool|web_|code_|bash_|text_editor_|.*_tool_result$)/.test(String(block.type))
          ? 'tool.server'
          : block.type === 'tool_reference'
            ? 'tool.search'
            : 'unknown.block',
      )
  }
}

/** Unpacks reasoning that carries this gateway's mark. */
export const opaqueOf = (signature: string, family: string): Opaque =>
  unpackOpaque(signature) ?? { family, bytes: signature }

const unknown = (raw: unknown, loss: Loss): Block => ({ type: 'unknown', dialect: 'messages', raw, loss })

function sourceOf(source: unknown): Source | null {
  if (!isObject(source)) return null
  const { type, media_type: mediaType, data, url, file_id: id, content } = source
  if (type === 'base64') return { kind: 'base64', mediaType: textOf(mediaType), data: textOf(data) }
  if (type === 'url') return { kind: 'url', url: textOf(url) }
  if (type === 'file') return { kind: 'file', id: textOf(id) }
  if (type === 'text') return { kind: 'text', text: textOf(data) }
  if (type !== 'content') return null
  if (typeof content === 'string') return { kind: 'text', text: content }
  const parts = listOrEmpty(content)
  return parts.every((part) => member(part, 'type') === 'text')
    ? { kind: 'text', text: parts.map((part) => textOf(member(part, 'text'))).join('\n\n') }
    : null
}
