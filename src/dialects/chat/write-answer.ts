// Writes answers for chat clients, whole and as a stream. Format: OpenAI API reference, "Chat", "Streaming"; OpenRouter's
// reasoning. No chunk marks the end of a block.

import { NO_TOKENS, type Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import { chance } from '../../shared/chance.ts'
import { clock } from '../../shared/clock.ts'
import {
  type Answer,
  type Block,
  type BlockWriter,
  type Opaque,
  type Opened,
  packOpaque,
  type ReasoningBlock,
  type SerialEvent,
  type Stop,
  textOfBlocks,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { loseStop } from '../stops.ts'
import { isReplaced, safeId } from '../tools.ts'
import { callFor } from './write-request.ts'

const WORDS: Readonly<Record<Stop, string>> = {
  end: 'stop',
  length: 'length',
  calls: 'tool_calls',
  sequence: 'stop',
  refusal: 'content_filter',
  pause: 'stop',
  context: 'length',
}

function wordOf(stop: Stop, losses: Losses): string {
  loseStop(stop, losses)
  return WORDS[stop]
}

const newId = (): string => `chatcmpl-${chance.uuid().replaceAll('-', '')}`
const now = (): number => Math.floor(clock.now() / 1_000)

export function writeAnswer({ model, blocks, stop, tokens }: Answer, losses: Losses): Json {
  const message: Record<string, unknown> = { role: 'assistant', content: null }
  const text = textOfBlocks(blocks, '')
  const calls = blocks.flatMap((block) => (block.type === 'call' ? [callFor(safe(block, losses))] : []))
  if (text !== '' || calls.length === 0) message.content = text
  const thoughts = blocks.flatMap((block) => (block.type === 'reasoning' ? [block] : []))
  const thought = thoughts.flatMap(({ text }) => (text === '' ? [] : [text])).join('\n\n')
  if (thought !== '') message.reasoning_content = thought
  const isSealed = ({ opaque }: ReasoningBlock) => opaque !== null && opaque.bytes !== ''
  if (thoughts.some(isSealed))
    message.reasoning_details = thoughts.map((each, index) =>
      isSealed(each)
        ? detailFor(each.text, packOpaque(each.opaque!), index)
        : { type: 'reasoning.text', text: each.text, index },
    )
  if (calls.length > 0) message.tool_calls = calls
  for (const block of blocks) nameLost(block, losses)
  const firstCall = blocks.findIndex(({ type }) => type === 'call')
  if (firstCall >= 0 && blocks.slice(firstCall).some(({ type }) => type === 'text')) losses.add('order')
  return {
    id: newId(),
    object: 'chat.completion',
    created: now(),
    model,
    choices: [{ index: 0, message, finish_reason: stop && wordOf(stop, losses), logprobs: null }],
    usage: usageFor(tokens, losses),
  }
}

function safe<B extends { readonly id: string }>(block: B, losses: Losses): B {
  if (isReplaced(block.id)) losses.add('tool.id')
  return { ...block, id: safeId(block.id) }
}

/** Reports the loss of a block that chat clients cannot read. */
function nameLost(block: Block, losses: Losses): void {
  if (block.type === 'unknown') losses.add(block.loss)
  else if (block.type === 'image' || block.type === 'document') losses.add(block.type)
  else if (block.type === 'result') losses.add('unknown.block')
}

/** Writes OpenRouter's format. Clients of OpenRouter return the reasoning unchanged. */
const detailFor = (text: string, carrier: string, index: number): Json =>
  text === ''
    ? { type: 'reasoning.encrypted', data: carrier, index }
    : { type: 'reasoning.text', text, signature: carrier, index }

/** Clients expect numbers, so unknown counts are 0. */
function usageFor(tokens: Tokens | null, losses: Losses): Json {
  const { input, output, cached_input, cache_write, cache_write_1h: forHour, reasoning } = tokens ?? NO_TOKENS
  if (forHour) losses.add('usage')
  return {
    prompt_tokens: input ?? 0,
    completion_tokens: output ?? 0,
    total_tokens: (input ?? 0) + (output ?? 0),
    prompt_tokens_details: {
      cached_tokens: cached_input ?? 0,
      ...(cache_write === null ? {} : { cache_write_tokens: cache_write }),
    },
    completion_tokens_details: { reasoning_tokens: reasoning ?? 0 },
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
          ? this.#event({ choices: [], usage: usageFor(said.tokens, this.#losses) })
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
