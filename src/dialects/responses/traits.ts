// Traits of a Responses request, computed on demand.
import type { RequestTraits } from '../../core/request-traits.ts'
import { estimateTokens, readableText } from '../../core/token-estimate.ts'
import { isObject, type Json, member } from '../json.ts'
import { openingOf } from '../opening.ts'
import { addedTools } from './blocks-items.ts'

/** Computes each trait on first read. Never throws for any body. */
export class ResponsesTraits implements RequestTraits {
  readonly #body: Json
  #images: boolean | undefined
  #inputTokens: number | undefined

  constructor(body: Json) {
    this.#body = body
  }

  get tools(): boolean {
    return listOf(this.#body.tools).length > 0 || added(this.#body.input).length > 0
  }

  /** Includes images returned by a tool. */
  get images(): boolean {
    this.#images ??= listOf(this.#body.input).some(
      (item) =>
        isObject(item) && [...listOf(item.content), ...listOf(item.output), item.output].some(isImage),
    )
    return this.#images
  }

  get effort(): string | null {
    const effort = member(this.#body.reasoning, 'effort')
    return typeof effort === 'string' ? effort : null
  }

  get opaqueReasoning(): boolean {
    return listOf(this.#body.input).some(isEncrypted)
  }

  /** A task that only providers of this dialect can do. */
  get nativeOnly(): string | null {
    const { input, background } = this.#body
    if (member(listOf(input).at(-1), 'type') === 'compaction_trigger') return 'compaction_trigger'
    return background === true ? 'background' : null
  }

  get opening(): string {
    const { tools, instructions, input } = this.#body
    return openingOf(tools, instructions, input)
  }

  get inputTokens(): number {
    const { instructions, input, tools, text, prompt } = this.#body
    const said = Array.isArray(input) ? input.filter((item) => !addedTools(item)) : input
    const definitions = [tools, added(input), text]
    this.#inputTokens ??= estimateTokens(readableText([instructions, said, prompt], UNREAD, definitions))
    return this.#inputTokens
  }
}

/** Returns true for an encrypted item, which only its own provider can read. */
export const isEncrypted = (item: unknown): item is Json =>
  isObject(item) && typeof item.encrypted_content === 'string' && item.encrypted_content !== ''

const added = (input: unknown): readonly unknown[] => listOf(input).flatMap((item) => addedTools(item) ?? [])

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isImage = (part: unknown): boolean => isObject(part) && IMAGES.has(part.type)
const IMAGES = new Set<unknown>(['input_image', 'computer_screenshot'])

/** Members that no model reads as text: encrypted data, names, images and files. */
const UNREAD = new Set([
  'encrypted_content',
  'id',
  'call_id',
  'image_url',
  'file_id',
  'file_url',
  'file_data',
  'input_audio',
  'internal_chat_message_metadata_passthrough',
])
