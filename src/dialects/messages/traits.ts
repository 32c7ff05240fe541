// What a messages request is like. Reads only what is asked for.
import type { RequestTraits } from '../../request-traits.ts'
import { estimateTokens } from '../../token-estimate.ts'
import { isObject, type Json } from '../json.ts'
import { inputOf } from './input.ts'

/** Each part is computed when it is first read. Never throws, whatever the body holds. */
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

  /** Those that a tool returned, too. */
  get images(): boolean {
    const { messages } = this.#body
    this.#images ??= blocksOf(messages).some(
      (block) => isImage(block) || (isObject(block) && listOf(block.content).some(isImage)),
    )
    return this.#images
  }

  /** As it is named, else by the tokens that thinking may take; adaptive thinking says nothing. */
  get effort(): string | null {
    const { output_config: output, thinking } = this.#body
    if (isObject(output) && typeof output.effort === 'string') return output.effort
    if (!isObject(thinking)) return null
    const { type, budget_tokens: budget } = thinking
    if (type === 'disabled') return 'none'
    if (type !== 'enabled' || typeof budget !== 'number') return null
    return budget <= LOW ? 'low' : budget <= MEDIUM ? 'medium' : 'high'
  }

  /** A block that has no signature yet cannot be refused for it. */
  get opaqueReasoning(): boolean {
    return blocksOf(this.#body.messages).some(
      (block) =>
        isObject(block) &&
        ((block.type === 'thinking' && !!block.signature) || block.type === 'redacted_thinking'),
    )
  }

  get inputTokens(): number {
    this.#inputTokens ??= estimateTokens(inputOf(this.#body).text)
    return this.#inputTokens
  }
}

/** The most tokens of thinking that count as this effort. */
const LOW = 4_096
const MEDIUM = 16_384

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const blocksOf = (messages: unknown): unknown[] =>
  listOf(messages).flatMap((message) => (isObject(message) ? listOf(message.content) : []))
const isImage = (block: unknown): boolean => isObject(block) && block.type === 'image'
