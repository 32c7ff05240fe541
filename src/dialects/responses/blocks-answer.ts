// Writes whole responses. Format: OpenAI API reference, "Responses".
import { randomUUID } from 'node:crypto'
import { NO_TOKENS, type Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import { clock } from '../../shared/clock.ts'
import type { Answer, Block, CallBlock, Opened, Stop } from '../blocks.ts'
import { argumentsOf } from '../call-arguments.ts'
import { packOpaque } from '../carrier.ts'
import type { Json } from '../json.ts'
import { loseStop } from '../stops.ts'
import { isReplaced, safeId } from '../tool-ids.ts'
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
export const begun = (model: string, id: string | null): Json => ({
  id: id ?? `resp_${randomUUID().replaceAll('-', '')}`,
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
export function ended(
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
export const NOBODYS = { family: '', bytes: '' }

export function nameLost(block: Block, losses: Losses): void {
  if (block.type === 'unknown') losses.add(block.loss)
  else losses.add(block.type === 'image' || block.type === 'document' ? block.type : 'unknown.block')
}

export const textPart = (text: string): Json => ({ type: 'output_text', text, annotations: [], logprobs: [] })

export const messageItem = (id: string, text: string): Json => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [textPart(text)],
})

export const summaryPart = (text: string): Json => ({ type: 'summary_text', text })

export const reasoningItem = (id: string, text: string, encrypted_content: string): Json => ({
  id,
  type: 'reasoning',
  summary: text === '' ? [] : [summaryPart(text)],
  encrypted_content,
})

export function callItem(
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
