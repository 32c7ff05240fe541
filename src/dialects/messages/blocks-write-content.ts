// Converts blocks to the content of a request's message. Format: Anthropic API reference, "Messages",
// "Extended thinking".
import type { Losses } from '../../core/losses.ts'
import type { Block, Peer, ResultBlock, Source } from '../blocks.ts'
import { argumentsOf } from '../call-arguments.ts'
import { isAcceptedImage, typedSource } from '../media.ts'
import { idForProvider } from '../tool-ids.ts'
import { REDACTED } from './blocks-content.ts'

export const hint = ({ cache }: { readonly cache?: unknown }) =>
  cache === undefined ? {} : { cache_control: cache }

export function textFor(block: Block, losses: Losses): object[] {
  if (block.type === 'text')
    // Anthropic refuses a text of only white space.
    return block.text.trim() === '' ? [] : [{ type: 'text', text: block.text, ...hint(block) }]
  losses.add(block.type === 'unknown' ? block.loss : block.type === 'image' ? 'image' : 'unknown.block')
  return []
}

/** Converts a block of a request. Returns an empty list if the block cannot be written. */
export function blockFor(block: Block, peer: Peer, losses: Losses): object[] {
  switch (block.type) {
    case 'text':
      return textFor(block, losses)
    case 'image': {
      losses.of(block.detail, 'image.detail')
      const typed = typedSource(block.source)
      const source = isAcceptedImage('messages', typed) ? sourceFor(typed) : null
      if (source) return [{ type: 'image', source, ...hint(block) }]
      losses.add(block.source.kind === 'file' ? 'file' : 'image')
      return []
    }
    case 'document': {
      const source = documentSource(typedSource(block.source))
      if (source)
        return [{ type: 'document', source, ...(block.name ? { title: block.name } : {}), ...hint(block) }]
      const { source: from } = block
      losses.add(
        from.kind === 'file'
          ? 'file'
          : from.kind === 'base64' && from.mediaType.startsWith('audio/')
            ? 'audio'
            : 'document',
      )
      return []
    }
    case 'reasoning':
      return reasoningFor(block, peer, losses)
    case 'call': {
      const input = argumentsOf(block.args)
      if (input === null) losses.add('tool.arguments')
      return [
        {
          type: 'tool_use',
          id: idForProvider(block.id),
          name: block.name,
          input: input ?? { input: block.args },
          ...hint(block),
        },
      ]
    }
    case 'result':
      return [resultFor(block, peer, losses)]
    case 'unknown':
      if (block.dialect === 'messages') return [block.raw as object]
      losses.add(block.loss)
      return []
  }
}

/** Converts earlier reasoning. Anthropic refuses reasoning without a signature. */
function reasoningFor(
  { text, opaque }: Extract<Block, { type: 'reasoning' }>,
  { family, returnsReasoning }: Peer,
  losses: Losses,
): object[] {
  if (!returnsReasoning || opaque?.family !== family || opaque.bytes === '') {
    if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
    if (text !== '') losses.add('thinking.text')
    return []
  }
  return opaque.bytes.startsWith(REDACTED)
    ? [{ type: 'redacted_thinking', data: opaque.bytes.slice(REDACTED.length) }]
    : [{ type: 'thinking', thinking: text, signature: opaque.bytes }]
}

function resultFor(block: ResultBlock, peer: Peer, losses: Losses): object {
  const { id, blocks, error } = block
  const [only] = blocks
  const content =
    blocks.length === 1 && only!.type === 'text' && only!.cache === undefined
      ? only!.text.trim() && only!.text
      : blocks.flatMap((each) => blockFor(each, peer, losses))
  return {
    type: 'tool_result',
    tool_use_id: idForProvider(id),
    content,
    ...(error ? { is_error: true } : {}),
    ...hint(block),
  }
}

const sourceFor = (source: Source): object | null =>
  source.kind === 'base64'
    ? { type: 'base64', media_type: source.mediaType, data: source.data }
    : source.kind === 'url'
      ? { type: 'url', url: source.url }
      : null

const documentSource = (source: Source): object | null =>
  source.kind === 'text'
    ? { type: 'text', media_type: 'text/plain', data: source.text }
    : source.kind === 'base64' && source.mediaType !== 'application/pdf'
      ? source.mediaType.startsWith('text/')
        ? {
            type: 'text',
            media_type: 'text/plain',
            data: Buffer.from(source.data, 'base64').toString('utf8'),
          }
        : null
      : sourceFor(source)
