// Facts in an otherwise uninterpreted answer: its model, its usage, and the error that ended it. Reads JSON or
// the last events of a stream, without the bytes of pictures and sounds, and up to a bounded size. Pure.
import { NO_TOKENS, type Tokens } from '../core/call.ts'
import { tokensOf as interactionTokens } from '../dialects/interactions/read-answer.ts'
import { isObject, type Json, textOf, tokenCount } from '../dialects/json.ts'
import { errorOf } from '../dialects/openai.ts'
import { KNOWN_TO_OPENAI, kindsIn, reportedIn, servedIn, unknownIn } from '../dialects/served.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { eventsIn } from '../shared/event-text.ts'
import type { Operation } from './operations.ts'
import { StringShortener } from './short-strings.ts'

/** Maximum bytes of an answer that are stored for reading, long strings shortened. */
const MAX_READ_BYTES = 2 ** 20
/** Maximum JSON values of an answer that is read. */
const MAX_VALUES = 250_000
/** Maximum bytes stored from the end of a stream, long strings shortened. */
const MAX_TAIL_BYTES = 2 ** 16

export interface AnswerFacts {
  readonly model: string | null
  readonly tokens: Tokens | null
  /** Code of the error event that ended a stream; null without one. */
  readonly errorCode: string | null
}

export const NO_FACTS: AnswerFacts = { model: null, tokens: null, errorCode: null }

/** Collects a passing answer, or the end of a passing stream. */
export class AnswerReader {
  readonly #kind: 'json' | 'events' | null
  readonly #strings = new StringShortener()
  readonly #kept = new BytePieces()
  #isTooLong = false

  constructor(contentType: string | undefined) {
    this.#kind = /\bjson\b/i.test(contentType ?? '')
      ? 'json'
      : /^text\/event-stream\b/i.test(contentType ?? '')
        ? 'events'
        : null
  }

  add(arrived: Buffer): void {
    if (this.#kind === null || this.#isTooLong) return
    this.#kept.add(this.#strings.shorten(arrived))
    if (this.#kind === 'json' && this.#kept.length > MAX_READ_BYTES) {
      this.#isTooLong = true
      this.#kept.clear()
    } else if (this.#kind === 'events' && this.#kept.length > 2 * MAX_TAIL_BYTES) {
      const tail = Buffer.from(this.#kept.joined().subarray(-MAX_TAIL_BYTES))
      this.#kept.clear()
      this.#kept.add(tail)
    }
  }

  /** Bytes that are kept. */
  get held(): number {
    return this.#kept.length
  }

  facts(): AnswerFacts {
    if (this.#kept.length === 0) return NO_FACTS
    const bytes = this.#kept.joined()
    this.#kept.clear()
    if (holdsMoreValues(bytes, MAX_VALUES)) return NO_FACTS
    const text = bytes.toString('utf8')
    return this.#kind === 'json' ? factsOf(parsed(text)) : lastFacts(text)
  }
}

/**
 * Returns the facts of the last event that reports usage, with the number of finished pictures, and the error
 * if the last event is one. The first event may be incomplete.
 */
function lastFacts(text: string): AnswerFacts {
  let last = NO_FACTS
  let pictures = 0
  let errorCode: string | null = null
  const read = eventsIn(({ event, data }) => {
    const json = parsed(data)
    if (!isObject(json)) return // [DONE]
    errorCode = errorIn(json, event)
    if (/^image_(edit|generation)\.completed$/.test(textOf(json.type ?? event))) pictures++
    const facts = factsOf(json)
    if (facts.tokens !== null) last = facts
  })
  read(`${text}\n\n`) // the blank line after the last event may be missing
  return { ...last, tokens: withPictures(last.tokens, pictures), errorCode }
}

/** Returns the code of an error event; null for any other event. */
function errorIn(json: Json, event: string | undefined): string | null {
  const { type = event, error } = json
  return error != null || type === 'error' ? (errorOf(error ?? json).code ?? 'upstream_error') : null
}

function factsOf(json: unknown): AnswerFacts {
  if (!isObject(json)) return NO_FACTS
  const { model, data } = json
  const pictures = Array.isArray(data) ? data.filter(isPicture).length : 0
  return {
    model: typeof model === 'string' ? model : null,
    tokens: withPictures(answerTokens(json), pictures),
    errorCode: null,
  }
}

const isPicture = (item: unknown): boolean =>
  isObject(item) && (typeof item.b64_json === 'string' || typeof item.url === 'string')

/** Adds the number of pictures, for providers that charge per picture and may count no tokens. */
const withPictures = (tokens: Tokens | null, images: number): Tokens | null =>
  images === 0 ? tokens : { ...(tokens ?? NO_TOKENS), images }

/**
 * Returns the tokens with a price. OpenAI charges a decision for its input alone, cached or not, and nothing for its
 * output.
 */
export const billedFor = ({ group, owner }: Operation, tokens: Tokens | null): Tokens | null =>
  tokens && group === 'decisions' && owner === 'chat'
    ? { ...tokens, output: 0, cached_input: null, cache_write: null }
    : tokens

/** Returns the tokens that an answer or an event of OpenAI, Anthropic, Google or Jina reports. */
export function answerTokens(json: Json): Tokens | null {
  const { usage, data } = json
  if (isObject(usage) && 'total_input_tokens' in usage) return interactionTokens(usage)
  const [first] = Array.isArray(data) ? data : [json]
  return isObject(usage) ? reportedTokens(usage, isObject(first) && typeof first.b64_json === 'string') : null
}

/**
 * Returns the tokens in a usage. Null if the usage counts something else. `ofPictures`: true if the output is
 * pictures.
 */
export function reportedTokens(usage: Json, ofPictures: boolean): Tokens | null {
  const total = tokenCount(usage.total_tokens)
  const output = tokenCount(usage.completion_tokens) ?? tokenCount(usage.output_tokens)
  const input = tokenCount(usage.prompt_tokens) ?? tokenCount(usage.input_tokens) ?? total
  if (input === null) return null
  const details = usage.prompt_tokens_details ?? usage.input_tokens_details ?? usage.input_token_details
  const made =
    usage.completion_tokens_details ??
    usage.output_tokens_details ??
    (ofPictures ? { image_tokens: output } : undefined)
  const served = servedIn(
    { kinds: kindsIn(details, made) },
    unknownIn(usage, KNOWN_TO_OPENAI),
    reportedIn(usage),
  )
  return {
    source: 'reported',
    input,
    output: output ?? 0,
    cached_input: isObject(details) ? tokenCount(details.cached_tokens) : null,
    cache_write: null,
    reasoning: null,
    ...(served && { served }),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
