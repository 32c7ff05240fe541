// Reads what the gateway itself needs of a request: fields, the session and the opening. The provider validates all
// other fields.
import { type ZodType, z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { readableText } from '../core/token-estimate.ts'
import { isObject, type Json, member } from './json.ts'

/**
 * Returns the fields of a schema. Throws GatewayError `invalid_request` for the first mistake; `place`
 * prefixes its path.
 */
export function readFields<Schema extends ZodType>(
  schema: Schema,
  json: unknown,
  place = '',
): z.output<Schema> {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  const param = place || path.join('.')
  throw new GatewayError('invalid_request', `${param}: ${message}`, { param })
}

/** Maximum characters of a model's name. */
const MAX_MODEL = 256

/** Schema of a model's name. */
export const modelSchema = z.string().min(1).max(MAX_MODEL)

interface Conversation {
  readonly model: string
  readonly stream?: boolean | null | undefined
}

/**
 * Returns the fields of a conversation whose input is `list`. A schema would copy the list, so it reads only a request that
 * is not as nearly all are.
 */
export function readConversation(schema: ZodType<Conversation>, json: Json, list: unknown): Conversation {
  const { model, stream } = json
  const isUsual =
    typeof model === 'string' && model !== '' && model.length <= MAX_MODEL && Array.isArray(list)
  return isUsual && (stream == null || typeof stream === 'boolean')
    ? { model, stream }
    : readFields(schema, json)
}

// A provider refuses a wrong type in a number field, but a translation would drop it silently.

const NUMBERS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'temperature', 'top_p', 'top_k']

/** Throws `invalid_request` if a number field holds another type. */
export function refuseWrongNumbers(text: string): void {
  const json: Record<string, unknown> = JSON.parse(text)
  const param = NUMBERS.find((name) => json[name] != null && typeof json[name] !== 'number')
  if (param === undefined) return
  const said = JSON.stringify(json[param]).slice(0, 40)
  throw new GatewayError('invalid_request', `${param}: expected a number, received ${said}`, { param })
}

const SUFFIX = '_session_'

/**
 * Returns the session of a `user_id` that is JSON with `session_id`, or a string ending in `_session_<id>`.
 * Null otherwise.
 */
export function sessionInMetadata(metadata: unknown): unknown {
  const userId = member(metadata, 'user_id')
  if (typeof userId !== 'string') return null
  try {
    return member(JSON.parse(userId), 'session_id')
  } catch {
    const at = userId.lastIndexOf(SUFFIX)
    return at < 0 ? null : userId.slice(at + SUFFIX.length)
  }
}

// The opening of a request stays the same while the conversation grows: tools, instructions, and the messages up to the
// user's first one. Not recursive, because a sender may nest a request to any depth.

/** Cache hints. Clients move them forward as a conversation grows. */
const MOVING = new Set(['cache_control'])

/** Returns the opening as a string to compare. Plain text equals a block with the same text. */
export function openingOf(tools: unknown, instructions: unknown, messages: unknown): string {
  const list = Array.isArray(messages) ? messages : [messages]
  const first = list.findIndex((message) => isObject(message) && message.role === 'user')
  return [...textsIn([instructions, list.slice(0, first + 1 || 1)]), readableText(tools, MOVING)].join('\n')
}

/** Returns the texts of messages in order, under the member names of any dialect. */
function textsIn(messages: unknown): string[] {
  const texts: string[] = []
  const waiting = [messages]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const each of value.toReversed()) waiting.push(each)
    else if (isObject(value)) waiting.push(value.text, value.parts, value.content)
  }
  return texts
}

/** Traits of a request's body that take long are computed on first read. Never throws for any body. */
export abstract class BodyTraits {
  protected readonly body: Json
  #images: boolean | undefined
  #inputTokens: number | undefined

  constructor(body: Json) {
    this.body = body
  }

  get images(): boolean {
    this.#images ??= this.findImages()
    return this.#images
  }

  get inputTokens(): number {
    this.#inputTokens ??= this.countInput()
    return this.#inputTokens
  }

  protected abstract findImages(): boolean
  /** Estimates the tokens of what the model reads as text. */
  protected abstract countInput(): number
}
