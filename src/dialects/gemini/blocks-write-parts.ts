// Converts blocks to the parts of a Gemini request. Format: Gemini API reference, "Generating content",
// "Function calling", "Thought signatures".
import type { Losses } from '../../core/losses.ts'
import { type Block, type Peer, type ResultBlock, type Source, textOfBlocks } from '../blocks.ts'
import { argumentsOf } from '../call-arguments.ts'
import type { Json } from '../json.ts'
import { isAcceptedImage, typedSource } from '../media.ts'
import { hasScheme } from '../object-name.ts'
import { NO_SIGNATURE, Signer } from './signatures.ts'

export interface PartWriting {
  readonly peer: Peer
  /** Names of the called tools, by the id of the call. */
  readonly names: ReadonlyMap<string, string>
  readonly losses: Losses
}

export function partsFor(blocks: readonly Block[], writing: PartWriting): Json[] {
  const { peer, losses } = writing
  const signer = new Signer()
  const parts: Json[] = []
  for (const block of blocks) {
    if ('cache' in block) losses.of(block.cache, 'cache_control')
    if (block.type !== 'reasoning') {
      for (const part of partsOfBlock(block, writing)) parts.push(...signer.sign(part))
      continue
    }
    const { text, opaque } = block
    if (peer.returnsReasoning && opaque?.family === peer.family) parts.push(...signer.seal(block))
    else {
      if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
      if (text !== '') losses.add('thinking.text')
    }
  }
  return [...parts, ...signer.flush()]
}

function partsOfBlock(block: Exclude<Block, { type: 'reasoning' }>, writing: PartWriting): Json[] {
  const { losses } = writing
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ text: block.text }]
    case 'image':
    case 'document':
      return fileFor(block, losses)
    case 'call': {
      const args = argumentsOf(block.args)
      if (args === null) losses.add('tool.arguments')
      const { id, name } = block
      return [{ functionCall: { id, name, args: args ?? { input: block.args } } }]
    }
    case 'result':
      return resultFor(block, writing)
    case 'unknown':
      if (block.dialect === 'gemini') return [block.raw as Json]
      losses.add(block.loss)
      return []
  }
}

function fileFor(block: Extract<Block, { type: 'image' | 'document' }>, losses: Losses): Json[] {
  const { type } = block
  const source = typedSource(block.source)
  if (type === 'image' && !isAcceptedImage('gemini', source)) {
    losses.add('image')
    return []
  }
  if (type === 'image') losses.of(block.detail, 'image.detail')
  if (source.kind === 'text') {
    losses.add(type)
    const name = type === 'document' ? block.name : null
    return [{ text: name === null ? source.text : `${name}\n\n${source.text}` }]
  }
  if (type === 'document') losses.of(block.name, 'document.title')
  return dataFor(source, losses)
}

function dataFor(source: Exclude<Source, { kind: 'text' }>, losses: Losses): Json[] {
  if (source.kind === 'base64') return [{ inlineData: { mimeType: source.mediaType, data: source.data } }]
  if (source.kind === 'url' && hasScheme(source.url)) {
    const mimeType = source.mediaType ? { mimeType: source.mediaType } : {}
    return [{ fileData: { ...mimeType, fileUri: source.url } }]
  }
  if (source.kind === 'file' && /^gs:|^https:\/\/generativelanguage\.googleapis\.com\//.test(source.id))
    return [{ fileData: { fileUri: source.id } }]
  losses.add('file')
  return []
}

/** Some models refuse a turn if its first call has no signature. A call from another model has no signature. */
export function withSignedCall(parts: readonly Json[], peer: Peer): Json[] {
  const first = peer.facts.signatures === 'calls' ? parts.findIndex((part) => 'functionCall' in part) : -1
  return parts.map((part, n) => (n === first ? { thoughtSignature: NO_SIGNATURE, ...part } : part))
}

function resultFor({ id, blocks, error }: ResultBlock, writing: PartWriting): Json[] {
  const { peer, names, losses } = writing
  for (const block of blocks) if ('cache' in block) losses.of(block.cache, 'cache_control')
  const text = textOfBlocks(blocks)
  const media: Json[] = []
  for (const block of blocks) {
    if (block.type === 'image' || block.type === 'document') media.push(...fileFor(block, losses))
    else if (block.type === 'unknown') losses.add(block.loss)
    else if (block.type !== 'text') losses.add('unknown.block')
  }
  // Images and files follow a result that cannot hold them.
  const isInside =
    media.length > 0 && peer.facts.result_media === 'yes' && media.every((part) => 'inlineData' in part)
  if (media.length > 0 && !isInside) losses.add('tool_result.media')
  const response = error ? { error: text } : { output: text }
  const said = { id, name: names.get(id) ?? id, response, ...(isInside && { parts: media }) }
  return [{ functionResponse: said }, ...(isInside ? [] : media)]
}
