// Reads chat answers, whole or event by event: once, for the record and for a translation. Format: OpenAI API reference,
// "Chat" and "Streaming"; what servers send besides is in deviations/chat.
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../../core/call.ts'
import { mergeServed } from '../../core/served.ts'
import type { AnswerParts } from '../answer-parts.ts'
import type { StreamReader } from '../dialect.ts'
import { isObject, type Json, listOrEmpty, member, textOf, tokenCount } from '../json.ts'
import { errorIn, errorOf } from '../openai.ts'
import { mergeTokens, openAiTokens, tierIn } from '../served.ts'
import { endedBadly, isFailure, isUnknownStop, stopIn } from '../stops.ts'
import { isEndMark, type StreamEvent } from '../stream-event.ts'
import { argsOf, detailOf, partsOf } from './read-request.ts'

export class ChatReader implements StreamReader {
  readonly #parts: AnswerParts | null
  /** Calls of each choice. A translation asks for one choice; Copilot spreads one answer over several. */
  readonly #calls = new Map<unknown, CallKeys>()
  #tokens: Tokens | null = null
  /** The service tier. Some servers send it only before the usage. */
  #tier: string | null = null
  /** Thoughts since the last seal. Some servers send them again, together with the seal. */
  #thought = ''
  #hasDeltas = false

  /** `parts`: receives the content for a translation; null if the answer is only relayed. */
  constructor(parts: AnswerParts | null) {
    this.#parts = parts
  }

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    if (isEndMark(data)) return END_MARK
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    const parsed = this.answer(json, this.#parts ? event.exactJson() : json)
    if (name === 'error') parsed.error ??= errorOf(json)
    return parsed
  }

  /** Reads a chunk or a whole answer. `exact`: the same JSON with the digits of its numbers, which a translation needs. */
  answer(json: Json, exact: unknown): Mutable<ParsedEvent> {
    const { model } = json
    const choices = member(exact, 'choices')
    const parsed: Mutable<ParsedEvent> = {
      opens: true,
      done: false,
      finished: false,
      unusual: false,
      text: '',
      model: typeof model === 'string' ? model : null,
      tokens: null,
      usageOnly: false,
      error: json.error == null && Array.isArray(choices) ? null : errorIn(json),
    }
    let usage = json.usage ?? member(json.x_groq, 'usage') // Groq sends unrequested usage here
    const list = listOrEmpty(choices)
    if (list.length > 1) this.#parts?.losses.add('n')
    for (const choice of list) {
      if (!isObject(choice)) continue
      usage ??= choice.usage // Moonshot
      this.#choice(choice, parsed)
    }
    parsed.usageOnly = Array.isArray(choices) && choices.length === 0 && isObject(json.usage)
    this.#tier = tierIn(json) ?? this.#tier
    if (isObject(usage)) {
      this.#tokens = mergeTokens(this.#tokens, tokensOf(usage, json))
      parsed.tokens = this.#tokens && withTier(this.#tokens, this.#tier)
    }
    return parsed
  }

  #choice(choice: Json, parsed: Mutable<ParsedEvent>): void {
    const { delta, message, finish_reason: reason, error } = choice
    const isFirst = (choice.index ?? 0) === 0
    parsed.text += lengthwise(delta) + lengthwise(message)
    const parts = this.#parts
    if (isFirst && parts) {
      if (isObject(delta)) this.#content(delta, parts, false)
      this.#hasDeltas ||= isObject(delta)
      if (isObject(message)) this.#content(message, parts, this.#hasDeltas)
      if (typeof choice.text === 'string') parts.flow('text', choice.text)
      parts.losses.of(choice.logprobs, 'logprobs')
    }
    if (parts)
      for (const part of [delta, message]) if (isObject(part)) this.#callsOf(choice.index ?? 0, part, parts)
    const stop = stopIn(reason)
    if (stop !== null) {
      parsed.finished = true
      parsed.unusual ||= stop === 'refusal'
      if (isFirst && this.#parts) this.#stop(stop, choice, this.#parts)
    } else if (error != null || isFailure(reason))
      parsed.error ??= error == null ? endedBadly(reason) : errorOf(error)
    else if (isUnknownStop(reason)) {
      parsed.finished = true
      parsed.unusual = true
      if (isFirst) this.#parts?.stopUnknown(reason)
    }
  }

  /** vLLM and SGLang name the sequence that stopped the answer. A number is the id of a token. */
  #stop(stop: NonNullable<ReturnType<typeof stopIn>>, choice: Json, parts: AnswerParts): void {
    const sequence = [choice.stop_reason, choice.matched_stop].find(
      (each) => typeof each === 'string' && each !== '',
    )
    if (stop === 'end' && typeof sequence === 'string') parts.stop('sequence', sequence)
    else parts.stop(stop)
  }

  /** `isAgain`: the message may repeat what deltas have said. */
  #content(delta: Json, parts: AnswerParts, isAgain: boolean): void {
    const { content, reasoning_content: thought, reasoning, reasoning_details: details, refusal } = delta
    const hasText = Array.isArray(details) && this.#sealed(details, parts)
    if (!hasText) this.#think(textOf(thought) || textOf(reasoning), parts, isAgain)
    if (textOf(refusal) !== '') parts.losses.add('refusal')
    const text = textOf(content) + textOf(refusal)
    if (text !== '') add(parts, 'text', text, isAgain)
    for (const list of [content, delta.images])
      if (Array.isArray(list))
        for (const block of partsOf(list, parts.losses))
          if (block.type === 'text' || block.type === 'reasoning') add(parts, block.type, block.text, isAgain)
          else parts.whole(block)
    if (listOrEmpty(delta.annotations).length > 0) parts.losses.add('citations')
    parts.losses.of(delta.audio, 'audio')
  }

  #callsOf(choice: unknown, { tool_calls: list, function_call: legacy }: Json, parts: AnswerParts): void {
    if (!Array.isArray(list) && !isObject(legacy)) return
    const calls = this.#calls.get(choice) ?? new CallKeys(parts, this.#calls.size)
    this.#calls.set(choice, calls)
    calls.begin()
    for (const call of listOrEmpty(list)) if (isObject(call)) calls.add(call)
    if (isObject(legacy)) calls.add({ index: 0, function: legacy })
  }

  /** Adds reasoning with seals. Returns true if it has a text. */
  #sealed(details: readonly unknown[], parts: AnswerParts): boolean {
    const blocks = details.flatMap((each) => detailOf(each, parts.peer.family, parts.losses))
    for (const block of blocks) {
      if (block.type !== 'reasoning') continue
      const isRepeated = block.opaque !== null && this.#thought.endsWith(block.text)
      if (!isRepeated) this.#think(block.text, parts, false)
      if (!block.opaque) continue
      parts.flowSeal(block.opaque)
      parts.endFlow() // a seal ends its thought
      this.#thought = ''
    }
    return blocks.some((block) => block.type === 'reasoning' && block.text !== '')
  }

  #think(text: string, parts: AnswerParts, isAgain: boolean): void {
    if (text === '') return
    this.#thought += text
    add(parts, 'reasoning', text, isAgain)
  }
}

/** Adds a piece, or a whole that may repeat pieces. */
const add = (parts: AnswerParts, kind: 'text' | 'reasoning', piece: string, isAgain: boolean): void =>
  isAgain ? parts.flowRest(kind, piece) : parts.flow(kind, piece)

/** Finds the call that a fragment belongs to: by its index, else its id, else the last one. */
class CallKeys {
  readonly #parts: AnswerParts
  readonly #choice: number
  readonly #byIndex = new Map<unknown, string>()
  readonly #byId = new Map<string, string>()
  readonly #touched = new Set<string>()
  #last: string | null = null
  #count = 0

  constructor(parts: AnswerParts, choice: number) {
    this.#parts = parts
    this.#choice = choice
  }

  /** Called before the fragments of a chunk. */
  begin(): void {
    this.#touched.clear()
  }

  add({ index, id: givenId, function: made, custom }: Json): void {
    const id = textOf(givenId)
    const name = textOf(member(made, 'name')) || textOf(member(custom, 'name'))
    const at = index ?? null
    const key = this.#find(at, id, name) ?? `${this.#choice} ${this.#count++}`
    if (at !== null) this.#byIndex.set(at, key)
    if (id !== '') this.#byId.set(id, key)
    this.#touched.add(key)
    this.#last = key
    this.#parts.call(key, { id, name, kind: isObject(custom) ? 'custom' : 'function' })
    this.#parts.add(key, argsOf(member(made, 'arguments') ?? member(custom, 'input')))
  }

  #find(index: unknown, id: string, name: string): string | null {
    const known = (index === null ? undefined : this.#byIndex.get(index)) ?? this.#byId.get(id)
    if (known !== undefined) return name === '' || !this.#isAnother(known, index, id, name) ? known : null
    const mayContinue = name === '' || (index === null && id === '' && this.#isLast(name))
    return mayContinue ? this.#last : null
  }

  /** Returns true if a fragment with neither an index nor an id repeats the name of the last call. */
  #isLast(name: string): boolean {
    if (this.#last === null || this.#touched.has(this.#last)) return false
    const call = this.#parts.callOf(this.#last)!
    return call.name === name && !this.#parts.isComplete(this.#last)
  }

  /** Returns true if a fragment with a name begins a call of its own. Some servers give all calls the same index. */
  #isAnother(key: string, index: unknown, id: string, name: string): boolean {
    const call = this.#parts.callOf(key)!
    if (call.name === '') return false
    // Some servers give several calls the same id; their places tell them apart.
    if (index === null ? this.#touched.has(key) : !this.#byIndex.has(index)) return true
    if (id !== '' && id === call.id) return false
    if (this.#touched.has(key) || this.#parts.isComplete(key)) return true
    const isOtherName = name !== call.name
    return id !== '' && call.id !== '' ? isOtherName || index === null : isOtherName && call.hasArguments
  }
}

const withTier = (tokens: Tokens, tier: string | null): Tokens =>
  tier === null || tokens.served?.service_tier != null
    ? tokens
    : { ...tokens, served: mergeServed({ service_tier: tier }, tokens.served) }

/** A stream with only an end mark has no answer, so it has not begun. */
const END_MARK: ParsedEvent = { ...EMPTY_EVENT, done: true, opens: false }

/** Returns the text of a delta or a message, for estimates. DeepSeek and Groq use different fields for reasoning. */
function lengthwise(delta: unknown): string {
  if (!isObject(delta)) return ''
  const { content, reasoning_content: thought, reasoning, refusal, tool_calls: calls } = delta
  let text = textOf(content) + textOf(thought) + textOf(reasoning) + textOf(refusal)
  if (Array.isArray(calls))
    for (const call of calls) {
      const made = member(call, 'function')
      text += textOf(member(made, 'name')) + textOf(member(made, 'arguments'))
    }
  return text
}

/**
 * Parses OpenAI's `usage`. DeepSeek reports tokens read from the cache as `prompt_cache_hit_tokens`, Moonshot as
 * `cached_tokens`. OpenRouter reports tokens written to the cache as `cache_write_tokens`.
 */
function tokensOf(usage: Json, answer: Json): Tokens {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage
  const cached = [
    member(input, 'cached_tokens'),
    ...[usage.prompt_cache_hit_tokens, usage.cached_tokens, usage.cache_read_input_tokens],
  ]
  const counts = {
    input: tokenCount(usage.prompt_tokens),
    output: tokenCount(usage.completion_tokens),
    cached: cached.map(tokenCount).find((count) => count !== null) ?? null,
    reasoning: tokenCount(member(output, 'reasoning_tokens')) ?? tokenCount(usage.reasoning_tokens),
  }
  return openAiTokens(usage, answer, counts, [input, output])
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
