// Converts Gemini's streams to blocks and back. Each event is an answer with the next parts. Format: Gemini
// API reference, "streamGenerateContent".
import type { Losses } from '../../core/losses.ts'
import type { BlockEvent, BlockReader, BlockWriter, Opaque, Peer, SerialEvent } from '../blocks.ts'
import { mayHoldCarriers } from '../carrier.ts'
import { isObject, type Json } from '../json.ts'
import type { StreamEvent } from '../stream-event.ts'
import { candidateBlocks, newId, PartWriter, stopOf, usageFor, wordOf } from './blocks-answer.ts'

export class GeminiReader implements BlockReader {
  readonly #peer: Peer
  readonly #losses: Losses
  #key = 0
  /** The text or thought that continues from event to event. */
  #open: 'text' | 'reasoning' | null = null
  #hasCalls = false
  /** Text of thoughts that have no signature yet. */
  #told = ''

  constructor(peer: Peer, losses: Losses) {
    this.#peer = peer
    this.#losses = losses
  }

  read(event: StreamEvent): readonly BlockEvent[] {
    const json = event.exactJson()
    if (!isObject(json)) return []
    const events: BlockEvent[] = []
    // Reasoning packed by another gateway repeats the thoughts' text, for clients that drop thoughts.
    const repeats = mayHoldCarriers(event.data)
    for (const block of candidateBlocks(json, this.#peer, this.#losses)) {
      if (block.type === 'reasoning') {
        events.push(...this.#thought(block.text, block.opaque, repeats))
        continue
      }
      this.#told = ''
      if (block.type === 'text') events.push(...this.#goOn('text', block.text))
      else {
        events.push(...this.#close())
        const key = ++this.#key
        if (block.type === 'call') {
          this.#hasCalls = true
          const { args, ...opened } = block
          events.push({ type: 'open', key, block: opened }, { type: 'delta', key, text: args })
          events.push({ type: 'close', key })
        } else events.push({ type: 'whole', block })
      }
    }
    const stop = stopOf(json, this.#hasCalls, this.#losses)
    if (stop !== null) events.push(...this.#close(), { type: 'stop', stop, sequence: null })
    return events
  }

  /** A signature on a thought ends the thought. Any other signature is a separate block. */
  #thought(said: string, opaque: Opaque | null, repeats: boolean): BlockEvent[] {
    const bytes = opaque?.bytes ?? ''
    const isRepeated = repeats && said !== '' && this.#told.startsWith(said)
    const text = isRepeated ? '' : said
    if (isRepeated) this.#told = this.#told.slice(said.length)
    else if (bytes === '') this.#told += said
    if (text === '' && bytes === '') return []
    const begun = text === '' ? [] : this.#goOn('reasoning', text)
    if (text === '' && !(isRepeated && this.#open === 'reasoning')) {
      begun.push(...this.#close(), { type: 'open', key: ++this.#key, block: { type: 'reasoning' } })
      this.#open = 'reasoning'
    }
    if (!opaque) return begun
    begun.push({ type: 'seal', key: this.#key, opaque })
    return bytes === '' ? begun : [...begun, ...this.#close()]
  }

  #goOn(type: 'text' | 'reasoning', text: string): BlockEvent[] {
    if (text === '') return []
    const events: BlockEvent[] = []
    if (this.#open !== type) {
      events.push(...this.#close(), { type: 'open', key: ++this.#key, block: { type } })
      this.#open = type
    }
    events.push({ type: 'delta', key: this.#key, text })
    return events
  }

  #close(): BlockEvent[] {
    if (this.#open === null) return []
    this.#open = null
    return [{ type: 'close', key: this.#key }]
  }
}

/** Writes a call once its arguments are complete. Clients do not accept partial arguments. */
export class GeminiWriter implements BlockWriter {
  readonly #losses: Losses
  readonly #parts: PartWriter
  readonly #id = newId()
  #model = ''
  #text = ''
  #seal: Opaque | null = null

  constructor(losses: Losses) {
    this.#losses = losses
    this.#parts = new PartWriter(losses)
  }

  write(said: SerialEvent): string {
    switch (said.type) {
      case 'start':
        this.#model = said.model
        return ''
      case 'open':
        this.#text = ''
        this.#seal = null
        return ''
      case 'delta':
        this.#text += said.block.type === 'text' ? '' : said.text
        if (said.block.type === 'text') return this.#event([this.#parts.signed({ text: said.text })])
        return said.block.type === 'reasoning' ? this.#event([{ text: said.text, thought: true }]) : ''
      case 'seal':
        this.#seal = said.opaque
        return ''
      case 'close':
        if (said.block.type === 'reasoning')
          this.#parts.thought({ type: 'reasoning', text: this.#text, opaque: this.#seal })
        return said.block.type === 'call'
          ? this.#event(this.#parts.write({ ...said.block, args: this.#text }))
          : ''
      case 'whole':
        return this.#event(this.#parts.write(said.block))
      case 'end': {
        const parts = this.#parts.end()
        const end = { finishReason: wordOf(said.stop, this.#losses) }
        const usage = said.tokens ? { usageMetadata: usageFor(said.tokens, this.#losses) } : {}
        return this.#event(parts.length > 0 ? parts : [{ text: '' }], end, usage)
      }
    }
  }

  #event(parts: readonly Json[], end: Json = {}, usage: Json = {}): string {
    if (parts.length === 0) return ''
    const candidates = [{ content: { role: 'model', parts }, ...end, index: 0 }]
    const answer = { candidates, ...usage, modelVersion: this.#model, responseId: this.#id }
    return `data: ${JSON.stringify(answer)}\n\n`
  }
}
