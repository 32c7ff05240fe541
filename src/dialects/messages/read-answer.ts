// Reads answers of the Messages dialect, whole or event by event: once, for the record and for a translation. Format:
// Anthropic API reference, "Messages", "Streaming"; what servers send besides is in deviations/messages.
import { EMPTY_EVENT, type ParsedEvent, type ProviderError, type Tokens } from '../../core/call.ts'
import type { AnswerParts } from '../answer-parts.ts'
import type { StreamReader } from '../dialect.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../json.ts'
import { errorIn as openAiErrorIn } from '../openai.ts'
import { endedBadly, isFailure, isUnknownStop, stopIn } from '../stops.ts'
import { isEndMark, type StreamEvent } from '../stream-event.ts'
import { errorIn } from './errors.ts'
import { blockOf, opaqueOf } from './read-request.ts'
import { laterUsage, tokensOf, type Usage, usageOf } from './usage.ts'

const KNOWN = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
])

export class MessagesReader implements StreamReader {
  readonly #parts: AnswerParts | null
  #usage: Usage | null = null
  /** Keys of the open blocks by their index. */
  readonly #keys = new Map<unknown, number>()
  /** Inputs given with the start of their calls. They count if no other input follows. */
  readonly #inputs = new Map<number, string>()
  #last = -1

  /** `parts`: receives the content for a translation; null if the answer is only relayed. */
  constructor(parts: AnswerParts | null) {
    this.#parts = parts
  }

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    if (isEndMark(data)) return END_MARK // some servers close every stream with it
    if (name === 'ping') return PING
    // Under an unknown name, such as `message`, the type in the data counts. Other content is unknown.
    if (name !== '' && !KNOWN.has(name) && !KNOWN.has(event.type())) return EMPTY_EVENT
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    const exact = this.#parts ? (event.exactJson() as Json) : json
    switch (json.type ?? name) {
      case 'ping':
        return PING
      case 'message_start':
        return this.#start(json.message)
      case 'content_block_start':
        return this.#begin(exact)
      case 'content_block_delta':
        return this.#delta(exact)
      case 'content_block_stop':
        this.#end(exact.index)
        return EMPTY_EVENT
      case 'message_delta':
        return this.#messageDelta(json)
      case 'message_stop':
        return END
      default: {
        const error =
          json.type === undefined || json.type === 'error' ? (errorIn(json) ?? openAiErrorIn(json)) : null
        return name === 'error' || json.type === 'error'
          ? { ...EMPTY_EVENT, error: error ?? unworded(json) }
          : { ...EMPTY_EVENT, error }
      }
    }
  }

  /** Reads a whole answer. `exact`: the same with the digits of its numbers, for a translation. */
  answer(json: Json, exact: Json): ParsedEvent {
    const { usage, stop_reason: reason } = json
    if (isObject(usage)) this.#usage = usageOf(usage)
    for (const content_block of listOrEmpty(exact.content)) {
      this.#begin({ content_block })
      this.#end(undefined)
    }
    return {
      ...EMPTY_EVENT,
      ...this.#stop(reason, json),
      model: modelOf(json),
      tokens: this.#tokens(reason),
      ...idsOf(json),
    }
  }

  /**
   * Reads the first event. The output count of this event covers only the start, and is ignored if no later
   * count follows.
   */
  #start(message: unknown): ParsedEvent {
    const usage = member(message, 'usage')
    if (isObject(usage)) this.#usage = { ...usageOf(usage), output: null }
    const begun = isObject(message) && { model: modelOf(message), ...idsOf(message) }
    for (const content_block of listOrEmpty(member(message, 'content'))) this.#begin({ content_block })
    return { ...EMPTY_EVENT, ...begun, tokens: this.#tokens() }
  }

  #messageDelta(json: Json): ParsedEvent {
    const { delta, usage } = json
    for (const index of this.#keys.keys()) this.#end(index)
    const reason = member(delta, 'stop_reason') ?? json.stop_reason
    if (isObject(usage)) this.#usage = laterUsage(this.#usage, usageOf(usage))
    const { containerId } = idsOf({ container: member(delta, 'container') })
    const tokens = isObject(usage) ? this.#tokens(reason) : null
    return {
      ...EMPTY_EVENT,
      ...this.#stop(reason, isObject(delta) ? delta : json),
      tokens,
      model: tokens?.served?.model ?? null,
      ...(containerId && { containerId }),
    }
  }

  #stop(
    reason: unknown,
    { stop_sequence: sequence }: Json,
  ): Pick<ParsedEvent, 'finished' | 'unusual' | 'error'> {
    const stop = stopIn(reason)
    if (stop !== null) this.#parts?.stop(stop, textOf(sequence) || null)
    else if (isUnknownStop(reason)) this.#parts?.stopUnknown(reason)
    const isUnknown = isUnknownStop(reason)
    const unusual = isUnknown || (stop !== null && UNUSUAL.includes(stop))
    return {
      finished: stop !== null || isUnknown,
      unusual,
      error: isFailure(reason) ? endedBadly(reason) : null,
    }
  }

  #begin({ index, content_block: raw }: Json): ParsedEvent {
    const found = { ...EMPTY_EVENT, text: textIn(raw), model: fallbackIn(raw) }
    const parts = this.#parts
    if (!parts) return found
    this.#end(index) // some servers do not end a block, or give all the same index
    const key = ++this.#last
    this.#keys.set(index, key)
    const block = blockOf(raw, parts.losses, parts.peer.family)
    switch (block.type) {
      case 'text':
        parts.begin(key, 'text')
        parts.add(key, block.text)
        break
      case 'reasoning':
        parts.begin(key, 'reasoning')
        parts.add(key, block.text)
        if (block.opaque) parts.seal(key, block.opaque)
        break
      case 'call':
        parts.call(key, block)
        this.#inputs.set(key, argumentsIn(member(raw, 'input'), block.args))
        break
      default:
        parts.whole(block)
    }
    return found
  }

  #delta({ index, delta }: Json): ParsedEvent {
    const parts = this.#parts
    if (parts && isObject(delta)) this.#add(this.#keys.get(index) ?? this.#last, index, delta, parts)
    return { ...EMPTY_EVENT, text: textIn(delta) }
  }

  #add(key: number, index: unknown, delta: Json, parts: AnswerParts): void {
    switch (delta.type) {
      case 'text_delta':
        parts.add(this.#begun(key, index, 'text', parts), textOf(delta.text))
        return
      case 'thinking_delta':
        parts.add(this.#begun(key, index, 'reasoning', parts), textOf(delta.thinking))
        return
      case 'input_json_delta':
        if (!parts.add(key, argumentsIn(delta.partial_json, ''))) parts.losses.add('unknown.block')
        return
      case 'signature_delta':
        parts.seal(
          this.#begun(key, index, 'reasoning', parts),
          opaqueOf(textOf(delta.signature), parts.peer.family),
        )
        return
      case 'citations_delta':
        parts.losses.add('citations')
        return
      default:
        parts.losses.add('unknown.block')
    }
  }

  /** Returns the key of the block of a delta, which some servers do not begin. */
  #begun(key: number, index: unknown, kind: 'text' | 'reasoning', parts: AnswerParts): number {
    if (this.#keys.has(index) && parts.kindOf(key) === kind) return key
    this.#end(index)
    this.#keys.set(index, ++this.#last)
    parts.begin(this.#last, kind)
    return this.#last
  }

  #end(index: unknown): void {
    const key = this.#keys.get(index)
    if (key === undefined || !this.#parts) return
    this.#keys.delete(index)
    const input = this.#inputs.get(key)
    if (input !== undefined && this.#parts.callOf(key)?.hasArguments === false) this.#parts.add(key, input)
    this.#inputs.delete(key)
    this.#parts.end(key)
  }

  #tokens = (reason?: unknown): Tokens | null => this.#usage && tokensOf(this.#usage, reason)
}

const PING: ParsedEvent = { ...EMPTY_EVENT, opens: false }
const END: ParsedEvent = { ...EMPTY_EVENT, done: true }
/** A stream with only an end mark has no answer, so it has not begun. */
const END_MARK: ParsedEvent = { ...END, opens: false }

/** Ends after which the same request may give another answer. */
const UNUSUAL: readonly string[] = ['refusal', 'pause', 'context']

const modelOf = ({ model }: Json): string | null => (typeof model === 'string' ? model : null)

/** Returns the model to which a call fell back. The stream began with the name of the previous model. */
function fallbackIn(block: unknown): string | null {
  const model = member(block, 'type') === 'fallback' ? member(member(block, 'to'), 'model') : null
  return typeof model === 'string' ? model : null
}

/** Returns the ids of the message and of its container. A thread continues by the message's id. */
function idsOf({ id, container }: Json): { responseId?: string; containerId?: string } {
  const containerId = member(container, 'id')
  return {
    ...(typeof id === 'string' && { responseId: id }),
    ...(typeof containerId === 'string' && { containerId }),
  }
}

/** Returns the text at the start of a block or in a delta. */
function textIn(part: unknown): string {
  if (!isObject(part)) return ''
  const { text, thinking, name, partial_json: json } = part
  return [text, thinking, name, json].filter((each) => typeof each === 'string').join('')
}

/** Returns an input as a text. Some servers send a text where an object belongs, or an object instead of a text. */
const argumentsIn = (input: unknown, otherwise: string): string =>
  typeof input === 'string' ? input : isObject(input) && otherwise === '' ? JSON.stringify(input) : otherwise

/** Converts an error event of an unknown format to an error. */
const unworded = (json: Json): ProviderError => ({
  message: JSON.stringify(json.error ?? json),
  code: null,
  status: null,
})
