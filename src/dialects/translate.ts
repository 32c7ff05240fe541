// Connects a client of one dialect to a provider of another: translates the request, and the answer, whole or
// event by event. Collects the losses. Knows no dialect; the provider's own dialect reads the answer for the
// record.
import type { IncomingHttpHeaders } from 'node:http'
import type { ParsedEvent, ProviderError } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { type Loss, Losses } from '../core/losses.ts'
import type { Facts } from '../models/facts.ts'
import { parseExact } from '../shared/exact-json.ts'
import { type Block, type Conversation, type DialectBlocks, NO_SAMPLING, type Peer } from './blocks.ts'
import type { ClientRequest } from './client-request.ts'
import type {
  Dialect,
  ProviderAccess,
  ProviderRequest,
  StreamReader,
  Translation,
  UpstreamDialect,
} from './dialect.ts'
import type { Json } from './json.ts'
import { ToolNames, unwrapInput } from './tool-names.ts'
import { endOf, TranslatedStream } from './translate-stream.ts'

/** A provider to translate for. */
export interface PeerProvider extends Pick<Peer, 'family' | 'host'> {
  /** Returns what is known of one of its models. */
  readonly factsOf: (model: string) => Facts
}

/** A dialect that can be translated. */
export type Translatable = Dialect & { readonly blocks: DialectBlocks }

export const isTranslatable = (dialect: Dialect | undefined): dialect is Translatable =>
  dialect?.blocks !== undefined

/** Returns true if a call in a dialect can be translated for a provider that speaks these. */
export const canTranslate =
  (dialects: Readonly<Record<string, Dialect>>) =>
  (from: string, spoken: readonly string[]): boolean =>
    isTranslatable(dialects[from]) && spoken.some((to) => isTranslatable(dialects[to]))

/**
 * Returns how to reach a provider from each dialect: directly in those it speaks, otherwise through the first
 * that can be translated.
 */
export function upstreamsOf(
  dialects: Readonly<Record<string, Dialect>>,
  spoken: readonly string[],
  provider: {
    readonly name: string
    readonly family: string | undefined
    readonly host: string
    /** Returns what is known of one of its models, asked in a dialect. */
    readonly factsOf: (model: string, dialect: string) => Facts
  },
): Map<string, UpstreamDialect> {
  const upstreams = new Map(spoken.map((each) => [each, dialects[each]!.upstream]))
  const dialect = spoken.find((each) => isTranslatable(dialects[each]))
  if (dialect === undefined) return upstreams
  const { name, family, host, factsOf } = provider
  const to = dialects[dialect] as Translatable
  const peer = {
    family: family ?? to.blocks.family ?? name,
    host,
    factsOf: (model: string) => factsOf(model, dialect),
  }
  for (const [each, from] of Object.entries(dialects))
    if (!upstreams.has(each) && isTranslatable(from)) upstreams.set(each, translating(from, to, peer))
  return upstreams
}

/** Returns the losses of plain text by the client's dialect, for dialects that need a translation. */
export function plainLosses(
  dialects: Readonly<Record<string, Dialect>>,
  upstreams: ReadonlyMap<string, UpstreamDialect>,
  model: string,
): Record<string, readonly Loss[]> {
  const losses: Record<string, readonly Loss[]> = {}
  for (const [name, upstream] of upstreams) {
    const translation = upstream.translation?.()
    const blocks = dialects[name]?.blocks
    if (!translation || !blocks) continue
    const peer = { family: '', host: '', model, facts: {}, takesReasoning: true }
    const text = JSON.stringify(blocks.writeRequest(PLAIN, peer, new Losses()))
    const request = { model, stream: false, text, wantsUsage: true, forwarded: [], query: '' }
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
export function translating(from: Translatable, to: Translatable, provider: PeerProvider): UpstreamDialect {
  /** Models that have refused our reasoning, until the configuration is reloaded. */
  const refusers = new Set<string>()
  const make = () => new OneTranslation(from, to, provider, refusers)
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

/** A provider's own headers mean nothing to a client of another dialect. */
const NONE = /^$/

/** Words of a refusal that is about reasoning, at any provider. */
const ABOUT_REASONING = /reasoning|thinking|thought|signature|effort|encrypted|budget_tokens/i

class OneTranslation implements Translation {
  readonly relayedHeaders = NONE
  readonly #from: Translatable
  readonly #to: Translatable
  readonly #provider: PeerProvider
  readonly #refusers: Set<string>
  readonly #losses = new Losses()
  #peer!: Peer
  #wantsUsage = false
  #path: string | undefined
  #names!: ToolNames
  #askedToReason = false

  constructor(from: Translatable, to: Translatable, provider: PeerProvider, refusers: Set<string>) {
    this.#from = from
    this.#to = to
    this.#provider = provider
    this.#refusers = refusers
  }

  get losses(): readonly Loss[] {
    return this.#losses.list()
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
    this.#wantsUsage = request.wantsUsage
    this.#path = request.path
    const { family, host, factsOf } = this.#provider
    const facts = factsOf(model)
    this.#peer = { family, host, model, facts, takesReasoning: !this.#refusers.has(model) }
    const asked = from.parseRequest(parseExact(text) as Json, request, this.#losses)
    this.#askedToReason = mentionsReasoning(asked)
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
    const parsed = this.#to.upstream.readAnswer(text)
    if (parsed.error) return parsed
    // This answer cannot be continued in another dialect, nor can its container.
    const { responseId: _, containerId: __, ...rest } = parsed
    const { blocks, stop, sequence } = this.#to.blocks.parseAnswer(
      parseExact(text) as Json,
      this.#peer,
      this.#losses,
    )
    const answer = {
      blocks: blocks.map((block) => this.#blockUp(block)),
      stop: stop ?? endOf(blocks.some(({ type }) => type === 'call')),
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

  openStream(): StreamReader {
    const asker = { wantsUsage: this.#wantsUsage }
    return new TranslatedStream(
      this.#to.upstream.openStream(),
      this.#to.blocks.openReader(this.#peer, this.#losses),
      this.#from.blocks.openWriter(asker, this.#losses),
      this.#names,
      this.#peer.model,
    )
  }

  readError(text: string) {
    return this.#to.upstream.readError(text)
  }

  tierOf(headers: IncomingHttpHeaders): string | null {
    return this.#to.upstream.tierOf?.(headers) ?? null
  }

  /** Returns the same request: the next translation for this model leaves reasoning out. */
  withoutRefused(request: ClientRequest, { message }: ProviderError): ClientRequest | null {
    const { model, takesReasoning } = this.#peer
    if (!takesReasoning || !this.#askedToReason || !ABOUT_REASONING.test(message)) return null
    this.#refusers.add(model)
    return request
  }

  #blockUp(block: Block): Block {
    if (block.type !== 'call') return block
    const args = this.#names.isWrapped(block.name) ? unwrapInput(block.args) : block.args
    return { ...block, ...this.#names.up(block), args }
  }
}

const mentionsReasoning = ({ reasoning, turns }: ReturnType<DialectBlocks['parseRequest']>): boolean =>
  reasoning.effort !== null ||
  reasoning.budget !== null ||
  reasoning.on !== null ||
  turns.some(({ blocks }) => blocks.some(({ type }) => type === 'reasoning'))
