// Facts in an otherwise uninterpreted answer: its model, its usage, and ids of objects. Reads JSON of a
// bounded size, or the last events of a stream. Pure.
import type { Tokens } from '../core/call.ts'
import type { Served } from '../core/served.ts'
import { isObject, type Json, tokenCount } from '../dialects/json.ts'

/** Maximum bytes of an answer that are stored for reading. */
const MAX_READ_BYTES = 2 ** 20
/** Maximum bytes stored from the end of a stream. */
const MAX_TAIL_BYTES = 2 ** 16

export interface AnswerFacts {
  readonly model: string | null
  readonly tokens: Tokens | null
  /** The answer, if it is a JSON object. */
  readonly json: Json | null
}

export const NO_FACTS: AnswerFacts = { model: null, tokens: null, json: null }

/** Collects a passing answer, or the end of a passing stream. */
export class AnswerReader {
  readonly #kind: 'json' | 'events' | null
  #pieces: Buffer[] = []
  #size = 0

  constructor(contentType: string | undefined) {
    this.#kind = /\bjson\b/i.test(contentType ?? '')
      ? 'json'
      : /^text\/event-stream\b/i.test(contentType ?? '')
        ? 'events'
        : null
  }

  add(piece: Buffer): void {
    if (this.#kind === null || this.#size > MAX_READ_BYTES) return
    this.#pieces.push(piece)
    this.#size += piece.length
    if (this.#kind === 'json' && this.#size > MAX_READ_BYTES) this.#pieces = []
    if (this.#kind === 'events')
      while (this.#size - this.#pieces[0]!.length > MAX_TAIL_BYTES) this.#size -= this.#pieces.shift()!.length
  }

  facts(): AnswerFacts {
    if (this.#pieces.length === 0) return NO_FACTS
    const text = Buffer.concat(this.#pieces).toString('utf8')
    this.#pieces = []
    return this.#kind === 'json' ? factsOf(parsed(text)) : lastFacts(text)
  }
}

/** Returns the facts of the last event that reports usage. */
function lastFacts(text: string): AnswerFacts {
  const events = text.split(/^data: ?/m).map((event) => factsOf(parsed(event)))
  return events.findLast(({ tokens }) => tokens !== null) ?? NO_FACTS
}

function factsOf(json: unknown): AnswerFacts {
  if (!isObject(json)) return NO_FACTS
  const { model, usage } = json
  return {
    model: typeof model === 'string' ? model : null,
    tokens: isObject(usage) ? reportedTokens(usage) : null,
    json,
  }
}

/** Returns the tokens in a usage of OpenAI, Anthropic or Jina. Null if the usage counts something else. */
export function reportedTokens(usage: Json): Tokens | null {
  const total = tokenCount(usage.total_tokens)
  const output = tokenCount(usage.completion_tokens) ?? tokenCount(usage.output_tokens)
  const input = tokenCount(usage.prompt_tokens) ?? tokenCount(usage.input_tokens) ?? total
  if (input === null) return null
  const details = usage.prompt_tokens_details ?? usage.input_tokens_details ?? usage.input_token_details
  const served = kindsIn(isObject(details) ? details : {})
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

function kindsIn({ audio_tokens: audio, image_tokens: image }: Json): Served | null {
  const [sound, pictures] = [tokenCount(audio), tokenCount(image)]
  if (!sound && !pictures) return null
  return { kinds: { ...(sound && { input_audio: sound }), ...(pictures && { input_image: pictures }) } }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
