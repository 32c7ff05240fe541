// Converts whole answers of the Messages dialect to blocks and back. Format: Anthropic API reference,
// "Messages", "Handling stop reasons".
import { randomUUID } from 'node:crypto'
import type { Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import type { Answer, AnswerBlocks, Block, Peer, Stop } from '../blocks.ts'
import { argumentsOf } from '../call-arguments.ts'
import { packOpaque } from '../carrier.ts'
import type { Json } from '../json.ts'
import { isReplaced, safeId } from '../tool-ids.ts'
import { blocksOf } from './blocks-content.ts'

const STOPS: Readonly<Record<string, Stop>> = {
  end_turn: 'end',
  max_tokens: 'length',
  tool_use: 'calls',
  stop_sequence: 'sequence',
  refusal: 'refusal',
  pause_turn: 'pause',
  model_context_window_exceeded: 'context',
}
const WORDS = Object.fromEntries(Object.entries(STOPS).map(([word, stop]) => [stop, word])) as Record<
  Stop,
  string
>

export function stopOf(reason: unknown, losses: Losses): Stop | null {
  if (typeof reason !== 'string') return null
  const stop = STOPS[reason]
  if (!stop) losses.add('stop_reason')
  return stop ?? 'end'
}

export const wordOf = (stop: Stop): string => WORDS[stop]

export function parseAnswer(json: Json, { family }: Peer, losses: Losses): AnswerBlocks {
  return {
    blocks: blocksOf(json.content, losses, family),
    stop: stopOf(json.stop_reason, losses),
    sequence: typeof json.stop_sequence === 'string' ? json.stop_sequence : null,
  }
}

export const newId = (): string => `msg_${randomUUID().replaceAll('-', '')}`

export function writeAnswer({ model, blocks, stop, sequence, tokens }: Answer, losses: Losses): Json {
  return {
    id: newId(),
    type: 'message',
    role: 'assistant',
    model,
    content: blocks.flatMap((block) => blockFor(block, losses)),
    stop_reason: stop && wordOf(stop),
    stop_sequence: sequence,
    usage: usageFor(tokens),
  }
}

/** Converts a block of an answer. Returns an empty list if clients of this dialect cannot read the block. */
export function blockFor(block: Block, losses: Losses): object[] {
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
 * Anthropic's `input_tokens` excludes tokens read from or written to a cache. Omits unknown counts. Some
 * servers report more cached tokens than input; the sum still equals the input.
 */
export function usageFor(tokens: Tokens | null): Json {
  if (!tokens) return {}
  const { input, output, cached_input, cache_write, reasoning } = tokens
  const most = input ?? Infinity
  const read = cached_input === null ? null : Math.min(cached_input, most)
  const written = cache_write === null ? null : Math.min(cache_write, most - (read ?? 0))
  return {
    ...(input === null ? {} : { input_tokens: input - (read ?? 0) - (written ?? 0) }),
    ...(written === null ? {} : { cache_creation_input_tokens: written }),
    ...(read === null ? {} : { cache_read_input_tokens: read }),
    ...(output === null ? {} : { output_tokens: output }),
    ...(reasoning === null ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  }
}
