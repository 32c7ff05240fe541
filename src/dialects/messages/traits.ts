// Traits of a Messages request, computed on demand.
import type { RequestTraits } from '../../core/request-traits.ts'
import { estimateTokens } from '../../core/token-estimate.ts'
import { isObject, type Json } from '../json.ts'
import { openingOf } from '../opening.ts'
import { inputOf } from './input.ts'

/** Computes each trait on first read. Never throws for any body. */
export class MessagesTraits implements RequestTraits {
  readonly #body: Json
  #images: boolean | undefined
  #inputTokens: number | undefined

  constructor(body: Json) {
    this.#body = body
  }

  get tools(): boolean {
    const { tools } = this.#body
    return Array.isArray(tools) && tools.length > 0
  }

  /** Includes images returned by a tool. */
  get images(): boolean {
    const { messages } = this.#body
    this.#images ??= blocksOf(messages).some(
      (block) => isImage(block) || (isObject(block) && listOf(block.content).some(isImage)),
    )
    return this.#images
  }

  /** Effort as named, or else from the thinking budget. Null for adaptive thinking. */
  get effort(): string | null {
    const { output_config: output, thinking } = this.#body
    if (isObject(output) && typeof output.effort === 'string') return output.effort
    if (!isObject(thinking)) return null
    const { type, budget_tokens: budget } = thinking
    if (type === 'disabled') return 'none'
    if (type !== 'enabled' || typeof budget !== 'number') return null
    return budget <= MAX_LOW_TOKENS ? 'low' : budget <= MAX_MEDIUM_TOKENS ? 'medium' : 'high'
  }

  /** True if a thinking block is signed or redacted. Providers cannot refuse a missing signature. */
  get opaqueReasoning(): boolean {
    return blocksOf(this.#body.messages).some(
      (block) =>
        isObject(block) &&
        ((block.type === 'thinking' && !!block.signature) || block.type === 'redacted_thinking'),
    )
  }

  get opening(): string {
    const { tools, system, messages } = this.#body
    return openingOf(tools, system, messages)
  }

  get inputTokens(): number {
    this.#inputTokens ??= estimateTokens(inputOf(this.#body).text)
    return this.#inputTokens
  }
}

/** Maximum thinking tokens that count as this effort. */
const MAX_LOW_TOKENS = 4_096
const MAX_MEDIUM_TOKENS = 16_384

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const blocksOf = (messages: unknown): unknown[] =>
  listOf(messages).flatMap((message) => (isObject(message) ? listOf(message.content) : []))
const isImage = (block: unknown): boolean => isObject(block) && block.type === 'image'
