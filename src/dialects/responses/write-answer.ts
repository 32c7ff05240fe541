// Writes whole responses. Format: OpenAI API reference, "Responses".

import { NO_TOKENS, type Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import { chance } from '../../shared/chance.ts'
import { clock } from '../../shared/clock.ts'
import {
  type Answer,
  type Block,
  type BlockWriter,
  type CallBlock,
  type Opened,
  packOpaque,
  type SerialEvent,
  type Stop,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { loseStop } from '../stops.ts'
import { argumentsOf, isReplaced, safeId } from '../tools.ts'
import { itemId } from './named-items.ts'

/** Reason for an incomplete response; null if it is complete. */
const REASONS: Readonly<Record<Stop, string | null>> = {
  end: null,
  calls: null,
  sequence: null,
  pause: null,
  length: 'max_output_tokens',
  context: 'max_output_tokens',
  refusal: 'content_filter',
}

export function writeAnswer({ id, model, blocks, stop, tokens }: Answer, losses: Losses): Json {
  const response = begun(model, id)
  const output: Json[] = []
  for (const block of blocks)
    output.push(...itemFor(block, (prefix) => itemId(prefix, response.id, output.length), losses))
  return ended(response, output, stop ?? 'end', tokens, losses)
}

/** Returns a response without items, for the start of a stream. */
const begun = (model: string, id: string | null): Json => ({
  id: id ?? `resp_${chance.uuid().replaceAll('-', '')}`,
  object: 'response',
  created_at: Math.floor(clock.now() / 1_000),
  status: 'in_progress',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  model,
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  truncation: 'disabled',
  usage: null,
  user: null,
  metadata: {},
})

/** Returns the finished response. */
function ended(
  response: Json,
  output: readonly object[],
  stop: Stop,
  tokens: Tokens | null,
  losses: Losses,
): Json {
  loseStop(stop, losses)
  const reason = REASONS[stop]
  return {
    ...response,
    status: reason === null ? 'completed' : 'incomplete',
    incomplete_details: reason === null ? null : { reason },
    output,
    usage: usageFor(tokens),
  }
}

/**
 * Converts a complete block to an item. Returns an empty list if clients of this dialect cannot read the
 * block.
 */
function itemFor(block: Block, id: (prefix: string) => string, losses: Losses): Json[] {
  switch (block.type) {
    case 'text':
      return [messageItem(id('msg'), block.text)]
    case 'reasoning':
      return [reasoningItem(id('rs'), block.text, packOpaque(block.opaque ?? NOBODYS))]
    case 'call':
      return [callItem(id('fc'), block, block.args, losses)]
    default:
      nameLost(block, losses)
      return []
  }
}

/** Mark of unencrypted reasoning, which another family must not receive as its own. */
const NOBODYS = { family: '', bytes: '' }

function nameLost(block: Block, losses: Losses): void {
  if (block.type === 'unknown') losses.add(block.loss)
  else losses.add(block.type === 'image' || block.type === 'document' ? block.type : 'unknown.block')
}

const textPart = (text: string): Json => ({ type: 'output_text', text, annotations: [], logprobs: [] })

const messageItem = (id: string, text: string): Json => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [textPart(text)],
})

const summaryPart = (text: string): Json => ({ type: 'summary_text', text })

const reasoningItem = (id: string, text: string, encrypted_content: string): Json => ({
  id,
  type: 'reasoning',
  summary: text === '' ? [] : [summaryPart(text)],
  encrypted_content,
})

function callItem(
  id: string,
  call: Extract<Opened, { type: 'call' }> | CallBlock,
  args: string,
  losses: Losses,
  status = 'completed',
): Json {
  const { name, namespace, kind } = call
  if (isReplaced(call.id)) losses.add('tool.id')
  const base = { id, status, call_id: safeId(call.id) }
  const group = namespace === null ? {} : { namespace }
  if (kind === 'custom') return { ...base, type: 'custom_tool_call', name, ...group, input: args }
  if (kind === 'function') {
    const whole = status === 'completed' && args === '' ? '{}' : args
    return { ...base, type: 'function_call', name, ...group, arguments: whole }
  }
  const json = argumentsOf(args)
  if (json === null) losses.add('tool.arguments')
  return { ...base, type: 'tool_search_call', execution: 'client', arguments: json ?? {} }
}

/** Clients require all of these members, so unknown counts are 0. */
function usageFor(tokens: Tokens | null): Json {
  const { input, output, cached_input, cache_write, reasoning } = tokens ?? NO_TOKENS
  return {
    input_tokens: input ?? 0,
    input_tokens_details: {
      cached_tokens: cached_input ?? 0,
      ...(cache_write === null ? {} : { cache_write_tokens: cache_write }),
    },
    output_tokens: output ?? 0,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: (input ?? 0) + (output ?? 0),
  }
}

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
