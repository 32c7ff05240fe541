// Converts turns of blocks to items of `input` in a Responses request. Format: OpenAI API reference,
// "Responses".
import type { Losses } from '../../core/losses.ts'
import { parseExact } from '../../shared/exact-json.ts'
import {
  type Block,
  type CallBlock,
  type CallKind,
  type DocumentBlock,
  type ImageBlock,
  type Peer,
  type ReasoningBlock,
  type ResultBlock,
  type Turn,
  textOfBlocks,
} from '../blocks.ts'
import { argumentsOf, plainArguments } from '../call-arguments.ts'
import { isObject, listOrEmpty } from '../json.ts'
import { typedSource } from '../media.ts'
import { idForProvider } from '../tool-ids.ts'
import { unsealed } from './blocks-items.ts'

/** Converts a turn. `kinds`: kinds of all earlier calls, by id. Adjacent texts stay in one message. */
export function itemsFor(
  { role, blocks }: Turn,
  kinds: Map<string, CallKind>,
  peer: Peer,
  losses: Losses,
): object[] {
  const items: object[] = []
  let parts: object[] = []
  const flush = () => {
    if (parts.length > 0) items.push({ type: 'message', role, content: parts })
    parts = []
  }
  for (const block of blocks) {
    if (block.type === 'call' || block.type === 'result' || block.type === 'reasoning') {
      flush()
      if (block.type === 'call') {
        kinds.set(block.id, block.kind)
        items.push(callFor(block, losses))
      } else if (block.type === 'result') items.push(resultFor(block, kinds.get(block.id), losses))
      else items.push(...reasoningFor(block, peer, losses))
    } else if (block.type === 'unknown' && block.dialect === 'responses' && isItem(block.raw)) {
      flush()
      items.push(block.raw)
    } else if (role === 'assistant') parts.push(...saidFor(block, losses))
    else parts.push(...partFor(block, losses))
  }
  flush()
  return items
}

/** Returns true for content that is a separate item between messages. */
const isItem = (raw: unknown): raw is object =>
  isObject(raw) && typeof raw.type === 'string' && !/^(input|output)_|^text$|^refusal$/.test(raw.type)

function saidFor(block: Block, losses: Losses): object[] {
  if (block.type === 'text')
    return block.text === '' ? [] : [{ type: 'output_text', text: block.text, annotations: [] }]
  losses.add(block.type === 'unknown' ? block.loss : block.type === 'image' ? 'image' : 'document')
  return []
}

function partFor(block: Block, losses: Losses): object[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'input_text', text: block.text }]
    case 'image':
      return imageFor(block, losses)
    case 'document':
      return documentFor(block, losses)
    case 'unknown':
      if (block.dialect === 'responses') return [block.raw as object]
      losses.add(block.loss)
      return []
    default:
      losses.add('unknown.block')
      return []
  }
}

function imageFor({ source: given, detail }: ImageBlock, losses: Losses): object[] {
  const source = typedSource(given)
  if (source.kind === 'file' || source.kind === 'text') {
    losses.add(source.kind === 'file' ? 'file' : 'image')
    return []
  }
  const image_url = source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
  return [{ type: 'input_image', image_url, detail: detail ?? 'auto' }]
}

function documentFor({ source: given, name }: DocumentBlock, losses: Losses): object[] {
  const source = typedSource(given)
  switch (source.kind) {
    case 'text':
      losses.add('document')
      return [{ type: 'input_text', text: name === null ? source.text : `${name}\n\n${source.text}` }]
    case 'url':
      if (name !== null) losses.add('document.title')
      return [{ type: 'input_file', file_url: source.url }]
    case 'base64': {
      if (source.mediaType.startsWith('audio/')) {
        losses.add('audio')
        return []
      }
      const file_data = `data:${source.mediaType};base64,${source.data}`
      // Responses requires a file name.
      return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data }]
    }
    case 'file':
      losses.add('file')
      return []
  }
}

/** Converts earlier reasoning. Providers refuse reasoning without its encrypted data. */
function reasoningFor({ text, opaque }: ReasoningBlock, peer: Peer, losses: Losses): object[] {
  const sealed = opaque?.family === peer.family && peer.returnsReasoning ? unsealed(opaque.bytes) : null
  if (sealed)
    return [{ type: 'reasoning', summary: text === '' ? [] : [{ type: 'summary_text', text }], ...sealed }]
  if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
  if (text !== '') losses.add('thinking.text')
  return []
}

function callFor({ id, name, namespace, kind, args }: CallBlock, losses: Losses): object {
  const call_id = idForProvider(id)
  const group = namespace === null ? {} : { namespace }
  if (kind === 'custom') return { type: 'custom_tool_call', call_id, name, ...group, input: args }
  if (kind === 'function')
    return { type: 'function_call', call_id, name, ...group, arguments: plainArguments(args) }
  const json = argumentsOf(args)
  if (json === null) losses.add('tool.arguments')
  return {
    type: 'tool_search_call',
    call_id,
    execution: 'client',
    status: 'completed',
    arguments: json ?? {},
  }
}

/** Converts a result. A single text stays a string; all other content becomes a list of parts. */
function resultFor(block: ResultBlock, kind: CallKind = 'function', losses: Losses): object {
  const { id, blocks, error } = block
  const call_id = idForProvider(id)
  for (const each of blocks) if ('cache' in each) losses.of(each.cache, 'cache_control')
  if (kind === 'search')
    return {
      type: 'tool_search_output',
      call_id,
      execution: 'client',
      status: 'completed',
      tools: toolsIn(textOfBlocks(blocks)),
    }
  if (error) losses.add('tool_result.error')
  const type = kind === 'custom' ? 'custom_tool_call_output' : 'function_call_output'
  const marked: readonly Block[] = error ? [{ type: 'text', text: '[error] ' }, ...blocks] : blocks
  const parts = marked.flatMap((each) => partFor(each, losses))
  const isText = blocks.length <= 1 && marked.every((each) => each.type === 'text')
  return { type, call_id, output: isText ? textOfBlocks(marked, '') : parts }
}

function toolsIn(text: string): readonly unknown[] {
  try {
    return listOrEmpty(parseExact(text))
  } catch {
    return []
  }
}
