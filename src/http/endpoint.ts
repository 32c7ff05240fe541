// Types of endpoints. A read endpoint gets the routing table and the store, but no way to reach a provider,
// so reading cannot spend by construction.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { GatewayError } from '../core/errors.ts'
import type { JsonText } from '../json/json-text.ts'
import type { CallSlot } from './call-slots.ts'
import type { Caller } from './caller.ts'

/** An admitted request. */
export interface AdmittedRead {
  readonly request: IncomingMessage
  readonly caller: Caller
  /** Made when the request arrived; becomes the record's id if it becomes a call. */
  readonly requestId: string
  /** Decoded part of the path at the endpoint's `*`. */
  readonly rest: string
  /** Query of the URL as received, without `?`. */
  readonly query: string
}

/** An admitted call. Exactly one of its two ends is reported, once. */
export interface Admitted extends AdmittedRead {
  /** Path of the endpoint. */
  readonly path: string
  /** Its slot among the open calls, released at its end. */
  readonly slot: CallSlot
  /** Refuses the call before it is on record. */
  refuse(thrown: unknown): void
  /** The call has been answered, or its client has gone. */
  over(): void
}

/** Answer of an endpoint: of the type of its response schema. */
export type AnswerOf<Response extends z.ZodType> = Readable<z.output<Response>>
type Readable<T> = T extends object ? { readonly [Name in keyof T]: Readable<T[Name]> } : T

export interface ReadEndpoint<Context, Query extends z.ZodType, Response extends z.ZodType> {
  /** In polka's syntax; the text at `*` is passed on as `rest`. */
  readonly path: string
  /** A line for the table of endpoints in the documentation. */
  readonly summary: string
  /** Answers without a key and under any Host; for probes only. */
  readonly open?: boolean
  /** Strict: an unknown parameter is an error. */
  readonly query: Query
  /** Schema of the answer, for the OpenAPI document and the tests; strict, except for foreign content. */
  readonly response: Response
  /** See `CallEndpoint`. */
  readonly keyParameter?: string
  /** Names the answer by an `ETag`; a client that has it already gets 304. */
  readonly hasEtag?: boolean
  /** Media type of a text answer, which `answer` returns. JSON by default. */
  readonly mediaType?: string
  /** Returns a value to send as JSON, or that JSON itself, or throws a GatewayError. */
  answer(
    query: z.output<Query>,
    admitted: AdmittedRead,
    context: Context,
  ): AnswerOf<Response> | Promise<AnswerOf<Response> | JsonText<AnswerOf<Response>>>
}

export type AnyReadEndpoint<Context> = ReadEndpoint<Context, z.ZodType, z.ZodType>

/** An endpoint that is neither a JSON read nor a call: the files of the page, its sign-in, live events. */
export interface OtherEndpoint<Context> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  /** Answers without a key; the Host guard stays. */
  readonly keyless?: boolean
  /** Media type of its answer, for the OpenAPI document. */
  readonly mediaType: string
  readonly query: z.ZodType
  handle(admitted: AdmittedOther, response: ServerResponse, context: Context): void | Promise<void>
}

export interface AdmittedOther extends AdmittedRead {
  /** Authenticates the caller again, for a lasting answer; throws if the key or token is no longer valid. */
  readonly authenticate: () => Caller
}

/** Wording of the gateway's own errors for the clients of an endpoint. */
export interface ErrorWording {
  errorBody(error: GatewayError, requestId: string): string
  /** Response header with the request id. */
  readonly requestIdHeader: string
}

export interface CallEndpoint<Context> extends ErrorWording {
  /** As in `ReadEndpoint`; `:` and a word may follow a `*` at the end. */
  readonly path: string
  /** Query parameter that may hold the caller's key; none by default. */
  readonly keyParameter?: string | undefined
  readonly summary: string
  /** POST by default. */
  readonly methods?: readonly ('GET' | 'POST' | 'PUT' | 'DELETE')[]
  /** Returns false if the configuration has no such endpoint; always open by default. */
  isOpen?(context: Context): boolean
  /** Returns the wording for the client of a request, at a path that several dialects share. */
  wordingFor?(headers: IncomingHttpHeaders): ErrorWording
  /** True if its calls may also come over a WebSocket at its path. */
  readonly hasWebSocket?: boolean | undefined
  /** Fields of a request that the gateway reads, for the OpenAPI document. */
  readonly request: z.ZodType
  /** Schema of an error, for the OpenAPI document. */
  readonly errorSchema: z.ZodType
  /** Reports one of the call's two ends, or throws to refuse it. A recorded call handles its own errors. */
  handle(admitted: Admitted, response: ServerResponse, context: Context): void
}
