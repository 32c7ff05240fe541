// Reads interactions, whole or event by event: once, for the record and for a translation. Format: Gemini API reference,
// "Interactions" and "Streaming interactions". An event names its step by `index`; signatures of thoughts come as deltas.
import { EMPTY_EVENT, type ParsedEvent, type ProviderError, type Tokens } from '../../core/call.ts'
import type { AnswerParts } from '../answer-parts.ts'
import type { StreamReader } from '../dialect.ts'
import { tokensOf as geminiTokens } from '../gemini/read-answer.ts'
import { errorCode, isObject, type Json, listOrEmpty, member, textOf, tokenCount } from '../json.ts'
import { errorIn } from '../openai.ts'
import { mergeTokens } from '../served.ts'
import { stopIn } from '../stops.ts'
import { isEndMark, type StreamEvent } from '../stream-event.ts'
import { blocksOfStep, contentBlock, thoughtOf } from './read-request.ts'

/** Statuses of an interaction that goes on. */
const RUNNING = new Set<unknown>(['in_progress', 'queued'])

/** A step of a stream whose content is being received for a translation. */
interface OpenStep {
  /** Key of its call or thought. Indexes may be used again. */
  readonly key: string
  readonly type: string
  /** Number of contents before the present one. Each text has a key of its own. */
  contents: number
}

export class InteractionReader implements StreamReader {
  readonly #parts: AnswerParts | null
  readonly #steps = new Map<unknown, OpenStep>()
  #tokens: Tokens | null = null
  /** Number of steps that were read. The last event adds its steps only if there were none. */
  #read = 0
  #opened = 0

  /** `parts`: receives the content for a translation; null if the answer is only relayed. */
  constructor(parts: AnswerParts | null) {
    this.#parts = parts
  }

  read(event: StreamEvent): ParsedEvent {
    if (isEndMark(event.data)) return END_MARK
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    const exact = this.#parts ? (event.exactJson() as Json) : json
    const type = textOf(json.event_type) || event.name
    const interaction = json.interaction
    this.#count(json.usage ?? json.step_usage ?? member(json.metadata, 'total_usage'), type === 'step.stop')
    if (isObject(interaction)) return this.#state(interaction, exact.interaction as Json)
    switch (type) {
      case 'step.start':
        return this.#started(json.index, json.step, exact.step)
      case 'content.start':
        return this.#started(json.index, stepOfContent(json.content), stepOfContent(exact.content))
      case 'step.delta':
      case 'content.delta':
        return this.#piece(json.index, json.delta, exact.delta)
      case 'step.stop':
      case 'content.stop':
        this.#stopped(json.index)
        return this.#parsed({})
      case 'interaction.status_update':
        return this.#parsed({ ...this.#ended(json.status, json) })
      case 'error':
        return this.#parsed({ error: failureIn(json.error) })
      default:
        return isObject(json.error) ? this.#parsed({ error: failureIn(json.error) }) : this.#parsed({})
    }
  }

  /** Reads a whole interaction. `exact`: the same with the digits of its numbers, for a translation. */
  answer(json: Json, exact: Json): ParsedEvent {
    return this.#state(json, exact)
  }

  /** Usage of a single step is no sum, and the last event has the sum. */
  #count(usage: unknown, isStep: boolean, service_tier?: unknown): void {
    if (isObject(usage) && !isStep)
      this.#tokens = mergeTokens(this.#tokens, tokensOf({ service_tier, ...usage }))
  }

  #parsed(more: Partial<ParsedEvent>): ParsedEvent {
    return { ...EMPTY_EVENT, tokens: this.#tokens, ...more }
  }

  /** Reads an interaction as far as it is known: at the start of a stream, at its end, or whole. */
  #state(json: Json, exact: Json): ParsedEvent {
    this.#count(json.usage, false, json.service_tier)
    const { model, agent, id } = json
    const steps = stepsOf(json)
    const isKnown = this.#read > 0
    const text = isKnown ? '' : steps.map(writtenIn).join('')
    if (!isKnown)
      for (const [at, step] of stepsOf(exact).entries()) if (isAnswers(step)) this.#whole(at, step as Json)
    const name = textOf(model) || textOf(agent)
    return this.#parsed({
      ...this.#ended(json.status, json),
      text,
      model: name === '' ? null : name,
      ...(textOf(id) !== '' && { responseId: textOf(id) }),
    })
  }

  #whole(at: number, step: Json): void {
    const parts = this.#parts
    if (!parts) return
    const key = `whole ${at}`
    for (const [n, block] of blocksOfStep(step, parts.peer.family, parts.losses).entries()) {
      const own = `${key} ${n}`
      if (block.type === 'text' || block.type === 'reasoning') {
        parts.begin(own, block.type)
        parts.add(own, block.text)
        if (block.type === 'reasoning' && block.opaque && block.opaque.bytes !== '')
          parts.seal(own, block.opaque)
        parts.end(own)
      } else if (block.type === 'call') {
        parts.call(own, block)
        parts.add(own, block.args)
        parts.end(own)
      } else parts.whole(block)
    }
  }

  /** Returns what a status says about the end. */
  #ended(status: unknown, { errors, error, steps }: Json): Partial<ParsedEvent> {
    if (status === undefined || RUNNING.has(status)) return {}
    const failure =
      error ??
      listOrEmpty(errors)[0] ??
      listOrEmpty(steps)
        .map((step) => member(step, 'error'))
        .find(isObject)
    switch (status) {
      case 'completed':
        this.#parts?.stop('end')
        return { finished: true, unusual: isObject(failure) }
      case 'requires_action':
        this.#parts?.stop('calls')
        return { finished: true }
      case 'incomplete':
      case 'budget_exceeded': {
        const isRefused = stopIn(member(failure, 'code')) === 'refusal'
        this.#parts?.stop(isRefused ? 'refusal' : 'length')
        return { finished: true, unusual: isRefused }
      }
      case 'requires_continuation':
        this.#parts?.stop('pause')
        return { finished: true }
      case 'failed':
      case 'cancelled':
        return {
          error: isObject(failure)
            ? failureIn(failure)
            : { message: `The interaction was ${status}.`, code: null, status: null },
        }
      default:
        if (typeof status === 'string') this.#parts?.stopUnknown(status)
        return { finished: true, unusual: true }
    }
  }

  #started(index: unknown, raw: unknown, exact: unknown): ParsedEvent {
    const step = isObject(raw) ? raw : {}
    if (isAnswers(step)) this.#read++
    if (this.#parts && isObject(exact)) this.#open(index, exact, this.#parts)
    return this.#parsed({ text: writtenIn(step) })
  }

  #open(index: unknown, exact: Json, parts: AnswerParts): void {
    const step = this.#new(index, textOf(exact.type))
    if (step.type === 'function_call') {
      callIn(step, exact, parts)
    } else if (step.type === 'thought') think(step, exact, parts)
    else if (step.type === 'model_output')
      for (const content of listOrEmpty(exact.content)) take(step, content, parts)
    else if (isAnswers(exact))
      for (const block of blocksOfStep(exact, parts.peer.family, parts.losses)) parts.whole(block)
  }

  #new(index: unknown, type: string): OpenStep {
    const step = { key: `step ${this.#opened++}`, type, contents: 0 }
    this.#steps.set(index, step)
    return step
  }

  #piece(index: unknown, raw: unknown, exact: unknown): ParsedEvent {
    const delta = isObject(raw) ? raw : {}
    if (this.#read === 0) this.#read++
    if (this.#parts && isObject(exact)) this.#add(index, exact, this.#parts)
    return this.#parsed({ text: writtenIn(delta) })
  }

  #add(index: unknown, delta: Json, parts: AnswerParts): void {
    const { type } = delta
    // Some servers omit the start of a step.
    const step = this.#steps.get(index) ?? this.#new(index, stepOf(type))
    if (type === 'arguments_delta') {
      if (!parts.add(step.key, argumentsIn(delta.arguments))) parts.losses.add('unknown.block')
    } else if (type === 'function_call') callIn(step, delta, parts)
    else if (type === 'thought_summary' || type === 'thought_signature')
      think(step, { summary: delta.content ?? delta.text, signature: delta.signature }, parts)
    else if (type === 'text_annotation_delta' || type === 'text_annotation')
      parts.losses.of(listOrEmpty(delta.annotations)[0], 'citations')
    else if (step.type === 'model_output') take(step, delta, parts)
  }

  #stopped(index: unknown): void {
    const step = this.#steps.get(index)
    if (!step) return
    this.#parts!.end(step.key)
    this.#parts!.end(textKey(step))
    this.#steps.delete(index)
  }
}

const textKey = ({ key, contents }: OpenStep): string => `${key} ${contents}`

/** Begins a call, or continues it: a version of the API before steps gives a call in a delta. */
function callIn({ key }: OpenStep, { id, name, arguments: args }: Json, parts: AnswerParts): void {
  parts.call(key, { id: textOf(id), name: textOf(name), kind: 'function' })
  if (isObject(args) && Object.keys(args).length > 0) parts.add(key, JSON.stringify(args))
}

function think({ key }: OpenStep, step: Json, parts: AnswerParts): void {
  const thought = thoughtOf(step, parts.peer.family)
  parts.begin(key, 'reasoning')
  if (!thought) return
  if (thought.text !== '') parts.add(key, thought.text)
  if (thought.opaque && thought.opaque.bytes !== '') parts.seal(key, thought.opaque)
}

/** Adds a content of the model's output. One that is no text ends the text before it. */
function take(step: OpenStep, content: unknown, parts: AnswerParts): void {
  const block = contentBlock(content, parts.losses)
  if (block.type === 'text') {
    parts.begin(textKey(step), 'text')
    parts.add(textKey(step), block.text)
    return
  }
  parts.end(textKey(step))
  step.contents++
  parts.whole(block)
}

const END_MARK: ParsedEvent = { ...EMPTY_EVENT, done: true, opens: false }

const CONTENTS = new Set<unknown>(['text', 'image', 'audio', 'video', 'document'])

/** Returns the step of a content. The version before May 2026 had contents, which some gateways still send. */
const stepOfContent = (content: unknown): unknown =>
  CONTENTS.has(member(content, 'type')) ? { type: 'model_output', content: [content] } : content

const stepsOf = ({ steps, outputs }: Json): readonly unknown[] =>
  Array.isArray(steps) ? steps : listOrEmpty(outputs).map(stepOfContent)

/** Returns true for a step of the answer: a whole interaction may repeat its input. */
const isAnswers = (step: unknown): boolean => {
  const type = member(step, 'type')
  return type !== 'user_input' && type !== 'function_result'
}

const stepOf = (delta: unknown): string =>
  delta === 'arguments_delta' || delta === 'function_call'
    ? 'function_call'
    : String(delta).startsWith('thought')
      ? 'thought'
      : 'model_output'

const argumentsIn = (args: unknown): string => (isObject(args) ? JSON.stringify(args) : textOf(args))

/** Returns the text of a step or a delta, including thoughts and arguments of calls. */
function writtenIn(step: unknown): string {
  if (!isAnswers(step)) return ''
  const { text, name, arguments: args, content, summary } = isObject(step) ? step : {}
  const texts = [content, summary]
    .flatMap((list) => (Array.isArray(list) ? list : [list]))
    .map((each) => textOf(member(each, 'text')))
  return [textOf(text), textOf(name), argumentsIn(args), ...texts].join('')
}

/** Reads the error of an interaction or of an event. */
export function failureIn(error: unknown): ProviderError {
  const { message, code } = isObject(error) ? error : {}
  const unworded = JSON.stringify(error ?? null)
  const known = errorIn({ error }) ?? { message: unworded, code: null, status: null }
  return typeof message === 'string' && typeof code === 'string'
    ? { message, code: errorCode(code), status: STATUSES[code] ?? null }
    : known
}

/** Statuses for error codes inside a 200. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request: 400,
  not_found: 404,
  permission_denied: 403,
  resource_exhausted: 429,
  rate_limit_exceeded: 429,
  internal: 500,
  unavailable: 503,
  deadline_exceeded: 504,
}

/** Members of the usage by their names in `usageMetadata` of Gemini, which counts the same way. */
const NAMES: Readonly<Record<string, string>> = {
  total_input_tokens: 'promptTokenCount',
  total_tool_use_tokens: 'toolUsePromptTokenCount',
  total_output_tokens: 'candidatesTokenCount',
  total_thought_tokens: 'thoughtsTokenCount',
  /** The name in the preview. */
  total_reasoning_tokens: 'thoughtsTokenCount',
  total_tokens: 'totalTokenCount',
  total_cached_tokens: 'cachedContentTokenCount',
  initial_input_tokens: 'initialPromptTokenCount',
  service_tier: 'serviceTier',
  input_tokens_by_modality: 'promptTokensDetails',
  output_tokens_by_modality: 'candidatesTokensDetails',
  cached_tokens_by_modality: 'cacheTokensDetails',
  tool_use_tokens_by_modality: 'toolUsePromptTokensDetails',
}

/** Reads a usage of Google's Interactions or Decisions. */
export function tokensOf({ grounding_tool_count, ...usage }: Json): Tokens {
  const tokens = geminiTokens(
    Object.fromEntries(
      Object.entries(usage).map(([name, value]) => [
        NAMES[name] ?? name,
        name in NAMES && Array.isArray(value) ? value.map(detailOf) : value,
      ]),
    ),
  )
  const uses: Record<string, number> = {}
  for (const each of listOrEmpty(grounding_tool_count)) {
    const [type, count] = [textOf(member(each, 'type')), tokenCount(member(each, 'count'))]
    if (type !== '' && count) uses[type] = (uses[type] ?? 0) + count
  }
  return Object.keys(uses).length === 0 ? tokens : { ...tokens, served: { ...tokens.served, tools: uses } }
}

const detailOf = (detail: unknown) => ({
  modality: textOf(member(detail, 'modality')).toUpperCase() || null,
  tokenCount: member(detail, 'tokens'),
})
