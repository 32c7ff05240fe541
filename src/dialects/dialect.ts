// What a dialect is: one wire format, as clients speak it to the gateway and as the gateway speaks it to providers. One
// folder each beside this file and one line in registry.ts; nothing outside this folder knows a dialect by its name.
import type { IncomingHttpHeaders } from 'node:http'
import type { ZodType } from 'zod'
import type { ParsedEvent, ProviderError, Purpose } from '../call.ts'
import type { GatewayError } from '../errors.ts'
import type { Loss } from '../losses.ts'
import type { RequestTraits } from '../request-traits.ts'
import type { DialectBlocks } from './blocks.ts'

export interface Dialect {
  readonly client: ClientDialect
  readonly upstream: UpstreamDialect
  /** How it is translated; absent for a dialect whose clients reach providers of their own dialect only. */
  readonly blocks?: DialectBlocks
}

/** A request as it arrived: its JSON has been parsed, and nothing else. */
export interface ArrivedRequest {
  /** The body as it came, valid JSON. */
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
  readonly headers: IncomingHttpHeaders
  /** That of the endpoint at which it arrived. */
  readonly path: string
  /** What is in the path where the endpoint's has a `*`, decoded; some dialects name the model there. */
  readonly rest: string
  /** What follows the `?` of the URL, as it came; empty if nothing does. */
  readonly query: string
}

/** What the gateway has to know of a request. It holds on to the text, never to what was parsed. */
export interface ClientRequest {
  /** The id that is routed, byte for byte as sent. */
  readonly model: string
  readonly stream: boolean
  /** The body as it came, valid JSON. */
  readonly text: string
  /** False: events of the stream that hold nothing but usage are not passed on. */
  readonly wantsUsage: boolean
  /** Headers for a provider that speaks the same dialect, names and values in turn. */
  readonly forwarded: readonly string[]
  /** Query for such a provider, without its `?`. */
  readonly query: string
  /** That of the endpoint at which it arrived, where the path says what is asked. */
  readonly path?: string
}

/** A request, and what is asked about it once and then let go of. */
export interface ReadRequest {
  readonly request: ClientRequest
  /** What rules and capabilities ask; each part is computed when it is first read. */
  readonly traits: RequestTraits
  /** Values of the body that may name the session, in the order in which they count; any JSON. */
  readonly sessionHints: readonly unknown[]
  /** What the call is for, where the body itself says so; else the headers do. */
  readonly purpose?: Purpose
  /** The id of an answer that this request goes on from and that the provider keeps: only that provider can serve it. */
  readonly continues?: string | null
}

/** How clients speak. */
export interface ClientDialect {
  /** As it is written after `api` in the configuration and in `decision.skipped`. */
  readonly name: string
  /** As polka reads it, but that a `:` and a word may follow a `*` at the end; matched whatever the query. */
  readonly path: string
  /** Further paths of the kind, where the path says what is asked. */
  readonly alsoAt?: readonly string[]
  /** The parameter of the query in which its clients may send their key. */
  readonly keyParameter?: string
  /** A line for the table of endpoints in the documentation. */
  readonly summary: string
  /** What is read of a request's body, for the OpenAPI document. */
  readonly schema: ZodType
  /** The shape of `errorBody`, for the OpenAPI document. */
  readonly errorSchema: ZodType
  /** Header of a response that names the request, in the words of this dialect's clients. */
  readonly requestIdHeader: string
  /** Throws GatewayError `invalid_request`. */
  parse(arrived: ArrivedRequest): ReadRequest
  /** Tokens of the input, roughly: for calls that ended half-way without a count. */
  estimateInput(request: ClientRequest): number
  /** What a cached answer is known by, beside the form (streamed or whole): equal for requests that mean the same. Null where there is no such text. */
  cacheIdentity(request: ClientRequest): string | null
  /** The body of an error that the gateway itself reports. */
  errorBody(error: GatewayError, requestId: string): string
  /** The same as an event, for a stream that has begun, behind `events` others; with the blank line that ends it. */
  errorEvent(error: GatewayError, requestId: string, events: number): string
  /** An event that says nothing, for a stream that is silent; a comment where there is none. */
  readonly ping?: string
  /**
   * Writes `model` where a whole answer, or the data of an event, names the model that answered; everything else keeps
   * its bytes. `json` has one character for each byte, and so has `model`, which is JSON.
   */
  renameModel(json: string, model: string): string
  /** Why another model must not answer instead; absent if it may. */
  readonly staysWithModel?: string
  /** Whether a request to a path of no dialect comes from a client of this one, which then gets errors in its own words. */
  readonly isSpokenBy?: (headers: IncomingHttpHeaders) => boolean
  /** How its clients ask for the length of a request; absent where the dialect has no such question. */
  readonly counting?: TokenCounting
}

/** The question how many tokens a request would be. It is read like a call of the dialect. */
export interface TokenCounting {
  readonly path: string
  readonly alsoAt?: readonly string[]
  readonly summary: string
  readonly schema: ZodType
  /** The answer with an estimate, over all that a model reads. Never throws. */
  estimate(json: Readonly<Record<string, unknown>>): string
}

/** What goes to a provider. */
export interface ProviderRequest {
  readonly path: string
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body: string
}

/** One event of a stream, by the rules of Server-Sent Events. */
export class StreamEvent {
  /** Empty where the event has no name. */
  readonly name: string
  readonly data: string
  #json: unknown

  constructor(name: string, data: string) {
    this.name = name
    this.data = data
  }

  /** The data as JSON, parsed once: a translated event is read twice, for the record and for the client. Throws where it is none. */
  json(): unknown {
    this.#json ??= JSON.parse(this.data)
    return this.#json
  }
}

/** Reads the events of one stream, in their order; what one says may depend on those before it. */
export interface StreamReader {
  /** `tokens` of what it returns is the usage so far, merged with that of earlier events. Throws when the event is not of this dialect. */
  read(event: StreamEvent): ParsedEvent
  /** What there is to say when the stream is over; null for nothing. */
  end?(): ParsedEvent | null
}

/** What a request needs to know of the provider. */
export interface ProviderAccess {
  /** Path of the base URL, without a slash at the end. */
  readonly basePath: string
  readonly key: string | null
}

/** How providers speak. */
export interface UpstreamDialect {
  /** Response headers that mean something to a client of this dialect, beside those that every response may have. */
  readonly relayedHeaders: RegExp
  /** JSON values that a whole answer may hold, where that is more than a text has. */
  readonly mostValues?: number
  request(request: ClientRequest, model: string, provider: ProviderAccess): ProviderRequest
  /** Reads a complete answer that is not streamed. Throws when it is not of this dialect. */
  readAnswer(text: string): ParsedEvent
  openStream(): StreamReader
  /** Reads the body of an error status; null when it is not of this dialect. */
  readError(text: string): ProviderError | null
  /**
   * The request without what a provider has just refused because another one made it; null where that is not what it
   * refused. It is then asked once more.
   */
  readonly withoutRefused?: (request: ClientRequest, error: ProviderError) => ClientRequest | null
  /** How a provider is asked for the length of a request; absent where the dialect has no such question. */
  readonly countTokens?: {
    request: UpstreamDialect['request']
    /** Whether a text is an answer to it. */
    isCount(text: string): boolean
  }
  /** There where this is another dialect's provider: what translates one attempt, from its request to the end of its answer. */
  readonly translation?: () => Translation
}

/** One attempt across dialects. What it reads has `sent`: the bytes for the client. */
export interface Translation extends UpstreamDialect {
  /** What could not be carried, so far. */
  readonly losses: readonly Loss[]
}
