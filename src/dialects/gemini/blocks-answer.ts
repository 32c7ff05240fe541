// Converts Gemini's whole answers to blocks and back. Format: Gemini API reference,
// "GenerateContentResponse".
import { randomUUID } from 'node:crypto'
import type { Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import type { Answer, AnswerBlocks, Block, Peer, ReasoningBlock, Stop } from '../blocks.ts'
import { argumentsOf } from '../call-arguments.ts'
import { type Json, listOrEmpty, member } from '../json.ts'
import { isReplaced, newCallId, originalId, safeId } from '../tool-ids.ts'
import { partsOf, ToolCalls } from './blocks-request.ts'
import { carrierOf } from './signatures.ts'

const STOPS: Readonly<Record<string, Stop>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
  IMAGE_PROHIBITED_CONTENT: 'refusal',
}

/** An answer with tool calls ends with STOP, like an answer with text only. A blocked prompt has no candidate. */
export function stopOf(json: Json, hasCalls: boolean, losses: Losses): Stop | null {
  if (member(json.promptFeedback, 'blockReason') != null) return 'refusal'
  const reason = member(listOrEmpty(json.candidates)[0], 'finishReason')
  if (typeof reason !== 'string' || reason === 'FINISH_REASON_UNSPECIFIED') return null
  const stop = STOPS[reason]
  if (!stop) losses.add('stop_reason')
  return hasCalls && (stop ?? 'end') === 'end' ? 'calls' : (stop ?? 'end')
}

const WORDS: Readonly<Record<Stop, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  calls: 'STOP',
  sequence: 'STOP',
  refusal: 'SAFETY',
  pause: 'STOP',
  context: 'MAX_TOKENS',
}

export function wordOf(stop: Stop, losses: Losses): string {
  if (stop === 'sequence') losses.add('stop_sequence')
  if (stop === 'pause' || stop === 'context') losses.add('stop_reason')
  return WORDS[stop]
}

/** Returns the parts of the first candidate. Content that exists only in Gemini is reported as lost. */
export function candidateBlocks(json: Json, { family }: Peer, losses: Losses): Block[] {
  const candidates = listOrEmpty(json.candidates)
  if (candidates.length > 1) losses.add('n')
  const [candidate] = candidates
  losses.of(member(candidate, 'groundingMetadata'), 'citations')
  losses.of(member(candidate, 'citationMetadata'), 'citations')
  losses.of(member(candidate, 'logprobsResult'), 'logprobs')
  return partsOf(member(candidate, 'content'), new NewCalls(), losses, family)
}

/** Most models send calls without ids. */
class NewCalls extends ToolCalls {
  override called(id: unknown): string {
    return typeof id === 'string' && id !== '' ? originalId(id) : newCallId()
  }
}

export function parseAnswer(json: Json, peer: Peer, losses: Losses): AnswerBlocks {
  const blocks = candidateBlocks(json, peer, losses)
  const stop = stopOf(
    json,
    blocks.some(({ type }) => type === 'call'),
    losses,
  )
  return { blocks, stop, sequence: null }
}

export function writeAnswer({ model, blocks, stop, tokens }: Answer, losses: Losses): Json {
  const writer = new PartWriter(losses)
  const parts = [...blocks.flatMap((block) => writer.write(block)), ...writer.end()]
  return {
    candidates: [
      {
        content: { role: 'model', parts },
        ...(stop === null ? {} : { finishReason: wordOf(stop, losses) }),
        index: 0,
      },
    ],
    ...(tokens ? { usageMetadata: usageFor(tokens, losses) } : {}),
    modelVersion: model,
    responseId: newId(),
  }
}

export const newId = (): string => `resp_${randomUUID().replaceAll('-', '')}`

/** Converts an answer's blocks to parts for a client. Thoughts wait for the part with their signature. */
export class PartWriter {
  readonly #losses: Losses
  #thoughts: ReasoningBlock[] = []

  constructor(losses: Losses) {
    this.#losses = losses
  }

  write(block: Block): Json[] {
    switch (block.type) {
      case 'reasoning':
        this.#thoughts.push(block)
        return block.text === '' ? [] : [{ text: block.text, thought: true }]
      case 'text':
        return block.text === '' ? [] : [this.signed({ text: block.text })]
      case 'call': {
        const { id, name } = block
        if (isReplaced(id)) this.#losses.add('tool.id')
        const args = argumentsOf(block.args)
        if (args === null) this.#losses.add('tool.arguments')
        return [this.signed({ functionCall: { id: safeId(id), name, args: args ?? { input: block.args } } })]
      }
      case 'image':
        if (block.source.kind === 'base64') {
          const { mediaType: mimeType, data } = block.source
          return [this.signed({ inlineData: { mimeType, data } })]
        }
        this.#losses.add('image')
        return []
      default:
        this.#losses.add(
          block.type === 'unknown' ? block.loss : block.type === 'document' ? 'document' : 'unknown.block',
        )
        return []
    }
  }

  /** Stores a streamed thought after its text was sent. */
  thought(block: ReasoningBlock): void {
    this.#thoughts.push(block)
  }

  signed(part: Json): Json {
    if (this.#thoughts.length === 0) return part
    const thoughtSignature = carrierOf(this.#thoughts)
    this.#thoughts = []
    return { ...part, thoughtSignature }
  }

  /** Returns the thoughts without a following part. */
  end(): Json[] {
    return this.#thoughts.length > 0 ? [this.signed({ text: '' })] : []
  }
}

/** Converts token counts; Google counts thoughts separately from the candidates. Omits unknown counts. */
export function usageFor(
  { input, output, cached_input, cache_write, reasoning }: Tokens,
  losses: Losses,
): Json {
  // xAI does not include thoughts in its output.
  const beside = (reasoning ?? 0) > (output ?? 0) ? (reasoning ?? 0) : 0
  // Gemini does not count tokens written to a cache.
  if (cache_write || beside > 0) losses.add('usage')
  return {
    ...(input === null ? {} : { promptTokenCount: input }),
    ...(cached_input === null ? {} : { cachedContentTokenCount: cached_input }),
    ...(output === null ? {} : { candidatesTokenCount: output + beside - (reasoning ?? 0) }),
    ...(reasoning === null ? {} : { thoughtsTokenCount: reasoning }),
    ...(input === null || output === null ? {} : { totalTokenCount: input + output + beside }),
  }
}
