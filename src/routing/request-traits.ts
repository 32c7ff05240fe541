// What a request is like, as far as rules and capabilities ask: tools, images, effort, length. Reads bodies in
// OpenAI's chat shape, and only what is asked for; knows no target.
import { estimateTokens, textOf } from '../token-estimate.ts'

export interface RequestTraits {
  readonly tools: boolean
  readonly images: boolean
  /** `reasoning_effort` or `reasoning.effort` as sent. */
  readonly effort: string | null
  /** An estimate of the tokens of messages and tools; what images count is not in it. */
  readonly inputTokens: number
}

/** The call that `resolve` speaks of: a few words of plain text. */
export const PLAIN: RequestTraits = { tools: false, images: false, effort: null, inputTokens: 1 }

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0

/** The shape of a chat request; each part is computed when it is first read. Never throws, whatever the body holds. */
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

  get inputTokens(): number {
    const { messages, tools, functions } = this.#body
    this.#inputTokens ??= estimateTokens(textOf([messages, tools, functions]))
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
