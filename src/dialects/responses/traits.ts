// What a responses request is like. Reads only what is asked for.
import type { RequestTraits } from '../../request-traits.ts'
import { estimateTokens } from '../../token-estimate.ts'
import { isObject, type Json, member } from '../json.ts'

/** Each part is computed when it is first read. Never throws, whatever the body holds. */
export class ResponsesTraits implements RequestTraits {
  readonly #body: Json
  #images: boolean | undefined
  #inputTokens: number | undefined

  constructor(body: Json) {
    this.#body = body
  }

  get tools(): boolean {
    return listOf(this.#body.tools).length > 0
  }

  /** Those that a tool returned, too. */
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

  /** What lies with the provider, or what it does by itself and no other could. */
  get nativeOnly(): string | null {
    const { input, conversation, prompt, background } = this.#body
    if (member(listOf(input).at(-1), 'type') === 'compaction_trigger') return 'compaction_trigger'
    if (conversation != null) return 'conversation'
    if (prompt != null) return 'prompt'
    return background === true ? 'background' : null
  }

  get inputTokens(): number {
    const { instructions, input, tools } = this.#body
    this.#inputTokens ??= estimateTokens(readText([instructions, input, tools]))
    return this.#inputTokens
  }
}

/** An item that only the provider that made it can read. */
export const isEncrypted = (item: unknown): item is Json =>
  isObject(item) && typeof item.encrypted_content === 'string' && item.encrypted_content !== ''

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isImage = (part: unknown): boolean => isObject(part) && IMAGES.has(part.type)
const IMAGES = new Set<unknown>(['input_image', 'computer_screenshot'])

/** Members that no model reads as text: ciphers, names of things, pictures and files. */
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

/** The texts that a model reads, names of members too. Never recurses: how deep a request is, is its sender's to choose. */
function readText(request: unknown): string {
  const texts: string[] = []
  const waiting = [request]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const each of value) waiting.push(each)
    else if (isObject(value))
      for (const [name, each] of Object.entries(value)) if (!UNREAD.has(name)) waiting.push(name, each)
  }
  return texts.join('\n')
}
