// Converts the content of a message, in a request or an answer, to blocks. Format: Anthropic API reference,
// "Messages".
import type { Loss, Losses } from '../../core/losses.ts'
import type { Block, Opaque, Source } from '../blocks.ts'
import { unpackOpaque } from '../carrier.ts'
import { isObject, listOrEmpty, member, textOf } from '../json.ts'
import { originalId } from '../tool-ids.ts'

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
