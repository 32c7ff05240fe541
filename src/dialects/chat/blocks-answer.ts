// Converts whole chat answers to blocks and back. Format: OpenAI API reference, "Chat"; OpenRouter's
// reasoning.
import { randomUUID } from 'node:crypto'
import type { Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import { clock } from '../../shared/clock.ts'
import {
  type Answer,
  type AnswerBlocks,
  type Block,
  type Peer,
  type ReasoningBlock,
  type Stop,
  textOfBlocks,
} from '../blocks.ts'
import { packOpaque } from '../carrier.ts'
import { isObject, type Json, listOrEmpty, member } from '../json.ts'
import { isReplaced, newCallId, safeId } from '../tool-ids.ts'
import { answerBlocks } from './blocks-content.ts'
import { callFor } from './blocks-write-messages.ts'

const STOPS: Readonly<Record<string, Stop>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'refusal',
}

/** `hasCalls` is needed because many servers send `stop` even for an answer with calls. */
export function stopOf(reason: unknown, hasCalls: boolean, losses: Losses): Stop | null {
  if (typeof reason !== 'string') return null
  const stop = STOPS[reason]
  if (!stop) losses.add('stop_reason')
  return hasCalls && (stop ?? 'end') === 'end' ? 'calls' : (stop ?? 'end')
}

const WORDS: Readonly<Record<Stop, string>> = {
  end: 'stop',
  length: 'length',
  calls: 'tool_calls',
  sequence: 'stop',
  refusal: 'content_filter',
  pause: 'stop',
  context: 'length',
}

export function wordOf(stop: Stop, losses: Losses): string {
  if (stop === 'sequence') losses.add('stop_sequence')
  if (stop === 'pause' || stop === 'context') losses.add('stop_reason')
  return WORDS[stop]
}

export function parseAnswer(json: Json, { family }: Peer, losses: Losses): AnswerBlocks {
  const choices = listOrEmpty(json.choices)
  if (choices.length > 1) losses.add('n')
  const [choice] = choices
  const message = member(choice, 'message')
  losses.of(member(choice, 'logprobs'), 'logprobs')
  const blocks = (isObject(message) ? answerBlocks(message, losses, family) : []).map(withId)
  const hasCalls = blocks.some(({ type }) => type === 'call')
  return { blocks, stop: stopOf(member(choice, 'finish_reason'), hasCalls, losses), sequence: null }
}

/** Adds a missing id, since Ollama and other servers send none. */
const withId = (block: Block): Block =>
  block.type === 'call' && block.id === '' ? { ...block, id: newCallId() } : block

export const newId = (): string => `chatcmpl-${randomUUID().replaceAll('-', '')}`
export const now = (): number => Math.floor(clock.now() / 1_000)

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
    ...(tokens ? { usage: usageFor(tokens, losses) } : {}),
  }
}

export function safe<B extends { readonly id: string }>(block: B, losses: Losses): B {
  if (isReplaced(block.id)) losses.add('tool.id')
  return { ...block, id: safeId(block.id) }
}

/** Reports the loss of a block that chat clients cannot read. */
export function nameLost(block: Block, losses: Losses): void {
  if (block.type === 'unknown') losses.add(block.loss)
  else if (block.type === 'image' || block.type === 'document') losses.add(block.type)
  else if (block.type === 'result') losses.add('unknown.block')
}

/** Writes OpenRouter's format. Clients of OpenRouter return the reasoning unchanged. */
export const detailFor = (text: string, carrier: string, index: number): Json =>
  text === ''
    ? { type: 'reasoning.encrypted', data: carrier, index }
    : { type: 'reasoning.text', text, signature: carrier, index }

/** Leaves out unknown counts. */
export function usageFor(tokens: Tokens, losses: Losses): Json {
  const { input, output, cached_input, cache_write, cache_write_1h: forHour, reasoning } = tokens
  if (forHour) losses.add('usage')
  const read = {
    ...(cached_input === null ? {} : { cached_tokens: cached_input }),
    ...(cache_write === null ? {} : { cache_write_tokens: cache_write }),
  }
  return {
    ...(input === null ? {} : { prompt_tokens: input }),
    ...(output === null ? {} : { completion_tokens: output }),
    ...(input === null || output === null ? {} : { total_tokens: input + output }),
    ...(Object.keys(read).length === 0 ? {} : { prompt_tokens_details: read }),
    ...(reasoning === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }
}
