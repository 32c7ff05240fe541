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

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Longest string that is kept, bytes as written. */
const MAX_STRING_BYTES = 1_024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LINE_END = 0x0a

/**
 * Empties the long strings in the pieces of one body, of JSON or of events with JSON. Usage may follow after a picture of
 * several megabytes, and is then still found in bounded memory.
 */
export class StringShortener {
  #isInString = false
  /** Bytes of the open string. */
  #length = 0
  /** True if the last byte of the open string escapes the next one. */
  #isEscaped = false
  /** Beginning of the open string, from earlier pieces; nothing once it is too long. */
  readonly #held = Buffer.allocUnsafe(MAX_STRING_BYTES)
  #heldBytes = 0

  /** Returns a copy of the bytes that can be kept so far. A string follows when it has ended. */
  shorten(piece: Buffer): Buffer {
    const kept: Buffer[] = []
    /** First byte that is not in `kept` yet. */
    let from = this.#isLong ? this.#endOfLong(piece, 0) : 0
    /** First byte of the open string. */
    let start = 0
    for (let at = from; at < piece.length; at++) {
      const byte = piece[at]!
      if (!this.#isInString) {
        this.#isInString = byte === QUOTE
        start = at + 1
      } else if (this.#isEnd(byte)) {
        if (this.#heldBytes > 0) kept.push(this.#held.subarray(0, this.#heldBytes))
        this.#heldBytes = 0
        this.#length = 0
        this.#isInString = false
      } else if (this.#isLong) {
        kept.push(piece.subarray(from, start))
        this.#heldBytes = 0
        from = this.#endOfLong(piece, at + 1)
        at = from - 1
      }
    }
    const isOpen = this.#isInString && !this.#isLong
    kept.push(isOpen ? piece.subarray(from, start) : piece.subarray(from))
    const shortened = Buffer.concat(kept)
    if (isOpen) this.#heldBytes += piece.copy(this.#held, this.#heldBytes, start)
    return shortened
  }

  get #isLong(): boolean {
    return this.#length > MAX_STRING_BYTES
  }

  /**
   * Returns true if a byte ends the open string, else counts it. A line end is also an end: no string of JSON
   * contains one, and other text may have a single quotation mark.
   */
  #isEnd(byte: number): boolean {
    if (!this.#isEscaped && (byte === QUOTE || byte === LINE_END)) return true
    this.#isEscaped = !this.#isEscaped && byte === BACKSLASH
    this.#length++
    return false
  }

  /** Returns the index of the open string's end, or the length of the piece. */
  #endOfLong(piece: Buffer, from: number): number {
    const quote = piece.indexOf(QUOTE, from)
    const until = quote < 0 ? piece.length : quote
    const part = piece.subarray(from, until)
    // A picture or a sound, which would take 20 times as long byte by byte.
    if (!this.#isEscaped && !part.includes(BACKSLASH) && !part.includes(LINE_END)) return until
    let at = from
    while (at < piece.length && !this.#isEnd(piece[at]!)) at++
    return at
  }
}
