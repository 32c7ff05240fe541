// Traits of a chat request, computed on demand.
import type { RequestTraits } from '../../core/request-traits.ts'
import { BINARY, estimateTokens, readableText } from '../../core/token-estimate.ts'
import { isObject, type Json } from '../json.ts'
import { openingOf } from '../opening.ts'

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0

/** Computes each trait on first read. Never throws for any body. */
export class ChatTraits implements RequestTraits {
  readonly #body: Json
  #images: boolean | undefined
  #inputTokens: number | undefined

  constructor(body: Json) {
    this.#body = body
  }

  get tools(): boolean {
    return isFilled(this.#body.tools) || isFilled(this.#body.functions)
  }

  get images(): boolean {
    this.#images ??= this.#findImages()
    return this.#images
  }

  get effort(): string | null {
    const { reasoning_effort, reasoning } = this.#body
    const effort = reasoning_effort ?? (isObject(reasoning) ? reasoning.effort : null)
    return typeof effort === 'string' ? effort : null
  }

  get opening(): string {
    const { tools, functions, messages } = this.#body
    return openingOf([tools, functions], null, messages)
  }

  get inputTokens(): number {
    const { messages, tools, functions, response_format, prediction } = this.#body
    this.#inputTokens ??= estimateTokens(
      readableText([messages, prediction], BINARY, [tools, functions, response_format]),
    )
    return this.#inputTokens
  }

  #findImages(): boolean {
    const { messages } = this.#body
    if (!Array.isArray(messages)) return false
    const contents = messages.map((message) => (isObject(message) ? message.content : null))
    return contents.some((content) => Array.isArray(content) && content.some(isImage))
  }
}

const isImage = (part: unknown): boolean => isObject(part) && IMAGES.has(part.type)
const IMAGES = new Set<unknown>(['image_url', 'input_image', 'image'])
