// Types of endpoints. A read endpoint receives the routing table and the store, but nothing that reaches a provider.
// Reading therefore cannot spend anything, by construction.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { GatewayError } from '../core/errors.ts'
import type { REPORTED } from '../shared/boundary.ts'
import type { CallSlot } from './call-slots.ts'
import type { Caller } from './caller.ts'

/** JSON as a string. `Value`: type of the parsed text. */
export class JsonText<Value> {
  readonly text: string
  declare readonly says: Value
  constructor(text: string) {
    this.text = text
  }
}

/** An admitted request. */
export interface AdmittedRead {
  readonly request: IncomingMessage
  readonly caller: Caller
  /** Id made when the request arrived. A call's record uses it too. */
  readonly requestId: string
  /** Decoded part of the path at the endpoint's `*`. */
  readonly rest: string
  /** Query string of the URL as received, without `?`. */
  readonly query: string
}

/** An admitted call. Ends by exactly one call of `refuse` or `over`. */
export interface Admitted extends AdmittedRead {
  /** Path of the endpoint. */
  readonly path: string
  /** True if the client asks to keep the call, by `/keep` before its path. */
  readonly isKept: boolean
  /** The call's slot among the open calls, released at its end. */
  readonly slot: CallSlot
  /** Refuses the call before it is on record. */
  refuse(thrown: unknown): typeof REPORTED
  /** Ends a call that was answered, or whose client has left. */
  over(): void
}

/** Answer of an endpoint, typed by its response schema. */
type AnswerOf<Response extends z.ZodType> = Readable<z.output<Response>>
type Readable<T> = T extends object ? { readonly [Name in keyof T]: Readable<T[Name]> } : T

export interface ReadEndpoint<Context, Query extends z.ZodType, Response extends z.ZodType> {
  /** Path in polka's syntax; the text at `*` is passed as `rest`. */
  readonly path: string
  /** A line for the table of endpoints in the documentation. */
  readonly summary: string
  /** True for probes only, which are answered without a key and under any Host. */
  readonly open?: boolean
  /** Schema of the query. Strict: an unknown parameter is an error. */
  readonly query: Query
  /** Schema of the answer, for the OpenAPI document and the tests; strict, except for foreign content. */
  readonly response: Response
  /** See `CallEndpoint`. */
  readonly keyParameter?: string
  /** True if the answer has an `ETag`. A client that already has this version receives 304. */
  readonly hasEtag?: boolean
  /** Media type of the text that `answer` returns; JSON by default. */
  readonly mediaType?: string
  /** Returns a value to send as JSON, or its JSON text. Throws a GatewayError. */
  answer(
    query: z.output<Query>,
    admitted: AdmittedRead,
    context: Context,
  ): AnswerOf<Response> | Promise<AnswerOf<Response> | JsonText<AnswerOf<Response>>>
}

export type AnyReadEndpoint<Context> = ReadEndpoint<Context, z.ZodType, z.ZodType>

/** An endpoint that is neither a JSON read nor a call: page files, the page's sign-in, live events. */
export interface OtherEndpoint<Context> {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly summary: string
  /** True if it answers without a key; the Host is still checked. */
  readonly keyless?: boolean
  /** Media type of its answer, for the OpenAPI document. */
  readonly mediaType: string
  readonly query: z.ZodType
  handle(admitted: AdmittedOther, response: ServerResponse, context: Context): void | Promise<void>
}

export interface AdmittedOther extends AdmittedRead {
  /**
   * Authenticates the caller again during a long-lived response. Throws if the key or token is no longer valid.
   */
  readonly authenticate: () => Caller
}

/** Wording of the gateway's own errors for the clients of an endpoint. */
export interface ErrorWording {
  errorBody(error: GatewayError, requestId: string): string
  /** Response header with the request id. */
  readonly requestIdHeader: string
}

export interface CallEndpoint<Context> extends ErrorWording {
  /** Path as in `ReadEndpoint`; a `*` at the end may be followed by `:` and a word. */
  readonly path: string
  /** Query parameter that may contain the caller's key; none by default. */
  readonly keyParameter?: string | undefined
  readonly summary: string
  /** POST by default. */
  readonly methods?: readonly ('GET' | 'POST' | 'PUT' | 'DELETE')[]
  /** Returns false if the configuration has no such endpoint; by default, it always exists. */
  isOpen?(context: Context): boolean
  /** Returns the wording for the client of a request, at a path shared by several dialects. */
  wordingFor?(headers: IncomingHttpHeaders): ErrorWording
  /** True if clients may also make these calls over a WebSocket at the same path. */
  readonly hasWebSocket?: boolean | undefined
  /** Fields of a request that the gateway reads, for the OpenAPI document. */
  readonly request: z.ZodType
  /** Schema of an error, for the OpenAPI document. */
  readonly errorSchema: z.ZodType
  /**
   * Handles the call, and ends it by `refuse` or `over`. May throw to refuse it. A recorded call handles its
   * own errors.
   */
  handle(admitted: Admitted, response: ServerResponse, context: Context): void
}
