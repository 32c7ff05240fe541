// Writes answers for Gemini's clients, whole and as a stream. Format: Gemini API reference, "GenerateContentResponse",
// "streamGenerateContent".

import type { Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import { chance } from '../../shared/chance.ts'
import type { Answer, Block, BlockWriter, Opaque, ReasoningBlock, SerialEvent, Stop } from '../blocks.ts'
import type { Json } from '../json.ts'
import { loseStop } from '../stops.ts'
import { argumentsOf, isReplaced, safeId } from '../tools.ts'
import { carrierOf } from './signatures.ts'

const WORDS: Readonly<Record<Stop, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  calls: 'STOP',
  sequence: 'STOP',
  refusal: 'SAFETY',
  pause: 'STOP',
  context: 'MAX_TOKENS',
}

function wordOf(stop: Stop, losses: Losses): string {
  loseStop(stop, losses)
  return WORDS[stop]
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

const newId = (): string => `resp_${chance.uuid().replaceAll('-', '')}`

/** Converts an answer's blocks to parts for a client. Thoughts wait for the part with their signature. */
class PartWriter {
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
function usageFor({ input, output, cached_input, cache_write, reasoning }: Tokens, losses: Losses): Json {
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
