// Reads Gemini's answers, whole or event by event: once, for the record and for a translation. Each event is an answer
// with the next parts. Format: Gemini API reference, "GenerateContentResponse"; what servers send besides is in
// deviations/gemini.
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../../core/call.ts'
import { label, type Served } from '../../core/served.ts'
import type { AnswerParts } from '../answer-parts.ts'
import { type Block, mayHoldCarriers, type Opaque } from '../blocks.ts'
import type { StreamReader } from '../dialect.ts'
import { isObject, type Json, listOrEmpty, member, tokenCount } from '../json.ts'
import { mergeTokens, positive, servedIn, unknownIn } from '../served.ts'
import { isUnknownStop, stopIn } from '../stops.ts'
import { isEndMark, type StreamEvent } from '../stream-event.ts'
import { newCallId, originalId } from '../tools.ts'
import { errorIn } from './errors.ts'
import { partsOf, ToolCalls } from './read-request.ts'

export class GeminiReader implements StreamReader {
  readonly #parts: AnswerParts | null
  #tokens: Tokens | null = null
  /** Text of thoughts that have no signature yet. */
  #thought = ''
  #calls = 0

  /** `parts`: receives the content for a translation; null if the answer is only relayed. */
  constructor(parts: AnswerParts | null) {
    this.#parts = parts
  }

  read(event: StreamEvent): ParsedEvent {
    const { data } = event
    if (isEndMark(data)) return END_MARK // some relays add it
    const json = event.json()
    if (!isObject(json)) {
      const error = errorIn(json)
      if (error === null) throw new Error('not a JSON object')
      return { ...EMPTY_EVENT, error }
    }
    if (json.error == null)
      return this.answer(json, this.#parts ? (event.exactJson() as Json) : json, mayHoldCarriers(data))
    const unworded = { message: JSON.stringify(json.error), code: null, status: null }
    return { ...EMPTY_EVENT, error: errorIn(json) ?? unworded }
  }

  /**
   * Reads an event or a whole answer. `exact`: the same with the digits of its numbers, for a translation. `repeats`:
   * reasoning packed by another gateway may repeat the text of thoughts.
   */
  answer(json: Json, exact: Json, repeats = false): ParsedEvent {
    // Code Assist puts each answer into a member.
    if (isObject(json.response)) return this.answer(json.response, exact.response as Json, repeats)
    const { promptFeedback, usageMetadata, modelVersion } = json
    const candidates = listOrEmpty(json.candidates)
    if (isObject(usageMetadata)) this.#tokens = mergeTokens(this.#tokens, tokensOf(usageMetadata))
    const isBlocked = member(promptFeedback, 'blockReason') != null // no candidate follows
    if (this.#parts) this.#content(exact, isBlocked, repeats, this.#parts)
    const parsed: Mutable<ParsedEvent> = {
      ...EMPTY_EVENT,
      finished: isBlocked,
      unusual: isBlocked,
      model: typeof modelVersion === 'string' ? modelVersion : null,
      tokens: isObject(usageMetadata) ? this.#tokens : null,
    }
    for (const candidate of candidates) {
      parsed.text += textOf(member(candidate, 'content'))
      const reason = member(candidate, 'finishReason')
      if (reason == null) continue
      const isUnknown = isUnknownStop(reason)
      const stop = stopIn(reason)
      parsed.finished ||= stop !== null || isUnknown
      parsed.unusual ||= stop === 'refusal' || isUnknown
    }
    return parsed
  }

  #content(json: Json, isBlocked: boolean, repeats: boolean, parts: AnswerParts): void {
    const candidates = listOrEmpty(json.candidates)
    if (candidates.length > 1) parts.losses.add('n')
    const candidate = candidates.find((each) => (member(each, 'index') ?? 0) === 0)
    for (const block of blocksOf(candidate, parts)) {
      if (block.type === 'reasoning') this.#think(block.text, block.opaque, repeats, parts)
      else {
        this.#thought = ''
        this.#block(block, parts)
      }
    }
    const reason = member(candidate, 'finishReason')
    const stop = isBlocked ? 'refusal' : stopIn(reason)
    if (stop !== null) parts.stop(stop)
    else if (isUnknownStop(reason)) parts.stopUnknown(reason)
  }

  #block(block: Block, parts: AnswerParts): void {
    if (block.type === 'text') parts.flow('text', block.text)
    else if (block.type === 'call') {
      const key = `call ${this.#calls++}`
      parts.call(key, block)
      parts.add(key, block.args)
      parts.end(key)
    } else parts.whole(block)
  }

  /** A signature on a thought ends the thought. Any other signature is a separate block. */
  #think(piece: string, opaque: Opaque | null, repeats: boolean, parts: AnswerParts): void {
    const bytes = opaque?.bytes ?? ''
    const isRepeated = repeats && piece !== '' && this.#thought.startsWith(piece)
    if (isRepeated) this.#thought = this.#thought.slice(piece.length)
    else {
      if (bytes === '') this.#thought += piece
      if (piece === '' && bytes !== '') parts.endFlow()
      parts.flow('reasoning', piece)
    }
    if (!opaque || (bytes === '' && piece === '')) return
    parts.flowSeal(opaque)
    if (bytes !== '') parts.endFlow()
  }
}

const END_MARK: ParsedEvent = { ...EMPTY_EVENT, done: true, opens: false }

/** Returns the parts of a candidate. Content that exists only in Gemini is reported as lost. */
function blocksOf(candidate: unknown, { peer, losses }: AnswerParts): Block[] {
  losses.of(member(candidate, 'groundingMetadata'), 'citations')
  losses.of(member(candidate, 'citationMetadata'), 'citations')
  losses.of(member(candidate, 'logprobsResult'), 'logprobs')
  return partsOf(member(candidate, 'content'), new NewCalls(), losses, peer.family)
}

/** Most models send calls without ids. */
class NewCalls extends ToolCalls {
  override called(id: unknown): string {
    return typeof id === 'string' && id !== '' ? originalId(id) : newCallId()
  }
}

/** Returns the text of a candidate's parts, including thoughts and arguments of calls. */
function textOf(content: unknown): string {
  const parts = member(content, 'parts')
  if (!Array.isArray(parts)) return ''
  return parts
    .map((part) => {
      const { text, functionCall: call, executableCode: code } = isObject(part) ? part : {}
      if (typeof text === 'string') return text
      if (isObject(call)) return `${call.name}${JSON.stringify(call.args ?? {})}`
      const written = member(code, 'code')
      return typeof written === 'string' ? written : ''
    })
    .join('')
}

/**
 * Parses Google's `usageMetadata`. The candidates' count excludes thoughts, and the prompt's count excludes
 * the input of Google's own tools. Google omits zeros. The rest of the total is output, with a doubt if there is an output
 * count too.
 */
export function tokensOf(usage: Json): Tokens {
  const [prompt, toolPrompt, candidates, thoughts, total] = [
    usage.promptTokenCount,
    usage.toolUsePromptTokenCount,
    usage.candidatesTokenCount,
    usage.thoughtsTokenCount,
    usage.totalTokenCount,
  ].map(tokenCount)
  const input = prompt == null ? null : prompt + (toolPrompt ?? 0)
  const written = candidates == null && thoughts == null ? null : (candidates ?? 0) + (thoughts ?? 0)
  const rest = input !== null && total != null && total >= input ? total - input : null
  const isOff = written !== null && rest !== null && rest > written
  return {
    source: 'reported',
    input,
    output: isOff ? rest : (written ?? rest),
    cached_input: tokenCount(usage.cachedContentTokenCount),
    cache_write: null,
    reasoning: thoughts ?? null,
    ...servedOf(usage, isOff),
  }
}

const KNOWN: ReadonlySet<string> = new Set([
  ...['promptTokenCount', 'toolUsePromptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount'],
  ...['totalTokenCount', 'cachedContentTokenCount', 'trafficType', 'initialPromptTokenCount', 'serviceTier'],
  ...['promptTokensDetails', 'cacheTokensDetails', 'candidatesTokensDetails', 'toolUsePromptTokensDetails'],
  ...['promptTokenDetails', 'thoughtsTokensDetails'],
])

/** Kinds of tokens that have a price: as text, or one of their own. */
const MODALITIES = ['MODALITY_UNSPECIFIED', 'TEXT', 'IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT']

/** Returns true for a list of tokens by kind with an unknown kind. */
const hasUnknownKind = (details: unknown): boolean =>
  listOrEmpty(details).some((each) => {
    const kind = member(each, 'modality')
    return kind != null && !MODALITIES.includes(kind as string) && !!member(each, 'tokenCount')
  })

/** Parses the details that Google adds to the counts: the traffic type (Vertex AI) and tokens by modality. */
function servedOf(usage: Json, isOff: boolean): { served?: Served } {
  const of = (modality: string, ...lists: unknown[]) =>
    lists
      .flatMap(listOrEmpty)
      .filter((each) => member(each, 'modality') === modality)
      .reduce((sum: number, each) => sum + (tokenCount(member(each, 'tokenCount')) ?? 0), 0)
  const { promptTokensDetails: prompt, toolUsePromptTokensDetails: tools } = usage
  const { cacheTokensDetails: cached, candidatesTokensDetails: written } = usage
  const isMixed = prompt !== undefined || written !== undefined || tools !== undefined
  const served = servedIn(
    {
      service_tier: label(usage.serviceTier) ?? label(usage.trafficType),
      kinds: isMixed
        ? positive({
            input_audio: of('AUDIO', prompt, tools),
            cached_audio: of('AUDIO', cached),
            output_audio: of('AUDIO', written),
            input_image: of('IMAGE', prompt, tools),
            cached_image: of('IMAGE', cached),
            output_image: of('IMAGE', written),
            input_video: of('VIDEO', prompt, tools),
            output_video: of('VIDEO', written),
          })
        : undefined,
    },
    unknownIn(usage, KNOWN),
    Object.values(usage).some(hasUnknownKind) ? { doubts: ['unknown_usage'] } : {},
    isOff ? { doubts: ['counts'] } : {},
  )
  return served ? { served } : {}
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
