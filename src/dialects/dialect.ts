// A dialect: one wire format, on the client side and on the provider side; and a cloud that serves a dialect at its own
// paths (`src/platforms`). Each dialect has a folder here and a line in registry.ts. Only four other places name a
// dialect: the catalog's formats (endpoints/models.ts), src/passthrough, the rules of src/config, and Claude Code's
// model names (endpoints/statusline.ts).
import type { IncomingHttpHeaders } from 'node:http'
import type { ZodType } from 'zod'
import type { ParsedEvent, ProviderError, Purpose } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import type { Loss } from '../core/losses.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import type { Facts } from '../models/facts.ts'
import type { AnswerParts } from './answer-parts.ts'
import type { ClientRequest, DialectBlocks } from './blocks.ts'
import type { KeptKind } from './kept.ts'
import type { OptionalMember, Tune } from './optional-members.ts'
import type { StreamEvent } from './stream-event.ts'

export interface Dialect {
  readonly client: ClientDialect
  readonly upstream: UpstreamDialect
  /**
   * Returns the request for a provider's model list, relative to the base URL. No provider charges for this
   * request.
   */
  modelList(key: string): { readonly path: string; readonly headers: Readonly<Record<string, string>> }
  /** Translation to other dialects. Absent if clients can use only providers of the same dialect. */
  readonly blocks?: DialectBlocks
}

/** A request as it arrived. Only its JSON is parsed. */
export interface ArrivedRequest {
  /** Body as received, valid JSON. */
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
  readonly headers: IncomingHttpHeaders
  /** Path of the endpoint. */
  readonly path: string
  /** Decoded part of the path that matches the endpoint's `*`. In some dialects it holds the model. */
  readonly rest: string
  /** Query of the URL as received, without `?`; empty if none. */
  readonly query: string
}

/** A request with facts that are used once and then released. */
export interface ReadRequest {
  readonly request: ClientRequest
  /** Facts for rules and capabilities; each is computed on first read. */
  readonly traits: RequestTraits
  /** Values of the body that may identify the session, in order of precedence. The values may be any JSON. */
  readonly sessionHints: readonly unknown[]
  /** Purpose of the call, if the body states a purpose. Otherwise the headers decide. */
  readonly purpose?: Purpose
  /** False if the provider does not store the answer. The id of the answer is then not recorded. */
  readonly keepsAnswer?: boolean
  /** Error if no target speaks the dialect, for a request that asks the provider to store something. */
  readonly noKeeper?: () => GatewayError
}

/** The client side of a dialect. */
export interface ClientDialect {
  /** Name of the dialect in the configuration and in `decision.skipped`. */
  readonly name: string
  /** Path in polka's syntax, without the query. Unlike in polka, `:` and a word may follow a `*` at the end. */
  readonly path: string
  /** Additional paths of the dialect, if the path selects the operation. */
  readonly alsoAt?: readonly string[]
  /** True if clients may open a WebSocket at `path`. */
  readonly hasWebSocket?: boolean
  /** Query parameter that may hold the client's key. */
  readonly keyParameter?: string
  /** Line for the endpoints table in the documentation. */
  readonly summary: string
  /** Name of the operation in traces, from OpenTelemetry's conventions; `chat` by default. */
  readonly operation?: string
  /** Request fields that the gateway reads, for the OpenAPI document. */
  readonly schema: ZodType
  /** Schema of `errorBody`, for the OpenAPI document. */
  readonly errorSchema: ZodType
  /** Name of the response header in which this dialect's clients expect the request id. */
  readonly requestIdHeader: string
  /** Throws GatewayError `invalid_request`. */
  parse(arrived: ArrivedRequest): ReadRequest
  /** Estimates the input tokens of calls that ended without a count. */
  estimateInput(request: ClientRequest): number
  /**
   * Returns the cache key of a request, or null if there is none. Equivalent requests have the same key,
   * whether streamed or whole.
   */
  cacheIdentity(request: ClientRequest): string | null
  /** Returns the body of an error that the gateway itself raises. */
  errorBody(error: GatewayError, requestId: string): string
  /** Returns the error as a stream event with its blank line. `events`: the number of events already sent. */
  errorEvent(error: GatewayError, requestId: string, events: number): string
  /** Event without content that is sent in a silent stream; `comment` by default. */
  readonly ping?: string
  /** Replaces the provider's comments and events without data in a translated stream; COMMENT by default. */
  readonly comment?: string
  /**
   * Replaces the model's name with `model` in a whole answer or an event's data; everything else keeps its
   * bytes. Both `json` and `model` have one character per byte; `model` is JSON.
   */
  renameModel(json: string, model: string): string
  /** Reason why no other model may answer. Absent if other models may answer. */
  readonly staysWithModel?: string
  /** Kinds of provider-stored state that requests can name. Absent if there are none. */
  readonly kept?: readonly KeptKind[]
  /**
   * Returns true if a request to an unknown path came from a client of this dialect. Decides the format of
   * the error.
   */
  readonly isSpokenBy?: (headers: IncomingHttpHeaders) => boolean
  /** Token counting for clients. Absent if the dialect has none. */
  readonly counting?: TokenCounting
  /** Client requests about answers that providers store. Absent if the dialect has none. */
  readonly keptAnswers?: KeptAnswers
  /** Answers that the gateway stores. Absent if the dialect has none. */
  readonly storing?: AnswerStoring
}

/** Answers of a dialect that the gateway itself can store. Items and answers are JSON strings. */
export interface AnswerStoring {
  /** Returns false if the request forbids storing its answer. */
  mayKeep(json: Readonly<Record<string, unknown>>): boolean
  /** Returns the id of the answer that a request continues; null if it continues none. */
  previousIn(json: Readonly<Record<string, unknown>>): string | null
  inputItems(text: string): string[]
  readonly named: NamedItems
  /** Returns a request with the items of all earlier turns. */
  writeOut(text: string, before: readonly string[]): string
  openCollector(): AnswerCollector
  readonly runs: RunAnswers
  /** Returns the gateway's response to a request about a stored answer; null if only a provider can respond. */
  answerAbout(asked: AskedAbout, kept: KeptAnswer): string | null
}

/** Items of earlier answers that a request only names. Requests and items are JSON strings. */
export interface NamedItems {
  /** Returns the ids of the items that a request names. */
  in(json: Readonly<Record<string, unknown>>): readonly string[]
  /** Returns the id of the answer that has an item; null if the gateway did not give out the item's id. */
  answerOf(id: string): string | null
  /** Returns the id of an item; null if it has none. */
  idOf(item: string): string | null
  /**
   * Returns a request with the items in place of their ids, for any provider. Null removes an item, and the
   * results of its calls. Items that are missing in `items` stay named.
   */
  writtenOut(text: string, items: ReadonlyMap<string, string | null>): string
}

/** Background answers that the gateway itself runs. Requests and answers are JSON strings. */
export interface RunAnswers {
  /** Beginning of the ids of the gateway's own answers. */
  readonly idPrefix: string
  /** Returns the request as a foreground request, which waits for its answer. */
  plain(text: string): string
  /** Returns the first answer, with status `queued`. `at`: ms since the epoch. */
  queued(text: string, id: string, at: number): string
  inProgress(queued: string): string
  /** `error`: null if the run was cancelled. */
  ended(queued: string, error: { readonly code: string; readonly message: string } | null): string
  /** Returns a complete answer with the id that the client received. */
  completed(answer: string, id: string): string
}

/** Collects an answer as the client receives it. */
export interface AnswerCollector {
  /** Adds bytes of a stream, in pieces of any size. */
  add(bytes: Buffer): void
  /** Adds an answer that is not streamed. */
  whole(bytes: Buffer): void
  /** The answer; null if it is incomplete or cannot be stored. */
  readonly answer: { readonly id: string; readonly json: string; readonly output: readonly string[] } | null
}

export interface KeptAnswer {
  readonly id: string
  readonly answer: string
  readonly input: readonly string[]
}

/** A request about a stored answer. */
export interface AskedAbout {
  readonly method: string
  /** Part of the path that matches the `*`. */
  readonly rest: string
  readonly query: URLSearchParams
}

/** Requests about an answer that a provider stores. */
export interface KeptAnswers {
  readonly path: string
  readonly alsoAt?: readonly string[]
  readonly methods: readonly ('GET' | 'POST' | 'DELETE')[]
  readonly summary: string
  /** Name of an answer in errors. */
  readonly noun: 'Response' | 'Interaction'
  /** Possible requests, as listed in an error. */
  readonly offers: string
  /**
   * Returns the id of the answer; null for a request of another kind. `rest`: the part of the path at the
   * `*`.
   */
  idIn(method: string, rest: string): string | null
}

/**
 * Counting the tokens of a request without sending it. A counting request is parsed like a call of the
 * dialect.
 */
export interface TokenCounting {
  readonly path: string
  readonly alsoAt?: readonly string[]
  readonly summary: string
  readonly schema: ZodType
  /** Returns an answer with an estimate of all input that the model reads. Never throws. */
  estimate(json: Readonly<Record<string, unknown>>): string
}

/** A request for a provider. */
export interface ProviderRequest {
  readonly path: string
  /** Alternating names and values. */
  readonly headers: string[]
  readonly body: string
}

/** Returns a request as `request` of a dialect does, with the members to add to the client's body. */
export type Prepared = (
  request: ClientRequest,
  json: Readonly<Record<string, unknown>>,
) => (Omit<ProviderRequest, 'body'> & { readonly added: Readonly<Record<string, string>> }) | null

/** Comment that keeps a connection alive. */
export const COMMENT = ': ping\n\n'

/** Reads the events of one stream in order; each result may depend on earlier events. */
export interface StreamReader {
  /**
   * Returns `tokens` merged with those of earlier events. Throws if the event does not belong to this
   * dialect.
   */
  read(event: StreamEvent): ParsedEvent
  /** Bytes that a client receives for comments and for an event without data. Absent if it receives these. */
  readonly keepAlive?: Buffer
  /** Upper bound of the input bytes that the reader retains. Absent if they do not grow. */
  readonly held?: number
  /** Returns the last event after the end of the stream; null if there is none. */
  end?(): ParsedEvent | null
}

/** Facts about the provider that are needed to build a request. */
export interface ProviderAccess {
  /** Path of the base URL, without a trailing slash. */
  readonly basePath: string
  readonly key: string | null
  /** Returns the known facts about one of the provider's models when called in `dialect`. */
  readonly factsOf?: (model: string, dialect: string) => Facts
}

/** The provider side of a dialect. */
export interface UpstreamDialect {
  /** Additional response headers that are relayed to clients of this dialect. */
  readonly relayedHeaders: RegExp
  /**
   * Maximum number of JSON values in a whole answer, if higher than the maximum for dialects that answer with
   * text.
   */
  readonly mostValues?: number
  request(request: ClientRequest, model: string, provider: ProviderAccess): ProviderRequest
  /**
   * Prepares the requests to a model that differ from the client's only in their model and in members at the end. The
   * result returns null for a request that needs `request`. Absent if there are none.
   */
  readonly prepared?: (model: string, provider: ProviderAccess) => Prepared
  /**
   * Reads a complete answer that is not streamed. Throws if the answer does not belong to this dialect. `parts`
   * receives its content for a translation.
   */
  readAnswer(text: string, parts?: AnswerParts | null): ParsedEvent
  /** Opens a reader for the events of an answer. `parts` receives its content for a translation. */
  openStream(parts?: AnswerParts | null): StreamReader
  /** Reads the body of an error response; null if the body does not belong to this dialect. */
  readError(text: string): ProviderError | null
  /**
   * Returns the request to send again, without content that the provider refused because another provider
   * made it. Null for any other refusal.
   */
  readonly withoutRefused?: (request: ClientRequest, error: ProviderError) => ClientRequest | null
  /** Returns the service tier of an answer, if the headers name a tier. */
  readonly tierOf?: ((headers: IncomingHttpHeaders) => string | null) | undefined
  /** Returns true if the error says that the request is too long for its model. */
  readonly isTooLong?: (error: ProviderError) => boolean
  /** Writes effort and output limit of a target into the body of a request. */
  readonly tuned?: Tune | undefined
  /**
   * Returns a relayed request with a member under the only name that its model accepts, according to the facts.
   * Null if no member has a refused name.
   */
  readonly renamed?: (
    body: string,
    model: string,
    factsOf: NonNullable<ProviderAccess['factsOf']>,
  ) => { readonly body: string; readonly from: string; readonly to: string } | null
  /** Request members that may be omitted if a provider refuses them. */
  readonly optional?: readonly OptionalMember[]
  /** Token counting by providers; absent if the dialect has none. */
  readonly countTokens?: {
    request: UpstreamDialect['request']
    /** Returns true if a string is the answer to a counting request. */
    isCount(text: string): boolean
  }
  /**
   * Writes an answer in the form that the client asked for, if the provider answered in the other one. Absent if the
   * dialect has no blocks.
   */
  readonly otherForm?: (request: ClientRequest, model: string) => OtherForm
  /** Creates the translation for one attempt; null if the request is sent to the provider unchanged. */
  readonly translation?: (request: ClientRequest, model: string) => Translation | null
  /** Returns a request about an answer that the provider stores. Absent if providers store none. */
  readonly keptAnswer?: (rest: string, query: string, provider: ProviderAccess) => ProviderRequest
}

/** Answers in another form than the client asked for. In the results, `sent` holds the bytes for the client. */
export interface OtherForm {
  /** Converts a whole answer to a stream. Throws if the answer does not belong to the dialect. */
  asStream(text: string): ParsedEvent
  /** Opens a reader of events that makes a whole answer of them. */
  openWhole(): StreamReader & { answer(): ParsedEvent }
}

/** One attempt across dialects. In its events, `sent` holds the bytes for the client. */
export interface Translation extends UpstreamDialect, OtherForm {
  /** Losses so far. */
  readonly losses: readonly Loss[]
  /** Adds a loss. */
  lose(loss: Loss): void
}

export interface Platform {
  /** Returns a request of the dialect in the form that the platform accepts. */
  place(request: ProviderRequest): ProviderRequest
  /** Returns an answer's headers with the dialect's names. */
  headers?(headers: IncomingHttpHeaders): IncomingHttpHeaders
  /** Returns a decoder for a stream with these headers; null if the stream already has server-sent events. */
  openStream?(headers: IncomingHttpHeaders): StreamDecoder | null
  /** Additional statuses after which another target may succeed. */
  readonly movesOn?: readonly number[]
  /** Returns a whole answer in the dialect's form; null if no conversion is needed. */
  whole(status: number, headers: IncomingHttpHeaders, text: string): string | null
}

/** Converts the bytes of one stream to server-sent events. */
export interface StreamDecoder {
  /** Returns the events that a chunk completes. Throws if the stream has another format. */
  push(chunk: Buffer): Buffer
}
