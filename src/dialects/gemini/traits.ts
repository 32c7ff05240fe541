// Traits of a Gemini request, computed on demand.
import type { RequestTraits } from '../../core/request-traits.ts'
import { estimateTokens } from '../../core/token-estimate.ts'
import { isObject, type Json } from '../json.ts'
import { openingOf } from '../opening.ts'
import { either, inputOf } from './input.ts'

/** Computes each trait on first read. Never throws for any body. */
export class GeminiTraits implements RequestTraits {
  readonly #body: Json
  #images: boolean | undefined
  #inputTokens: number | undefined

  constructor(body: Json) {
    this.#body = body
  }

  get tools(): boolean {
    return listOf(this.#body.tools).length > 0
  }

  /** Includes images returned by a tool. */
  get images(): boolean {
    this.#images ??= partsOf(this.#body).some(
      (part) => isImage(part) || listOf(either(either(part, 'functionResponse'), 'parts')).some(isImage),
    )
    return this.#images
  }

  /** Effort from the thinking level, or else from the thinking budget. Null if the model chooses the budget. */
  get effort(): string | null {
    const thinking = either(either(this.#body, 'generationConfig'), 'thinkingConfig')
    const level = either(thinking, 'thinkingLevel')
    if (typeof level === 'string') return level.toLowerCase()
    const budget = either(thinking, 'thinkingBudget')
    if (typeof budget !== 'number' || budget < 0) return null
    return budget === 0
      ? 'none'
      : budget <= MAX_LOW_TOKENS
        ? 'low'
        : budget <= MAX_MEDIUM_TOKENS
          ? 'medium'
          : 'high'
  }

  /** True if a thought is signed. Only the provider that signed a thought accepts it. */
  get opaqueReasoning(): boolean {
    return partsOf(this.#body).some((part) => either(part, 'thoughtSignature') !== undefined)
  }

  get opening(): string {
    const { tools, contents } = this.#body
    return openingOf(tools, either(this.#body, 'systemInstruction'), contents)
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
const partsOf = ({ contents }: Json): unknown[] =>
  listOf(contents).flatMap((content) => (isObject(content) ? listOf(content.parts) : []))

function isImage(part: unknown): boolean {
  const data = either(part, 'inlineData') ?? either(part, 'fileData')
  const type = either(data, 'mimeType')
  return typeof type === 'string' && type.startsWith('image/')
}
