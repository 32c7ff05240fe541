// Converts chat streams to blocks and back. Format: OpenAI API reference, "Chat", "Streaming". No chunk marks
// the end of a block. Text and reasoning end when another block begins. Calls end with the answer, because
// their parts may interleave.

import type { Losses } from '../../core/losses.ts'
import type { BlockEvent, BlockReader, BlockWriter, Opaque, Opened, Peer, SerialEvent } from '../blocks.ts'
import { packOpaque } from '../carrier.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../json.ts'
import type { StreamEvent } from '../stream-event.ts'
import { newCallId, originalId } from '../tool-ids.ts'
import { detailFor, nameLost, newId, now, safe, stopOf, usageFor, wordOf } from './blocks-answer.ts'
import { argsOf, detailOf } from './blocks-content.ts'

export class ChatReader implements BlockReader {
  readonly #peer: Peer
  readonly #losses: Losses
  /** Block of the last delta: text or reasoning. */
  #current: { readonly key: string; readonly type: 'text' | 'reasoning' } | null = null
  /** Reasoning received so far in the current block. */
  #thought = ''
  #blocks = 0
  #count = 0
  /** Calls by their index in the chunk. A call opens as soon as its name is known; until then its deltas wait. */
  readonly #calls = new Map<unknown, { key: string; id: string; args: string; isOpen: boolean }>()

  constructor(peer: Peer, losses: Losses) {
    this.#peer = peer
    this.#losses = losses
  }

  read(event: StreamEvent): readonly BlockEvent[] {
    if (event.data.trim() === '[DONE]') return []
    const choice = listOrEmpty(member(event.exactJson(), 'choices')).find(
      (each) => (member(each, 'index') ?? 0) === 0,
    )
    if (!isObject(choice)) return []
    this.#losses.of(choice.logprobs, 'logprobs')
    const out: BlockEvent[] = []
    if (isObject(choice.delta)) this.#delta(choice.delta, out)
    const stop = stopOf(choice.finish_reason, this.#calls.size > 0, this.#losses)
    if (stop) out.push({ type: 'stop', stop, sequence: null })
    return out
  }

  #delta(delta: Json, out: BlockEvent[]): void {
    const { content, reasoning_content: thought, reasoning, reasoning_details: details, refusal } = delta
    const sealed = listOrEmpty(details).flatMap((each) => detailOf(each, this.#peer.family, this.#losses))
    const texts = sealed.some((block) => block.type === 'reasoning' && block.text !== '')
    if (!texts) this.#add('reasoning', textOf(thought) || textOf(reasoning), out)
    for (const block of sealed) {
      if (block.type !== 'reasoning') continue
      // Some servers send the whole text again, together with the opaque data.
      if (!this.#thought.endsWith(block.text) || block.opaque === null)
        this.#add('reasoning', block.text, out)
      if (block.opaque) out.push({ type: 'seal', key: this.#begin('reasoning', out), opaque: block.opaque })
      // Opaque data ends its block.
      if (block.opaque) this.#close(out)
    }
    if (typeof content === 'string') this.#add('text', content, out)
    else this.#parts(listOrEmpty(content), out)
    if (typeof refusal === 'string' && refusal !== '') {
      this.#losses.add('refusal')
      this.#add('text', refusal, out)
    }
    if (listOrEmpty(delta.annotations).length > 0) this.#losses.add('citations')
    this.#losses.of(delta.audio, 'audio')
    for (const call of listOrEmpty(delta.tool_calls)) if (isObject(call)) this.#call(call, out)
    if (isObject(delta.function_call)) this.#call({ index: 0, function: delta.function_call }, out)
  }

  /** Mistral streams parts, including thoughts. */
  #parts(parts: readonly unknown[], out: BlockEvent[]): void {
    for (const part of parts) {
      if (!isObject(part)) continue
      if (part.type === 'text') this.#add('text', textOf(part.text), out)
      else if (part.type === 'thinking')
        this.#add(
          'reasoning',
          listOrEmpty(part.thinking)
            .map((each) => textOf(member(each, 'text')))
            .join(''),
          out,
        )
      else this.#losses.add('unknown.block')
    }
  }

  #add(type: 'text' | 'reasoning', text: string, out: BlockEvent[]): void {
    if (text === '') return
    out.push({ type: 'delta', key: this.#begin(type, out), text })
    if (type === 'reasoning') this.#thought += text
  }

  #begin(type: 'text' | 'reasoning', out: BlockEvent[]): string {
    if (this.#current?.type === type) return this.#current.key
    this.#close(out)
    const key = `${type} ${this.#blocks++}`
    this.#current = { key, type }
    out.push({ type: 'open', key, block: { type } })
    return key
  }

  #close(out: BlockEvent[]): void {
    if (this.#current) out.push({ type: 'close', key: this.#current.key })
    this.#current = null
    this.#thought = ''
  }

  #call({ index, id, function: made, custom }: Json, out: BlockEvent[]): void {
    const kind = isObject(custom) ? 'custom' : 'function'
    const name = textOf(member(made, 'name')) || textOf(member(custom, 'name'))
    const args = argsOf(member(made, 'arguments') ?? member(custom, 'input'))
    // Some servers omit the index or send the same index for all calls. In this case a new id begins a new
    // call.
    const at = index ?? 0
    let call = this.#calls.get(at)
    const isAnother =
      call && textOf(id) !== '' ? call.id !== '' && id !== call.id : index === undefined && name !== ''
    if (!call || isAnother) {
      this.#close(out)
      call = { key: `call ${this.#count++}`, id: '', args: '', isOpen: false }
      this.#calls.set(at, call)
    }
    call.id ||= textOf(id)
    call.args += args
    if (!call.isOpen && name === '') return
    if (!call.isOpen) {
      const id = originalId(call.id) || newCallId()
      const block = { type: 'call', id, name, namespace: null, kind } as const
      out.push({ type: 'open', key: call.key, block })
      call.isOpen = true
    }
    out.push({ type: 'delta', key: call.key, text: call.args })
    call.args = ''
  }
}

export class ChatWriter implements BlockWriter {
  readonly #losses: Losses
  readonly #wantsUsage: boolean
  readonly #head = { id: newId(), object: 'chat.completion.chunk', created: now() }
  #model = ''
  #calls = -1
  #thoughts = 0
  /** Text and opaque data of the open reasoning block. */
  #thought = ''
  #seal: Opaque | null = null
  #argsSeen = false
  #sawCalls = false

  constructor(wantsUsage: boolean, losses: Losses) {
    this.#wantsUsage = wantsUsage
    this.#losses = losses
  }

  write(said: SerialEvent): string {
    switch (said.type) {
      case 'start':
        this.#model = said.model
        return this.#chunk({ role: 'assistant', content: '' })
      case 'open':
        return this.#open(said.block)
      case 'delta':
        return this.#delta(said.block, said.text)
      case 'seal':
        this.#seal = said.opaque
        return ''
      case 'close':
        if (said.block.type === 'reasoning') return this.#sealed()
        return said.block.type === 'call' && said.block.kind === 'function' && !this.#argsSeen
          ? this.#arguments(said.block, '{}')
          : ''
      case 'whole':
        nameLost(said.block, this.#losses)
        return ''
      case 'end': {
        const usage = this.#wantsUsage
          ? this.#event({ choices: [], usage: usageFor(said.tokens ?? NONE, this.#losses) })
          : ''
        return `${this.#chunk({}, wordOf(said.stop, this.#losses))}${usage}data: [DONE]\n\n`
      }
    }
  }

  #open(block: Opened): string {
    this.#argsSeen = false
    if (block.type === 'text' && this.#sawCalls) this.#losses.add('order')
    if (block.type !== 'call') return ''
    this.#sawCalls = true
    this.#calls++
    const { id, name, kind } = safe(block, this.#losses)
    const made = kind === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } }
    return this.#chunk({ tool_calls: [{ index: this.#calls, id, type: kind, ...made }] })
  }

  /** Writes text and opaque data together once both are known, as one detail that clients return unchanged. */
  #sealed(): string {
    const [text, opaque] = [this.#thought, this.#seal]
    this.#thought = ''
    this.#seal = null
    return opaque === null || opaque.bytes === ''
      ? ''
      : this.#chunk({ reasoning_details: [detailFor(text, packOpaque(opaque), this.#thoughts++)] })
  }

  #delta(block: Opened, text: string): string {
    if (block.type === 'text') return this.#chunk({ content: text })
    if (block.type === 'reasoning') this.#thought += text
    if (block.type === 'reasoning') return this.#chunk({ reasoning_content: text })
    this.#argsSeen = true
    return this.#arguments(block, text)
  }

  #arguments({ kind }: Extract<Opened, { type: 'call' }>, text: string): string {
    const made = kind === 'custom' ? { custom: { input: text } } : { function: { arguments: text } }
    return this.#chunk({ tool_calls: [{ index: this.#calls, ...made }] })
  }

  #chunk(delta: Json, finish_reason: string | null = null): string {
    return this.#event({ choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
  }

  #event(json: Json): string {
    return `data: ${JSON.stringify({ ...this.#head, model: this.#model, ...json })}\n\n`
  }
}

const NONE = {
  source: 'reported',
  input: null,
  output: null,
  cached_input: null,
  cache_write: null,
  reasoning: null,
} as const
