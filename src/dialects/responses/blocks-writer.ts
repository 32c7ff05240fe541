// Converts blocks to a Responses stream. Format: OpenAI API reference, "Streaming events". Each block is an
// item with start, delta and done events. The last event contains all items. Events are numbered from 0.
import type { Losses } from '../../core/losses.ts'
import type { BlockWriter, Opened, SerialEvent } from '../blocks.ts'
import { packOpaque } from '../carrier.ts'
import type { Json } from '../json.ts'
import {
  begun,
  callItem,
  ended,
  messageItem,
  NOBODYS,
  nameLost,
  reasoningItem,
  summaryPart,
  textPart,
} from './blocks-answer.ts'
import { itemId } from './named-items.ts'

export class ResponsesWriter implements BlockWriter {
  readonly #losses: Losses
  readonly #output: Json[] = []
  #response: Json = {}
  #number = 0
  /** Id of the open item. */
  #id = ''
  #text = ''
  #seal = ''

  constructor(losses: Losses) {
    this.#losses = losses
  }

  write(said: SerialEvent): string {
    switch (said.type) {
      case 'start':
        this.#response = begun(said.model, said.id)
        return (
          this.#event('response.created', { response: this.#response }) +
          this.#event('response.in_progress', { response: this.#response })
        )
      case 'open':
        return this.#open(said.block)
      case 'delta':
        return this.#delta(said.block, said.text)
      case 'seal':
        this.#seal = packOpaque(said.opaque)
        return ''
      case 'close':
        return this.#close(said.block)
      case 'whole':
        nameLost(said.block, this.#losses)
        return ''
      case 'end': {
        const response = ended(this.#response, this.#output, said.stop, said.tokens, this.#losses)
        return this.#event(`response.${response.status}`, { response })
      }
    }
  }

  #event(type: string, more: Json): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#number++, ...more })}\n\n`
  }

  /** Writes an event about the open item. */
  #told(type: string, more: Json = {}): string {
    return this.#event(`response.${type}`, { item_id: this.#id, output_index: this.#output.length, ...more })
  }

  #open(block: Opened): string {
    this.#text = ''
    this.#seal = packOpaque(NOBODYS)
    const prefix = block.type === 'text' ? 'msg' : block.type === 'reasoning' ? 'rs' : 'fc'
    this.#id = itemId(prefix, this.#response.id, this.#output.length)
    const item =
      block.type === 'text'
        ? { ...messageItem(this.#id, ''), status: 'in_progress', content: [] }
        : block.type === 'reasoning'
          ? { id: this.#id, type: 'reasoning', summary: [] }
          : callItem(this.#id, block, '', this.#losses, 'in_progress')
    const added = this.#event('response.output_item.added', { output_index: this.#output.length, item })
    return block.type === 'text'
      ? added + this.#told('content_part.added', { content_index: 0, part: textPart('') })
      : added
  }

  #delta(block: Opened, delta: string): string {
    const isFirst = this.#text === ''
    this.#text += delta
    if (block.type === 'text')
      return this.#told('output_text.delta', { content_index: 0, delta, logprobs: [] })
    if (block.type === 'reasoning') {
      const begin = isFirst
        ? this.#told('reasoning_summary_part.added', { summary_index: 0, part: summaryPart('') })
        : ''
      return begin + this.#told('reasoning_summary_text.delta', { summary_index: 0, delta })
    }
    if (block.kind === 'search') return '' // its arguments come whole
    return this.#told(
      block.kind === 'custom' ? 'custom_tool_call_input.delta' : 'function_call_arguments.delta',
      {
        delta,
      },
    )
  }

  #close(block: Opened): string {
    const [text, id] = [this.#text, this.#id]
    if (block.type === 'text') {
      const at = { content_index: 0 }
      return (
        this.#told('output_text.done', { ...at, text, logprobs: [] }) +
        this.#told('content_part.done', { ...at, part: textPart(text) }) +
        this.#done(messageItem(id, text))
      )
    }
    if (block.type === 'reasoning') {
      const at = { summary_index: 0 }
      const summary =
        text === ''
          ? ''
          : this.#told('reasoning_summary_text.done', { ...at, text }) +
            this.#told('reasoning_summary_part.done', { ...at, part: summaryPart(text) })
      return summary + this.#done(reasoningItem(id, text, this.#seal))
    }
    const item = callItem(id, block, text, this.#losses)
    if (block.kind === 'search') return this.#done(item)
    return (
      (block.kind === 'custom'
        ? this.#told('custom_tool_call_input.done', { input: item.input })
        : this.#told('function_call_arguments.done', { arguments: item.arguments })) + this.#done(item)
    )
  }

  #done(item: Json): string {
    const event = this.#event('response.output_item.done', { output_index: this.#output.length, item })
    this.#output.push(item)
    return event
  }
}
