// Writes answers for clients of the Messages dialect, whole and as a stream. Format: Anthropic API reference, "Messages",
// "Handling stop reasons", "Streaming".

import { NO_TOKENS, type Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import { chance } from '../../shared/chance.ts'
import {
  type Answer,
  type Block,
  type BlockWriter,
  type Opened,
  packOpaque,
  type SerialEvent,
  type Stop,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { argumentsOf, isReplaced, safeId } from '../tools.ts'

const WORDS: Readonly<Record<Stop, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  sequence: 'stop_sequence',
  refusal: 'refusal',
  pause: 'pause_turn',
  context: 'model_context_window_exceeded',
}

const newId = (): string => `msg_${chance.uuid().replaceAll('-', '')}`

export function writeAnswer({ id, model, blocks, stop, sequence, tokens }: Answer, losses: Losses): Json {
  return {
    id: id ?? newId(),
    type: 'message',
    role: 'assistant',
    model,
    content: withoutLateThoughts(blocks, losses).flatMap((block) => blockFor(block, losses)),
    stop_reason: stop && WORDS[stop],
    stop_sequence: sequence,
    usage: usageFor(tokens),
  }
}

/**
 * Omits thoughts after the last text or call. Anthropic writes none there, and Claude Code takes the last block for the
 * answer.
 */
function withoutLateThoughts(blocks: readonly Block[], losses: Losses): readonly Block[] {
  const last = blocks.findLastIndex(({ type }) => type !== 'reasoning')
  if (last < 0 || last === blocks.length - 1) return blocks
  losses.add('thinking.late')
  return blocks.slice(0, last + 1)
}

/** Converts a block of an answer. Returns an empty list if clients of this dialect cannot read the block. */
function blockFor(block: Block, losses: Losses): object[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text }]
    case 'reasoning': {
      // Unsigned reasoning is marked too, because another family must not receive it as its own.
      const carrier = packOpaque(block.opaque ?? { family: '', bytes: '' })
      return [{ type: 'thinking', thinking: block.text, signature: carrier }]
    }
    case 'call': {
      const input = argumentsOf(block.args)
      if (input === null) losses.add('tool.arguments')
      if (isReplaced(block.id)) losses.add('tool.id')
      return [
        { type: 'tool_use', id: safeId(block.id), name: block.name, input: input ?? { input: block.args } },
      ]
    }
    case 'unknown':
      losses.add(block.loss)
      return []
    default:
      losses.add(block.type === 'result' ? 'unknown.block' : block.type)
      return []
  }
}

/**
 * Anthropic's `input_tokens` excludes tokens read from or written to a cache. Clients expect numbers, so unknown counts
 * are 0. Some servers report more cached tokens than input; the sum still equals the input.
 */
function usageFor(tokens: Tokens | null): Json {
  const { input, output, cached_input, cache_write, reasoning } = tokens ?? NO_TOKENS
  const most = input ?? Infinity
  const read = cached_input === null ? null : Math.min(cached_input, most)
  const written = cache_write === null ? null : Math.min(cache_write, most - (read ?? 0))
  return {
    input_tokens: (input ?? 0) - (input === null ? 0 : (read ?? 0) + (written ?? 0)),
    ...(written === null ? {} : { cache_creation_input_tokens: written }),
    ...(read === null ? {} : { cache_read_input_tokens: read }),
    output_tokens: output ?? 0,
    ...(reasoning === null ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
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
  #hasContent = false
  /** Events of thoughts after a text or a call, which wait for another block; see `withoutLateThoughts`. */
  #late: Exclude<SerialEvent, { type: 'end' }>[] = []

  constructor(losses: Losses) {
    this.#losses = losses
  }

  write(said: SerialEvent): string {
    if (said.type === 'end') return this.#end(said)
    const isThought = said.type === 'seal' || ('block' in said && said.block.type === 'reasoning')
    if (isThought && this.#hasContent) {
      this.#late.push(said)
      return ''
    }
    const late = this.#late.map((each) => this.#written(each)).join('')
    this.#late = []
    this.#hasContent ||= said.type !== 'start' && !isThought
    return late + this.#written(said)
  }

  #end({ stop, sequence, tokens }: Extract<SerialEvent, { type: 'end' }>): string {
    if (this.#late.length > 0) this.#losses.add('thinking.late')
    const delta = { stop_reason: WORDS[stop], stop_sequence: sequence }
    return event({ type: 'message_delta', delta, usage: usageFor(tokens) }) + event({ type: 'message_stop' })
  }

  #written(said: Exclude<SerialEvent, { type: 'end' }>): string {
    const index = 'index' in said ? said.index - this.#skipped : 0
    switch (said.type) {
      case 'start':
        return event({ type: 'message_start', message: begun(said.model, said.id) })
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
        return this.#ending(index, said.block) + event({ type: 'content_block_stop', index })
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
    }
  }

  #beginning(block: Opened): object {
    if (block.type === 'text') return { type: 'text', text: '' }
    if (block.type === 'reasoning') return { type: 'thinking', thinking: '', signature: '' }
    if (isReplaced(block.id)) this.#losses.add('tool.id')
    return { type: 'tool_use', id: safeId(block.id), name: block.name, input: {} }
  }

  /** Ends a block. A call without arguments is given an empty object. */
  #ending(index: number, { type }: Opened): string {
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
const begun = (model: string, id: string | null): Json => ({
  id: id ?? newId(),
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
