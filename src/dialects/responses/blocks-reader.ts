// Converts a Responses stream to blocks. Format: OpenAI API reference, "Streaming events". Some servers omit
// events. Missing parts are read from the finished item, and missing items from the final response.
import type { Losses } from '../../core/losses.ts'
import type { BlockEvent, BlockReader, Peer } from '../blocks.ts'
import { isObject, type Json, listOrEmpty, textOf } from '../json.ts'
import type { StreamEvent } from '../stream-event.ts'
import { newCallId } from '../tool-ids.ts'
import { stopOf } from './blocks-answer.ts'
import { callOf, partOfItem, reasoningOf } from './blocks-items.ts'

type Key = number | string

/** State of an item that has begun. */
interface Begun {
  /** Key of the block, for reasoning and calls. */
  key: Key | null
  /** Parts of a message, by index. */
  readonly parts: Map<unknown, { readonly key: Key; isOpen: boolean }>
  /** Characters passed on so far. */
  length: number
  /** Source of the reasoning's text: the summary or the content, whichever arrives first. */
  source: 'summary' | 'content' | null
  sections: number
}

export class ResponsesReader implements BlockReader {
  readonly #peer: Peer
  readonly #losses: Losses
  readonly #items = new Map<unknown, Begun>()
  #done = 0
  #keys = 0
  #hasCalls = false

  constructor(peer: Peer, losses: Losses) {
    this.#peer = peer
    this.#losses = losses
  }

  read(event: StreamEvent): readonly BlockEvent[] {
    const { name, data } = event
    if ((name !== '' && !name.startsWith('response.')) || data.trim() === '[DONE]') return []
    const json = event.exactJson()
    if (!isObject(json)) return []
    const out: BlockEvent[] = []
    this.#read(textOf(json.type ?? name), json, out)
    return out
  }

  #read(type: string, json: Json, out: BlockEvent[]): void {
    const { output_index: at, content_index: part, delta } = json
    switch (type) {
      case 'response.output_item.added':
        this.#begin(at, json.item, out)
        return
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#text(at, part, textOf(delta), out)
        return
      case 'response.output_text.annotation.added':
        this.#losses.add('citations')
        return
      case 'response.content_part.done':
        this.#endPart(at, part, out)
        return
      case 'response.reasoning_summary_part.added':
      case 'response.reasoning_part.added':
        this.#section(at, out)
        return
      case 'response.reasoning_summary_text.delta':
        this.#thought(at, 'summary', textOf(delta), out)
        return
      case 'response.reasoning_text.delta':
        this.#thought(at, 'content', textOf(delta), out)
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#add(at, textOf(delta), out)
        return
      case 'response.output_item.done':
        this.#finish(at, json.item, out)
        return
      case 'response.completed':
      case 'response.incomplete':
        if (isObject(json.response)) this.#end(json.response, out)
    }
  }

  #item(at: unknown): Begun {
    let item = this.#items.get(at)
    if (!item) {
      item = { key: null, parts: new Map(), length: 0, source: null, sections: 0 }
      this.#items.set(at, item)
    }
    return item
  }

  #begin(at: unknown, raw: unknown, out: BlockEvent[]): void {
    const item = this.#item(at)
    if (!isObject(raw) || item.key !== null) return
    const call = callOf(raw)
    if (raw.type === 'reasoning') item.key = this.#open({ type: 'reasoning' }, out)
    else if (call) {
      const { args: _, ...opened } = call
      this.#hasCalls = true
      item.key = this.#open({ ...opened, id: opened.id || newCallId() }, out)
    }
  }

  #open(block: Extract<BlockEvent, { type: 'open' }>['block'], out: BlockEvent[]): Key {
    const key = this.#keys++
    out.push({ type: 'open', key, block })
    return key
  }

  #text(at: unknown, part: unknown, text: string, out: BlockEvent[]): void {
    const { parts } = this.#item(at)
    let begun = parts.get(part)
    if (!begun) {
      begun = { key: this.#open({ type: 'text' }, out), isOpen: true }
      parts.set(part, begun)
    }
    if (begun.isOpen) out.push({ type: 'delta', key: begun.key, text })
  }

  #endPart(at: unknown, part: unknown, out: BlockEvent[]): void {
    const begun = this.#items.get(at)?.parts.get(part)
    if (begun?.isOpen) out.push({ type: 'close', key: begun.key })
    if (begun) begun.isOpen = false
  }

  /** Separates parts of a summary by an empty line. */
  #section(at: unknown, out: BlockEvent[]): void {
    const item = this.#item(at)
    if (item.sections++ > 0 && item.length > 0) this.#add(at, '\n\n', out)
  }

  #thought(at: unknown, source: 'summary' | 'content', text: string, out: BlockEvent[]): void {
    const item = this.#item(at)
    item.key ??= this.#open({ type: 'reasoning' }, out)
    item.source ??= source
    if (item.source === source) this.#add(at, text, out)
  }

  #add(at: unknown, text: string, out: BlockEvent[]): void {
    const item = this.#items.get(at)
    if (item?.key == null) return
    item.length += text.length
    out.push({ type: 'delta', key: item.key, text })
  }

  #finish(at: unknown, raw: unknown, out: BlockEvent[]): void {
    if (!isObject(raw)) return
    this.#done++
    this.#begin(at, raw, out)
    const item = this.#item(at)
    if (raw.type === 'message' && item.parts.size > 0) {
      for (const part of item.parts.keys()) this.#endPart(at, part, out)
      return
    }
    if (item.key === null) {
      for (const block of partOfItem(raw, this.#losses, this.#peer.family).blocks) {
        if (block.type !== 'text') out.push({ type: 'whole', block })
        else this.#whole(block.text, out)
      }
      return
    }
    if (raw.type === 'reasoning') {
      const { text, opaque } = reasoningOf(raw, this.#peer.family)
      if (item.length === 0) out.push({ type: 'delta', key: item.key, text })
      if (opaque) out.push({ type: 'seal', key: item.key, opaque })
    } else if (item.length === 0) out.push({ type: 'delta', key: item.key, text: callOf(raw)?.args ?? '' })
    out.push({ type: 'close', key: item.key })
  }

  #whole(text: string, out: BlockEvent[]): void {
    const key = this.#open({ type: 'text' }, out)
    out.push({ type: 'delta', key, text }, { type: 'close', key })
  }

  #end(response: Json, out: BlockEvent[]): void {
    const output = listOrEmpty(response.output)
    if (this.#done === 0 && this.#items.size === 0)
      for (const [at, item] of output.entries()) this.#finish(at, item, out)
    const stop = stopOf(response, this.#hasCalls, this.#losses)
    if (stop) out.push({ type: 'stop', stop, sequence: null })
  }
}
