// Reads responses, whole or event by event: once, for the record and for a translation. Format: OpenAI API reference,
// "Responses" and "Streaming events". Servers omit events and members (deviations/responses), so missing parts are read
// from the finished item, and missing items from the last response.
import { EMPTY_EVENT, type ParsedEvent, type ProviderError, type Tokens } from '../../core/call.ts'
import { mergeServed } from '../../core/served.ts'
import type { AnswerParts } from '../answer-parts.ts'
import type { Stop } from '../blocks.ts'
import type { StreamReader } from '../dialect.ts'
import { isObject, type Json, listOrEmpty, member, textOf, tokenCount } from '../json.ts'
import { mergeTokens, openAiTokens, toolOf } from '../served.ts'
import { isUnknownStop, stopIn } from '../stops.ts'
import { isEndMark, type StreamEvent } from '../stream-event.ts'
import { failureIn } from './errors.ts'
import { argumentsOf, callOf, partOfItem, reasoningOf } from './read-request.ts'

/**
 * Final statuses of a response. The event of a final status, like the first event, contains the response
 * itself.
 */
const ENDS = ['completed', 'incomplete', 'failed', 'cancelled']
const isKnown = (type: string) => type === 'error' || type.startsWith('response.')
const PHASES = ['created', 'queued', 'in_progress', 'done', ...ENDS]

export class ResponsesReader implements StreamReader {
  readonly #items: ItemReader | null
  readonly #parts: AnswerParts | null
  #tokens: Tokens | null = null
  /** Counted uses of the provider's own tools, since some servers omit the items in the final response. */
  readonly #tools: Record<string, number> = {}

  /** `parts`: receives the content for a translation; null if the answer is only relayed. */
  constructor(parts: AnswerParts | null) {
    this.#parts = parts
    this.#items = parts && new ItemReader(parts)
  }

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    if (isEndMark(data)) return END_MARK // xAI ends every stream with this mark
    // Under an unknown name, such as `message`, the type in the data counts. Other content is unknown.
    if (name !== '' && !isKnown(name) && !isKnown(event.type())) return EMPTY_EVENT
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    const type = typeof json.type === 'string' ? json.type : name
    if (type === 'error') return { ...EMPTY_EVENT, error: failureIn(json), complete: true }
    const phase = type.slice('response.'.length)
    if (PHASES.includes(phase) && isObject(json.response)) {
      const exact = this.#parts ? (member(event.exactJson(), 'response') as Json) : json.response
      const status = textOf(json.response.status)
      const isOver = phase === 'done' || ENDS.includes(phase)
      const end = ENDS.includes(status) ? status : phase === 'done' ? 'completed' : phase
      return this.#withTools(this.#response(json.response, exact, isOver ? end : null))
    }
    this.#items?.read(type, event.exactJson() as Json)
    if (type.endsWith('.delta') && typeof json.delta === 'string') return { ...EMPTY_EVENT, text: json.delta }
    if (type === 'response.output_item.done') this.#count(toolOf(json.item))
    if (type === 'response.output_item.added')
      return { ...EMPTY_EVENT, text: textOf(member(json.item, 'name')) }
    // Other servers send `{"error": {…}}`, as OpenAI does before a stream begins.
    return json.type === undefined && json.error != null
      ? { ...EMPTY_EVENT, error: failureIn(json), complete: true }
      : EMPTY_EVENT
  }

  /**
   * Reads a whole response. `exact`: the same with the digits of its numbers, for a translation. A background response
   * also counts as an answer, even if unfinished.
   */
  answer(json: Json, exact: Json): ParsedEvent {
    const status = textOf(json.status)
    return this.#response(json, exact, ENDS.includes(status) ? status : null)
  }

  #count(tool: string | null): void {
    if (tool !== null) this.#tools[tool] = (this.#tools[tool] ?? 0) + 1
  }

  #withTools(parsed: ParsedEvent): ParsedEvent {
    const { tokens } = parsed
    if (!tokens || tokens.served?.tools || Object.keys(this.#tools).length === 0) return parsed
    return { ...parsed, tokens: { ...tokens, served: mergeServed(tokens.served, { tools: this.#tools }) } }
  }

  /** `end`: the final status, by the event; null if the response goes on. */
  #response(response: Json, exact: Json, end: string | null): ParsedEvent {
    const { id, model, usage, error, store, output, incomplete_details: incomplete } = response
    const isOver = end !== null
    const stop = stopOf(end, member(incomplete, 'reason'))
    if (isObject(usage)) this.#tokens = mergeTokens(this.#tokens, tokensOf(usage, response))
    if (isOver) this.#items?.again(listOrEmpty(exact.output))
    if (stop !== null) this.#parts?.stop(stop)
    if (isOver && isUnknownStop(member(incomplete, 'reason'))) this.#parts?.losses.add('stop_reason')
    return {
      ...EMPTY_EVENT,
      finished: isOver,
      complete: isOver,
      unusual: isOver && stop !== 'end' && stopIn(member(incomplete, 'reason')) !== 'length',
      model: typeof model === 'string' ? model : null,
      tokens: isObject(usage) ? this.#tokens : null,
      error: end === 'failed' || (end === 'cancelled' && this.#parts) ? failureOf(error, end) : null,
      // Only stored responses can be continued.
      ...(typeof id === 'string' && store !== false && { responseId: id }),
      ...(isOver && containerIn(output)),
    }
  }
}

/** Returns why a response ended; null if it has not, or failed. Some servers give no reason for an incomplete one. */
function stopOf(status: string | null, reason: unknown): Stop | null {
  if (status === 'completed') return 'end'
  return status === 'incomplete' ? (stopIn(reason) ?? 'length') : null
}

/** An item of the output, with the keys of its parts. */
interface Item {
  readonly type: string
  /** Its `output_index`, if an event told it. */
  readonly index: unknown
  readonly id: string
  readonly callId: string
  /** Key of the thought or call; of a message, the prefix of the keys of its texts. */
  readonly key: string
  /** Texts of a message by their index. */
  readonly texts: Set<string>
  /** Source of a thought's text: the summary or the content, whichever arrives first. */
  source: 'summary' | 'content' | null
  sections: number
  /** True once something of it has been passed on. */
  hasContent: boolean
  isDone: boolean
}

/** Finds the items that events are about, and passes their content on. */
class ItemReader {
  readonly #parts: AnswerParts
  readonly #items: Item[] = []
  /** Items by their index, id and the id of their call; null for a value that several items have. */
  readonly #byIndex = new Map<unknown, Item | null>()
  readonly #byId = new Map<string, Item | null>()
  readonly #byCall = new Map<string, Item | null>()

  constructor(parts: AnswerParts) {
    this.#parts = parts
  }

  read(type: string, json: Json): void {
    const delta = textOf(json.delta)
    switch (type) {
      case 'response.output_item.added':
        this.#begin(json, json.item, true)
        return
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#text(json, delta, false)
        return
      case 'response.output_text.done':
        this.#text(json, textOf(json.text), true)
        return
      case 'response.refusal.done':
        this.#text(json, textOf(json.refusal), true)
        return
      case 'response.content_part.done':
        this.#part(json, json.part)
        return
      case 'response.output_text.annotation.added':
        this.#parts.losses.add('citations')
        return
      case 'response.reasoning_summary_part.added':
      case 'response.reasoning_part.added':
        this.#section(json)
        return
      case 'response.reasoning_summary_text.delta':
        this.#thought(json, 'summary', delta)
        return
      case 'response.reasoning_text.delta':
        this.#thought(json, 'content', delta)
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#arguments(json, delta, false)
        return
      case 'response.function_call_arguments.done':
        this.#arguments(json, argumentsOf(json.arguments), true)
        return
      case 'response.custom_tool_call_input.done':
        this.#arguments(json, textOf(json.input), true)
        return
      case 'response.output_item.done':
        this.#finish(json, json.item)
    }
  }

  /** Reads the items of the last response, of which events may have come before. Each is another item. */
  again(output: readonly unknown[]): void {
    const taken = new Set<Item>()
    for (const [index, raw] of output.entries()) {
      if (!isObject(raw)) continue
      const alike = [
        this.#byId.get(textOf(raw.id)),
        this.#byCall.get(textOf(raw.call_id)),
        this.#alike(index, raw),
      ]
      const found = alike.find((item) => item && !taken.has(item))
      const item = found ?? this.#new({ output_index: `last ${index}` }, raw)
      taken.add(item)
      this.#rest(item, raw)
      if (!found) item.isDone = true
    }
  }

  /** Returns the item of the same type at an index, for servers that name items differently each time. */
  #alike(index: number, { type }: Json): Item | undefined {
    const item = this.#byIndex.get(index) ?? this.#items[index]
    return item?.type === textOf(type ?? 'message') ? item : undefined
  }

  /** Returns the item that an event is about, by its index, else its id; null if neither tells. */
  #known({ output_index: index, item_id: id }: Json): Item | null {
    return this.#byIndex.get(index) ?? this.#byId.get(textOf(id)) ?? null
  }

  /** Returns the item that an event is about, by default the last one; a new one if that is of another type. */
  #item(json: Json, type: string): Item {
    const isNamed = json.output_index !== undefined || textOf(json.item_id) !== ''
    const item = this.#known(json) ?? (isNamed ? null : this.#items.at(-1))
    return item && (item.type === type || type === '') ? item : this.#new(json, { type })
  }

  #new({ output_index: index, item_id }: Json, raw: Json): Item {
    const id = textOf(raw.id) || textOf(item_id)
    const item: Item = {
      type: textOf(raw.type ?? 'message'),
      index,
      id,
      callId: textOf(raw.call_id),
      key: `${this.#items.length}`,
      texts: new Set(),
      source: null,
      sections: 0,
      hasContent: false,
      isDone: false,
    }
    this.#items.push(item)
    if (index !== undefined) this.#byIndex.set(index, this.#byIndex.has(index) ? null : item)
    if (id !== '') this.#byId.set(id, this.#byId.has(id) ? null : item)
    if (item.callId !== '') this.#byCall.set(item.callId, this.#byCall.has(item.callId) ? null : item)
    return item
  }

  /** Begins an item, unless an event of it came before. `isAdded`: an item at another index is another one. */
  #begin(json: Json, raw: unknown, isAdded = false): Item | null {
    if (!isObject(raw)) return null
    const known = this.#known({ output_index: json.output_index, item_id: raw.id })
    const isOther =
      known === null ||
      known.type !== textOf(raw.type ?? 'message') ||
      (isAdded && isElsewhere(known.index, json.output_index)) ||
      (known.callId !== '' && textOf(raw.call_id) !== '' && known.callId !== raw.call_id)
    const item = isOther ? this.#new(json, raw) : known
    const call = callOf(raw)
    if (call) this.#parts.call(item.key, call)
    return item
  }

  #text(json: Json, text: string, isWhole: boolean): void {
    const item = this.#item(json, 'message')
    this.#textAt(item, json.content_index ?? 0, text, isWhole)
  }

  #textAt(item: Item, index: unknown, text: string, isWhole: boolean): void {
    if (text === '') return
    let key = `${item.key} ${index}`
    // Some servers number the parts differently each time.
    if (isWhole && !item.texts.has(key) && item.texts.size === 1) {
      const [only] = item.texts as Set<string>
      const before = this.#parts.textOf(only!)
      if (before.length <= text.length && text.startsWith(before)) key = only!
    }
    item.texts.add(key)
    item.hasContent = true
    this.#parts.begin(key, 'text')
    if (isWhole) this.#parts.rest(key, text)
    else this.#parts.add(key, text)
  }

  #part(json: Json, raw: unknown): void {
    const text =
      member(raw, 'type') === 'reasoning_text'
        ? ''
        : textOf(member(raw, 'text')) || textOf(member(raw, 'refusal'))
    if (text !== '') this.#text(json, text, true)
    const item = this.#known(json)
    if (item) this.#parts.end(`${item.key} ${json.content_index ?? 0}`)
  }

  /** Separates parts of a summary by an empty line. */
  #section(json: Json): void {
    const item = this.#item(json, 'reasoning')
    if (item.sections++ > 0 && item.hasContent) this.#parts.add(item.key, '\n\n')
  }

  #thought(json: Json, source: 'summary' | 'content', text: string): void {
    const item = this.#item(json, 'reasoning')
    this.#parts.begin(item.key, 'reasoning')
    item.source ??= source
    if (item.source !== source || text === '') return
    item.hasContent = true
    this.#parts.add(item.key, text)
  }

  #arguments(json: Json, args: string, isWhole: boolean): void {
    const item = this.#item(json, '')
    item.hasContent ||= args !== ''
    if (isWhole) this.#parts.rest(item.key, args)
    else if (!this.#parts.add(item.key, args)) this.#parts.losses.add('unknown.block')
  }

  #finish(json: Json, raw: unknown): void {
    const item = this.#begin(json, raw)
    if (!item) return
    this.#rest(item, raw as Json)
    item.isDone = true
  }

  /** Adds what is missing of an item that is given as a whole, and ends it. */
  #rest(item: Item, raw: Json): void {
    const { losses, peer } = this.#parts
    if (item.isDone && item.type !== 'message' && item.hasContent) return
    const call = callOf(raw)
    if (call) {
      this.#parts.call(item.key, call)
      this.#parts.rest(item.key, call.args)
      item.hasContent ||= call.args !== ''
      if (item.isDone || item.hasContent) this.#parts.end(item.key)
    } else if (raw.type === 'reasoning') {
      const { text, opaque } = reasoningOf(raw, peer.family)
      this.#parts.begin(item.key, 'reasoning')
      if (!item.hasContent) this.#parts.add(item.key, text)
      item.hasContent ||= text !== ''
      if (opaque) this.#parts.seal(item.key, opaque)
      this.#parts.end(item.key)
    } else if (item.type !== 'message' && (item.isDone || item.hasContent)) return
    else
      for (const [at, block] of partOfItem(raw, losses, peer.family).blocks.entries())
        if (block.type === 'text') this.#textAt(item, at, block.text, true)
        else if (!item.isDone) this.#parts.whole(block)
    for (const key of item.texts) this.#parts.end(key)
  }
}

/** Returns true if both indexes are given and differ. */
const isElsewhere = (known: unknown, given: unknown) =>
  known !== undefined && given !== undefined && known !== given

/** A stream with only an end mark has no answer, so it has not begun. */
const END_MARK: ParsedEvent = { ...EMPTY_EVENT, done: true, opens: false }

/** Returns the container in which a code interpreter or a shell ran. */
function containerIn(output: unknown): { containerId?: string } {
  for (const item of listOrEmpty(output)) {
    const id = member(item, 'container_id') ?? member(member(item, 'environment'), 'container_id')
    if (typeof id === 'string') return { containerId: id }
  }
  return {}
}

const failureOf = (error: unknown, status: string): ProviderError =>
  isObject(error)
    ? failureIn(error)
    : {
        message: status === 'failed' ? 'The response failed.' : 'The response was cancelled.',
        code: null,
        status: null,
      }

function tokensOf(usage: Json, response: Json): Tokens {
  const { input_tokens_details: input, output_tokens_details: output } = usage
  const counts = {
    input: tokenCount(usage.input_tokens) ?? tokenCount(usage.prompt_tokens),
    output: tokenCount(usage.output_tokens) ?? tokenCount(usage.completion_tokens),
    cached: tokenCount(member(input, 'cached_tokens')),
    reasoning: tokenCount(member(output, 'reasoning_tokens')),
  }
  return openAiTokens(usage, response, counts, [input, output])
}
