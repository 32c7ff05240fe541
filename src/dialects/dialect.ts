// A dialect: one wire format, on the client side and on the provider side. Each has a folder here and a line
// in registry.ts. Elsewhere dialects are named only by the formats of the catalog (endpoints/models.ts), by
// src/passthrough, by the rules of src/config, and by the model names of Claude Code (endpoints/statusline.ts).

import type { IncomingHttpHeaders } from 'node:http'
import type { ZodType } from 'zod'
import type { ParsedEvent, ProviderError, Purpose } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import type { Loss } from '../core/losses.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import type { Facts } from '../models/facts.ts'
import type { DialectBlocks } from './blocks.ts'
import type { ClientRequest } from './client-request.ts'
import type { KeptKind } from './kept.ts'
import type { OptionalMember } from './optional-members.ts'
import type { StreamEvent } from './stream-event.ts'
import type { Tune } from './tuning.ts'

export interface Dialect {
  readonly client: ClientDialect
  readonly upstream: UpstreamDialect
  /** Returns the request for a provider's list of models, below its base URL; no provider charges for it. */
  modelList(key: string): { readonly path: string; readonly headers: Readonly<Record<string, string>> }
  /** Its translation; absent if its clients reach only providers of the same dialect. */
  readonly blocks?: DialectBlocks
}

/** A request as it arrived; only its JSON has been parsed. */
export interface ArrivedRequest {
  /** Body as received, valid JSON. */
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
  readonly headers: IncomingHttpHeaders
  /** Path of the endpoint. */
  readonly path: string
  /** Decoded part of the path at the `*` of the endpoint's; some dialects name the model there. */
  readonly rest: string
  /** Query of the URL as received, without `?`; empty if none. */
  readonly query: string
}

/** A request, and the facts about it that are used once and then released. */
export interface ReadRequest {
  readonly request: ClientRequest
  /** Facts for rules and capabilities; each is computed on first read. */
  readonly traits: RequestTraits
  /** Values of the body that may name the session, in order of precedence; any JSON. */
  readonly sessionHints: readonly unknown[]
  /** Purpose of the call if the body states it; otherwise the headers decide. */
  readonly purpose?: Purpose
  /** False: the provider does not store the answer, so its id is not put on record. */
  readonly keepsAnswer?: boolean
  /** Error if no target speaks the dialect, since only those could store what this request asks to store. */
  readonly noKeeper?: () => GatewayError
}

/** The client side of a dialect. */
export interface ClientDialect {
  /** Its name under `dialect` in the configuration and in `decision.skipped`. */
  readonly name: string
  /** In polka's syntax, except that `:` and a word may follow a `*` at the end; the query is ignored. */
  readonly path: string
  /** Further paths of this kind, if the path selects the operation. */
  readonly alsoAt?: readonly string[]
  /** True if its clients may open a WebSocket at its path. */
  readonly hasWebSocket?: boolean
  /** Query parameter in which its clients may send their key. */
  readonly keyParameter?: string
  /** A line for the table of endpoints in the documentation. */
  readonly summary: string
  /** Operation in traces, a word of OpenTelemetry's conventions; `chat` by default. */
  readonly operation?: string
  /** Fields of a request that are read, for the OpenAPI document. */
  readonly schema: ZodType
  /** Schema of `errorBody`, for the OpenAPI document. */
  readonly errorSchema: ZodType
  /** Response header with the request id, as this dialect's clients expect it. */
  readonly requestIdHeader: string
  /** Throws GatewayError `invalid_request`. */
  parse(arrived: ArrivedRequest): ReadRequest
  /** Estimates the input tokens, for calls that broke off without a count. */
  estimateInput(request: ClientRequest): number
  /**
   * Returns the cache key of a request, not including its form (streamed or whole): equal for requests that
   * mean the same. Null if there is no such text.
   */
  cacheIdentity(request: ClientRequest): string | null
  /** Returns the body of an error of the gateway's own. */
  errorBody(error: GatewayError, requestId: string): string
  /** Returns the error as an event with its blank line, for a stream that has sent `events` others. */
  errorEvent(error: GatewayError, requestId: string, events: number): string
  /** Event without content for a silent stream; a comment by default. */
  readonly ping?: string
  /**
   * Writes `model` wherever a whole answer, or the data of an event, names its model; everything else keeps
   * its bytes. `json` has one character for each byte, and so has `model`, which is JSON.
   */
  renameModel(json: string, model: string): string
  /** Reason why no other model may answer instead; absent if one may. */
  readonly staysWithModel?: string
  /** Kinds of state that its providers store and its requests name; absent if there are none. */
  readonly kept?: readonly KeptKind[]
  /** Returns true if a request to an unknown path is from a client of this dialect, to word the error. */
  readonly isSpokenBy?: (headers: IncomingHttpHeaders) => boolean
  /** Token counting by its clients; absent if the dialect has none. */
  readonly counting?: TokenCounting
  /** Answers that providers keep, as its clients ask for them; absent if the dialect has none. */
  readonly keptAnswers?: KeptAnswers
  /** Answers that the gateway keeps; absent if the dialect has none. */
  readonly storing?: AnswerStoring
}

/** Answers of a dialect that the gateway itself can keep. Items and answers are JSON texts. */
export interface AnswerStoring {
  /** Returns false if the request says that its answer must not be kept. */
  mayKeep(json: Readonly<Record<string, unknown>>): boolean
  /** Returns the id of the answer that a request continues; null for none. */
  previousIn(json: Readonly<Record<string, unknown>>): string | null
  inputItems(text: string): string[]
  /** Returns a request with the items of everything before it. */
  writeOut(text: string, before: readonly string[]): string
  openCollector(): AnswerCollector
  readonly runs: RunAnswers
  /** Returns the gateway's answer to a request about a kept answer; null if only a provider can give it. */
  answerAbout(asked: AskedAbout, kept: KeptAnswer): string | null
}

/** Answers in the background that the gateway itself runs. Requests and answers are JSON texts. */
export interface RunAnswers {
  /** Returns a request as one that waits for its answer. */
  plain(text: string): string
  /** Returns the first answer. `at`: ms since the epoch. */
  queued(text: string, id: string, at: number): string
  inProgress(queued: string): string
  /** `error` null: cancelled. */
  ended(queued: string, error: { readonly code: string; readonly message: string } | null): string
  /** Returns a complete answer under the id that its client has. */
  completed(answer: string, id: string): string
}

/** Collects an answer as its client gets it. */
export interface AnswerCollector {
  /** Takes bytes of a stream, in any pieces. */
  add(bytes: Buffer): void
  /** Takes a whole answer. */
  whole(bytes: Buffer): void
  /** The answer; null if it is not complete, or cannot be kept. */
  readonly answer: { readonly id: string; readonly json: string; readonly output: readonly string[] } | null
}

export interface KeptAnswer {
  readonly id: string
  readonly answer: string
  readonly input: readonly string[]
}

/** A request about a kept answer. */
export interface AskedAbout {
  readonly method: string
  /** The path at the `*`. */
  readonly rest: string
  readonly query: URLSearchParams
}

/** Requests about an answer that a provider keeps. */
export interface KeptAnswers {
  readonly path: string
  readonly methods: readonly ('GET' | 'POST' | 'DELETE')[]
  readonly summary: string
  /** What can be asked, for an error. */
  readonly offers: string
  /** Returns the id of the answer; null for a request of another kind. `rest`: the path at the `*`. */
  idIn(method: string, rest: string): string | null
}

/** A request to count the tokens of another. It is read like a call of the dialect. */
export interface TokenCounting {
  readonly path: string
  readonly alsoAt?: readonly string[]
  readonly summary: string
  readonly schema: ZodType
  /** Returns an answer with an estimate, over everything that a model reads. Never throws. */
  estimate(json: Readonly<Record<string, unknown>>): string
}

/** A request for a provider. */
export interface ProviderRequest {
  readonly path: string
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body: string
}

/** Reads the events of one stream in order; each result may depend on earlier events. */
export interface StreamReader {
  /** Returns `tokens` merged with those of earlier events. Throws if the event is not of this dialect. */
  read(event: StreamEvent): ParsedEvent
  /** Upper bound for the bytes it retains of its input; absent if these do not grow. */
  readonly held?: number
  /** Returns the last event once the stream is over; null if there is none. */
  end?(): ParsedEvent | null
}

/** Facts about the provider that a request needs. */
export interface ProviderAccess {
  /** Path of the base URL, without a trailing slash. */
  readonly basePath: string
  readonly key: string | null
  /** Returns the known facts about one of its models, called in a dialect. */
  readonly factsOf?: (model: string, dialect: string) => Facts
}

/** The provider side of a dialect. */
export interface UpstreamDialect {
  /** Response headers for clients of this dialect, in addition to those that every response may have. */
  readonly relayedHeaders: RegExp
  /** Maximum JSON values of a whole answer, if it may exceed the maximum for texts. */
  readonly mostValues?: number
  request(request: ClientRequest, model: string, provider: ProviderAccess): ProviderRequest
  /** Reads a complete answer that is not streamed. Throws if it is not of this dialect. */
  readAnswer(text: string): ParsedEvent
  openStream(): StreamReader
  /** Reads the body of an error status; null if it is not of this dialect. */
  readError(text: string): ProviderError | null
  /**
   * Returns the request without content that the provider has just refused because another provider made it,
   * so that it can be sent once more; null for any other refusal.
   */
  readonly withoutRefused?: (request: ClientRequest, error: ProviderError) => ClientRequest | null
  /** Returns the tier that served an answer, if its headers name it. */
  readonly tierOf?: ((headers: IncomingHttpHeaders) => string | null) | undefined
  /** Returns true if a provider finds the request too long for its model. */
  readonly isTooLong?: (error: ProviderError) => boolean
  /** Writes effort and output limit of a target into the body of a request. */
  readonly tuned?: Tune | undefined
  /** Members of its requests that may be left out if a provider refuses them. */
  readonly optional?: readonly OptionalMember[]
  /** Token counting by providers; absent if the dialect has none. */
  readonly countTokens?: {
    request: UpstreamDialect['request']
    /** Returns true if a text is an answer to it. */
    isCount(text: string): boolean
  }
  /** Makes the translation of one attempt; null if this request goes to the provider as it is. */
  readonly translation?: (request: ClientRequest, model: string) => Translation | null
  /** Returns the request about an answer that the provider keeps; absent if it keeps none. */
  readonly keptAnswer?: (rest: string, query: string, provider: ProviderAccess) => ProviderRequest
}

/** One attempt across dialects. Its events have `sent`: the bytes for the client. */
export interface Translation extends UpstreamDialect {
  /** Losses so far. */
  readonly losses: readonly Loss[]
  /** Adds a loss. */
  lose(loss: Loss): void
}
