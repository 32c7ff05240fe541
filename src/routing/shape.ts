// What a request is like, as far as rules and capabilities ask: tools, images, effort, length. Reads bodies in
// OpenAI's chat shape, and only what is asked for; knows no target.
import { estimateTokenCount } from 'tokenx'

export interface Shape {
  readonly tools: boolean
  readonly images: boolean
  /** `reasoning_effort` or `reasoning.effort` as sent. */
  readonly effort: string | null
  /** An estimate of the tokens of messages and tools; what images count is not in it. */
  readonly inputTokens: number
}

/** The call that `resolve` speaks of: a few words of plain text. */
export const PLAIN: Shape = { tools: false, images: false, effort: null, inputTokens: 1 }

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0

/** The shape of a chat request; each part is computed when it is first read. Never throws, whatever the body holds. */
export class ChatShape implements Shape {
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
    this.#inputTokens ??= estimate(textsIn([messages, tools, functions]).join('\n'))
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

/** Members whose text is not read as text by a model: pictures, sound and files, mostly as base64. */
const BINARY = new Set(['image_url', 'input_audio', 'file', 'source'])

/** Every text inside, names of members too: they stand for what a provider writes around messages and tools. */
function textsIn(values: unknown[]): string[] {
  const texts: string[] = []
  // Not recursive: a body may be nested more deeply than the stack is.
  while (values.length > 0) {
    const value = values.pop()
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const inner of value) values.push(inner)
    else if (isObject(value))
      for (const [name, inner] of Object.entries(value)) if (!BINARY.has(name)) values.push(name, inner)
  }
  return texts
}

/** A long text is estimated from samples, because the event loop waits: about 0.15 µs a character. */
const SAMPLES = 16
const SAMPLE_LENGTH = 2_000

function estimate(text: string): number {
  const sampled = SAMPLES * SAMPLE_LENGTH
  if (text.length <= sampled) return estimateTokenCount(text)
  const step = (text.length - SAMPLE_LENGTH) / (SAMPLES - 1)
  let found = 0
  for (let n = 0; n < SAMPLES; n++) {
    const start = Math.floor(n * step)
    found += estimateTokenCount(text.slice(start, start + SAMPLE_LENGTH))
  }
  return Math.round((found * text.length) / sampled)
}
