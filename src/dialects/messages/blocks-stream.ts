// Converts streams of the Messages dialect to blocks and back. Format: Anthropic API reference, "Streaming".

import type { Losses } from '../../core/losses.ts'
import type { BlockEvent, BlockReader, BlockWriter, Opened, Peer, SerialEvent } from '../blocks.ts'
import { packOpaque } from '../carrier.ts'
import { isObject, type Json, member, textOf } from '../json.ts'
import type { StreamEvent } from '../stream-event.ts'
import { isReplaced, safeId } from '../tool-ids.ts'
import { blockFor, newId, stopOf, usageFor, wordOf } from './blocks-answer.ts'
import { blockOf, opaqueOf } from './blocks-content.ts'

const KNOWN = /^(content_block_(start|delta|stop)|message_delta)$/

export class MessagesReader implements BlockReader {
  readonly #peer: Peer
  readonly #losses: Losses
  /** Open blocks: text, reasoning, calls. */
  readonly #open = new Set<number>()

  constructor(peer: Peer, losses: Losses) {
    this.#peer = peer
    this.#losses = losses
  }

  read(event: StreamEvent): readonly BlockEvent[] {
    const { name, data } = event
    // Unknown events are not parsed, because their content is unknown.
    if ((name !== '' && !KNOWN.test(name)) || data.trim() === '[DONE]') return []
    const json = event.exactJson()
    if (!isObject(json)) return []
    const key = typeof json.index === 'number' ? json.index : -1
    switch (json.type) {
      case 'content_block_start':
        return this.#begin(key, json.content_block)
      case 'content_block_delta':
        return this.#open.has(key) && isObject(json.delta) ? this.#delta(key, json.delta) : []
      case 'content_block_stop':
        return this.#open.delete(key) ? [{ type: 'close', key }] : []
      case 'message_delta': {
        const stop = stopOf(member(json.delta, 'stop_reason'), this.#losses)
        const sequence = member(json.delta, 'stop_sequence')
        return stop ? [{ type: 'stop', stop, sequence: typeof sequence === 'string' ? sequence : null }] : []
      }
      default:
        return []
    }
  }

  #begin(key: number, raw: unknown): BlockEvent[] {
    const block = blockOf(raw, this.#losses, this.#peer.family)
    switch (block.type) {
      case 'text':
        this.#open.add(key)
        return [
          { type: 'open', key, block: { type: 'text' } },
          { type: 'delta', key, text: block.text },
        ]
      case 'reasoning': {
        this.#open.add(key)
        const { text, opaque } = block
        const begun: BlockEvent[] = [{ type: 'open', key, block: { type: 'reasoning' } }]
        if (text !== '') begun.push({ type: 'delta', key, text })
        if (opaque) begun.push({ type: 'seal', key, opaque })
        return begun
      }
      case 'call': {
        this.#open.add(key)
        const { args, ...call } = block
        const begun: BlockEvent[] = [{ type: 'open', key, block: call }]
        // Some servers send the whole input in the first event.
        if (args !== '{}') begun.push({ type: 'delta', key, text: args })
        return begun
      }
      default:
        return [{ type: 'whole', block }]
    }
  }

  #delta(key: number, delta: Json): BlockEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return [{ type: 'delta', key, text: textOf(delta.text) }]
      case 'thinking_delta':
        return [{ type: 'delta', key, text: textOf(delta.thinking) }]
      case 'input_json_delta':
        return [{ type: 'delta', key, text: textOf(delta.partial_json) }]
      case 'signature_delta':
        return [{ type: 'seal', key, opaque: opaqueOf(textOf(delta.signature), this.#peer.family) }]
      case 'citations_delta':
        this.#losses.add('citations')
        return []
      default:
        this.#losses.add('unknown.block')
        return []
    }
  }
}

const event = (json: { readonly type: string } & Json): string =>
  `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`

export class MessagesWriter implements BlockWriter {
  readonly #losses: Losses
  /** Opaque data of the open reasoning block, written when the block closes. */
  #seal = ''
  #argsSeen = false
  /** Number of blocks that could not be written. The indexes have no gaps for them. */
  #skipped = 0

  constructor(losses: Losses) {
    this.#losses = losses
  }

  write(said: SerialEvent): string {
    const index = 'index' in said ? said.index - this.#skipped : 0
    switch (said.type) {
      case 'start':
        return event({ type: 'message_start', message: begun(said.model) })
      case 'open':
        this.#seal = packOpaque({ family: '', bytes: '' })
        this.#argsSeen = false
        return event({ type: 'content_block_start', index, content_block: this.#beginning(said.block) })
      case 'delta':
        this.#argsSeen = true
        return event({ type: 'content_block_delta', index, delta: deltaOf(said.block, said.text) })
      case 'seal':
        this.#seal = packOpaque(said.opaque)
        return ''
      case 'close':
        return this.#end(index, said.block) + event({ type: 'content_block_stop', index })
      case 'whole': {
        const [block] = blockFor(said.block, this.#losses)
        if (!block) {
          this.#skipped++
          return ''
        }
        return (
          event({ type: 'content_block_start', index, content_block: block }) +
          event({ type: 'content_block_stop', index })
        )
      }
      case 'end': {
        const delta = { stop_reason: wordOf(said.stop), stop_sequence: said.sequence }
        return (
          event({ type: 'message_delta', delta, usage: usageFor(said.tokens) }) +
          event({ type: 'message_stop' })
        )
      }
    }
  }

  #beginning(block: Opened): object {
    if (block.type === 'text') return { type: 'text', text: '' }
    if (block.type === 'reasoning') return { type: 'thinking', thinking: '', signature: '' }
    if (isReplaced(block.id)) this.#losses.add('tool.id')
    return { type: 'tool_use', id: safeId(block.id), name: block.name, input: {} }
  }

  /** Ends a block. A call without arguments is given an empty object. */
  #end(index: number, { type }: Opened): string {
    if (type === 'reasoning')
      return event({
        type: 'content_block_delta',
        index,
        delta: { type: 'signature_delta', signature: this.#seal },
      })
    if (type === 'call' && !this.#argsSeen)
      return event({
        type: 'content_block_delta',
        index,
        delta: { type: 'input_json_delta', partial_json: '{}' },
      })
    return ''
  }
}

/** Returns the first event. Clients want numbers here, although the input count is known only at the end. */
const begun = (model: string): Json => ({
  id: newId(),
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 0, output_tokens: 0 },
})

const deltaOf = ({ type }: Opened, text: string): Json =>
  type === 'text'
    ? { type: 'text_delta', text }
    : type === 'reasoning'
      ? { type: 'thinking_delta', thinking: text }
      : { type: 'input_json_delta', partial_json: text }
