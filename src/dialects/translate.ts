// Connects a client of one dialect to a provider of another. Translates the request and the answer, whole or
// event by event, and collects the losses. The provider's own dialect reads the answer for the record.
// Independent of the particular dialects.
import type { IncomingHttpHeaders } from 'node:http'
import { EMPTY_EVENT, type ParsedEvent, type ProviderError } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { type Loss, Losses } from '../core/losses.ts'
import type { Facts } from '../models/facts.ts'
import { parseExact } from '../shared/exact-json.ts'
import { AnswerParts } from './answer-parts.ts'
import {
  type Block,
  type ClientRequest,
  type Conversation,
  type DialectBlocks,
  NO_SAMPLING,
  type Peer,
  type ReasoningWish,
} from './blocks.ts'
import {
  COMMENT,
  type Dialect,
  type OtherForm,
  type ProviderAccess,
  type ProviderRequest,
  type StreamReader,
  type Translation,
  type UpstreamDialect,
} from './dialect.ts'
import type { Json } from './json.ts'
import { endedBadly, isFailure } from './stops.ts'
import { StreamEvent } from './stream-event.ts'
import { ToolNames, unwrapInput } from './tools.ts'
import { TranslatedStream } from './translate-stream.ts'

/** The provider at the other end of a translation. */
interface PeerProvider extends Pick<Peer, 'family' | 'host'> {
  /** Returns the known facts about one of the provider's models. */
  readonly factsOf: (model: string) => Facts
}

/** A dialect that can be translated. */
export type Translatable = Dialect & { readonly blocks: DialectBlocks }

export const isTranslatable = (dialect: Dialect | undefined): dialect is Translatable =>
  dialect?.blocks !== undefined

/** Returns true if a call in the dialect `from` can be translated for a provider of the dialects `spoken`. */
export const canTranslate =
  (dialects: Readonly<Record<string, Dialect>>) =>
  (from: string, spoken: readonly string[]): boolean =>
    isTranslatable(dialects[from]) && spoken.some((to) => isTranslatable(dialects[to]))

/** Returns the output limit in tokens that a translation sets if the client sends none. */
export const defaultOutput = (
  dialects: Readonly<Record<string, Dialect>>,
  spoken: readonly string[],
): number | undefined => spoken.map((each) => dialects[each]).find(isTranslatable)?.blocks.defaultOutput

/** A provider of several dialects. */
interface SpeakingProvider {
  readonly name: string
  readonly family: string | undefined
  readonly host: string
  /** Returns the known facts about one of the provider's models when called in `dialect`. */
  readonly factsOf: (model: string, dialect: string) => Facts
}

/**
 * Returns the provider side for each client dialect. Dialects that the provider speaks are direct. Other
 * dialects are translated to its first translatable dialect. A request uses a dialect in which the model is served and
 * accepts tools, if this is known.
 */
export function upstreamsOf(
  dialects: Readonly<Record<string, Dialect>>,
  spoken: readonly string[],
  provider: SpeakingProvider,
): Map<string, UpstreamDialect> {
  const upstreams = new Map(spoken.map((each) => [each, withOtherForm(each, dialects, provider)]))
  const translated = spoken.filter((each) => isTranslatable(dialects[each]))
  const wayTo = (to: string) => ({ to: dialects[to] as Translatable, peer: peerIn(to, dialects, provider) })
  for (const [each, from] of Object.entries(dialects)) {
    if (!isTranslatable(from)) continue
    const own = upstreams.get(each)
    const ways = translated.toSorted((a, b) => Number(b === each) - Number(a === each)).map(wayTo)
    const [first] = ways
    if (!first || (own && ways.length === 1)) continue
    const usual = own ?? translating(from, first.to, first.peer)
    upstreams.set(each, { ...usual, translation: choosing(from, ways) })
  }
  return upstreams
}

/** Returns the provider side of a dialect, with answers in the other form if the dialect has blocks. */
function withOtherForm(
  name: string,
  dialects: Readonly<Record<string, Dialect>>,
  provider: SpeakingProvider,
): UpstreamDialect {
  const dialect = dialects[name]!
  if (!isTranslatable(dialect)) return dialect.upstream
  const peer = peerIn(name, dialects, provider)
  return {
    ...dialect.upstream,
    otherForm: (request, model) => new OneTranslation(dialect, dialect, peer).begun(request, model),
  }
}

function peerIn(
  dialect: string,
  dialects: Readonly<Record<string, Dialect>>,
  { name, family, host, factsOf }: SpeakingProvider,
): PeerProvider {
  return {
    family: family ?? dialects[dialect]!.blocks?.family ?? name,
    host,
    factsOf: (model) => factsOf(model, dialect),
  }
}

interface Way {
  readonly to: Translatable
  readonly peer: PeerProvider
}

/** Returns a function that chooses the translation of a request. Null means the client's own dialect. */
function choosing(from: Translatable, ways: readonly Way[]): NonNullable<UpstreamDialect['translation']> {
  const takesTools = ({ to, peer }: Way, model: string, reasoning: ReasoningWish | null) =>
    to.blocks.takesTools?.(peer.factsOf(model), reasoning) ?? true
  return ({ text, ...request }, model) => {
    const serving = ways.filter(
      ({ to, peer }) => peer.factsOf(model).dialects?.includes(to.client.name) ?? true,
    )
    let [way = ways[0]!] = serving
    if (serving.length > 1 && !takesTools(way, model, null)) {
      const { tools, reasoning } = from.blocks.parseRequest(parseExact(text) as Json, request, new Losses())
      if (tools.length > 0) way = serving.find((each) => takesTools(each, model, reasoning)) ?? way
    }
    return way.to === from ? null : new OneTranslation(from, way.to, way.peer)
  }
}

/** Returns the losses in plain text by client dialect, for dialects that need a translation. */
export function plainLosses(
  dialects: Readonly<Record<string, Dialect>>,
  upstreams: ReadonlyMap<string, UpstreamDialect>,
  model: string,
): Record<string, readonly Loss[]> {
  const losses: Record<string, readonly Loss[]> = {}
  for (const [name, upstream] of upstreams) {
    const blocks = dialects[name]?.blocks
    if (!upstream.translation || !blocks) continue
    const peer = { family: '', host: '', model, facts: {}, returnsReasoning: true }
    const text = JSON.stringify(blocks.writeRequest(PLAIN, peer, new Losses()))
    const request = { model, stream: false, text, wantsUsage: true, forwarded: [], query: '' }
    const translation = upstream.translation(request, model)
    if (!translation) continue
    translation.request(request, model, { basePath: '', key: null })
    losses[name] = translation.losses
  }
  return losses
}

const PLAIN: Conversation = {
  turns: [{ role: 'user', blocks: [{ type: 'text', text: 'Where to?' }] }],
  tools: [],
  choice: null,
  parallel: null,
  maxTokens: null,
  stop: [],
  sampling: NO_SAMPLING,
  reasoning: { effort: null, budget: null, on: null },
  format: null,
  user: null,
  extras: [],
}

/** Translates from clients that speak `from` to a provider that speaks `to`. */
export function translating(
  from: Translatable,
  to: Translatable,
  provider: PeerProvider,
): UpstreamDialect & { readonly translation: () => Translation } {
  const make = () => new OneTranslation(from, to, provider)
  return {
    relayedHeaders: NONE,
    request: (request, model, at) => make().request(request, model, at),
    readAnswer: to.upstream.readAnswer,
    openStream: to.upstream.openStream,
    readError: to.upstream.readError,
    tierOf: to.upstream.tierOf,
    translation: make,
  }
}

/** Relayed headers: none, because a provider's headers mean nothing to a client of another dialect. */
const NONE = /^$/

/** Words of any provider's refusal of reasoning from earlier turns. */
const ABOUT_EARLIER_REASONING =
  /signature|encrypted_content|encrypted content|reasoning_content|thinking` blocks/i

class OneTranslation implements Translation, OtherForm {
  readonly relayedHeaders = NONE
  readonly #from: Translatable
  readonly #to: Translatable
  readonly #provider: PeerProvider
  readonly #losses = new Losses()
  #peer!: Peer
  #wantsUsage = false
  #path: string | undefined
  #names!: ToolNames
  #returnedReasoning = false

  constructor(from: Translatable, to: Translatable, provider: PeerProvider) {
    this.#from = from
    this.#to = to
    this.#provider = provider
  }

  /** True for an answer in the client's own dialect, but in another form. */
  get #isOwn(): boolean {
    return this.#from === this.#to
  }

  get losses(): readonly Loss[] {
    return this.#losses.list()
  }

  get tuned() {
    return this.#to.upstream.tuned
  }

  get optional() {
    return this.#to.upstream.optional ?? []
  }

  isTooLong(error: ProviderError): boolean {
    return this.#to.upstream.isTooLong?.(error) ?? false
  }

  lose(loss: Loss): void {
    this.#losses.add(loss)
  }

  /** Prepares for the answer of a request that is not translated. */
  begun({ wantsUsage, path, returnsReasoning }: ClientRequest, model: string): this {
    const { family, host, factsOf } = this.#provider
    this.#wantsUsage = wantsUsage
    this.#path = path
    this.#peer = { family, host, model, facts: factsOf(model), returnsReasoning: returnsReasoning ?? true }
    this.#names = new ToolNames([], this.#to.blocks.tools)
    return this
  }

  otherForm(): this {
    return this
  }

  request(request: ClientRequest, model: string, at: ProviderAccess): ProviderRequest {
    try {
      return this.#translated(request, model, at)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new GatewayError('invalid_request', 'The request is nested too deeply to be translated.')
    }
  }

  #translated(request: ClientRequest, model: string, at: ProviderAccess): ProviderRequest {
    const { stream, text } = request
    const [from, to] = [this.#from.blocks, this.#to.blocks]
    this.begun(request, model)
    const asked = from.parseRequest(parseExact(text) as Json, request, this.#losses)
    this.#returnedReasoning = asked.turns.some(({ blocks }) =>
      blocks.some(({ type }) => type === 'reasoning'),
    )
    this.#names = new ToolNames(asked.tools, to.tools)
    const body = to.writeRequest(this.#names.down(asked, this.#losses), this.#peer, this.#losses)
    if (stream && !to.streamsByPath) body.stream = true
    return this.#to.upstream.request(
      { model, stream, text: JSON.stringify(body), wantsUsage: false, forwarded: [], query: '' },
      model,
      at,
    )
  }

  readAnswer(text: string): ParsedEvent {
    const parts = new AnswerParts(this.#peer, this.#losses)
    return this.#whole(this.#to.upstream.readAnswer(text, parts), parts)
  }

  openStream(): TranslatedStream {
    const parts = new AnswerParts(this.#peer, this.#losses)
    return this.#stream(this.#to.upstream.openStream(parts), parts)
  }

  asStream(text: string): ParsedEvent {
    const parts = new AnswerParts(this.#peer, this.#losses)
    const read = () => {
      const parsed = this.#to.upstream.readAnswer(text, parts)
      if (parts.ended !== null || parts.unknownStop !== null) return parsed
      parts.stop('end') // a whole answer needs no reason
      return { ...parsed, finished: true }
    }
    const reader = { read }
    return this.#stream(reader, parts).read(new StreamEvent('', text))
  }

  openWhole() {
    const parts = new AnswerParts(this.#peer, this.#losses)
    const reader = this.#to.upstream.openStream(parts)
    let sum: ParsedEvent = { ...EMPTY_EVENT, done: true }
    return {
      read: (event: StreamEvent): ParsedEvent => {
        const parsed = reader.read(event)
        sum = {
          ...sum,
          finished: sum.finished || parsed.finished,
          unusual: sum.unusual || parsed.unusual,
          model: parsed.model ?? sum.model,
          tokens: parsed.tokens ?? sum.tokens,
          error: sum.error ?? parsed.error,
        }
        return parsed
      },
      answer: (): ParsedEvent =>
        sum.error === null && parts.ended === null
          ? { ...sum, error: endedBadly(parts.unknownStop) }
          : this.#whole(sum, parts),
    }
  }

  #stream(reader: StreamReader, parts: AnswerParts): TranslatedStream {
    const writer = this.#from.blocks.openWriter({ wantsUsage: this.#wantsUsage }, this.#losses)
    const { comment = COMMENT } = this.#from.client
    return new TranslatedStream(reader, parts, writer, this.#names, this.#isOwn, comment)
  }

  /** Writes an answer that was read as a whole. */
  #whole(parsed: ParsedEvent, parts: AnswerParts): ParsedEvent {
    if (parsed.error) return parsed
    // An answer and its container cannot be continued in another dialect.
    const { responseId: id, containerId: _, ...other } = parsed
    const rest = this.#isOwn ? parsed : other
    const { blocks, stop, sequence } = parts.answer()
    const { unknownStop } = parts
    if (unknownStop !== null && (blocks.length === 0 || isFailure(unknownStop)))
      return { ...rest, error: endedBadly(unknownStop) }
    const answer = {
      id: this.#isOwn ? (id ?? null) : null,
      blocks: blocks.map((block) => this.#blockUp(block)),
      stop: stop ?? (parts.hasCalls ? 'calls' : 'end'),
      sequence,
      model: parsed.model ?? this.#peer.model,
      tokens: parsed.tokens,
    }
    const written = this.#from.blocks.writeAnswer(
      answer,
      { wantsUsage: true, path: this.#path },
      this.#losses,
    )
    return { ...rest, sent: Buffer.from(JSON.stringify(written)) }
  }

  readError(text: string) {
    return this.#to.upstream.readError(text)
  }

  tierOf(headers: IncomingHttpHeaders): string | null {
    return this.#to.upstream.tierOf?.(headers) ?? null
  }

  /** Returns the request without reasoning of earlier turns, to send again. */
  withoutRefused(request: ClientRequest, { message }: ProviderError): ClientRequest | null {
    const isRefused = this.#returnedReasoning && ABOUT_EARLIER_REASONING.test(message)
    return isRefused && request.returnsReasoning !== false ? { ...request, returnsReasoning: false } : null
  }

  #blockUp(block: Block): Block {
    if (block.type !== 'call') return block
    const args = this.#names.isWrapped(block.name) ? unwrapInput(block.args) : block.args
    return { ...block, ...this.#names.up(block), args }
  }
}
