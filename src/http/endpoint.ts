// What an endpoint is. A read endpoint gets the routing table and what is stored, but no way to reach a
// provider, so reading cannot spend by construction.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { GatewayError } from '../errors.ts'
import type { JsonText } from '../json/json-text.ts'
import type { Caller } from './auth.ts'
import type { CallSlot } from './call-slots.ts'

/** A request that was let in. */
export interface AdmittedRead {
  readonly request: IncomingMessage
  readonly caller: Caller
  /** Made when the request arrived; the record's id, should it become a call. */
  readonly requestId: string
  /** What is in the path where the endpoint's has a `*`, decoded. */
  readonly rest: string
  /** What follows the `?` of the URL, as it came. */
  readonly query: string
}

/** A call that was let in. Exactly one of its two ends is told, once. */
export interface Admitted extends AdmittedRead {
  /** Path of the endpoint. */
  readonly path: string
  /** Its place among the open calls; given back at its end. */
  readonly slot: CallSlot
  /** It is turned away, before anything of it is on record. */
  refuse(thrown: unknown): void
  /** It has been answered, or its client has gone. */
  over(): void
}

/** What an endpoint gives as its answer: of the type that its response schema tells. */
export type AnswerOf<Response extends z.ZodType> = Readable<z.output<Response>>
type Readable<T> = T extends object ? { readonly [Name in keyof T]: Readable<T[Name]> } : T

export interface ReadEndpoint<Context, Query extends z.ZodType, Response extends z.ZodType> {
  /** As polka reads it; what stands for `*` is handed over as `rest`. */
  readonly path: string
  /** A line for the table of endpoints in the documentation. */
  readonly summary: string
  /** Answers without a key and under any Host; for probes only. */
  readonly open?: boolean
  /** Strict: a parameter that is not named here is an error. */
  readonly query: Query
  /** What it answers with, for the OpenAPI document and the tests; strict, but for what is not ours. */
  readonly response: Response
  /** As in `CallEndpoint`. */
  readonly keyParameter?: string
  /** Answers a text of this type, which `answer` returns. JSON by default. */
  readonly mediaType?: string
  /** Returns what is sent as JSON, or that JSON itself, or throws a GatewayError. */
  answer(
    query: z.output<Query>,
    admitted: AdmittedRead,
    context: Context,
  ): AnswerOf<Response> | Promise<AnswerOf<Response> | JsonText<AnswerOf<Response>>>
}

/** Any of them. */
export type AnyReadEndpoint<Context> = ReadEndpoint<Context, z.ZodType, z.ZodType>

/** What is no JSON read and no call: the files of the page, its sign-in, what is told while it happens. */
export interface OtherEndpoint<Context> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  /** Answers without a key; the Host guard stays. */
  readonly keyless?: boolean
  /** The media type of its answer, for the OpenAPI document. */
  readonly mediaType: string
  readonly query: z.ZodType
  handle(admitted: AdmittedOther, response: ServerResponse, context: Context): void | Promise<void>
}

export interface AdmittedOther extends AdmittedRead {
  /** Looks again who is calling, for an answer that lasts; throws where the key or token is no longer good. */
  readonly authenticate: () => Caller
}

/** How the clients of an endpoint want an error of the gateway itself to be worded. */
export interface ErrorWording {
  errorBody(error: GatewayError, requestId: string): string
  /** Response header that names the request. */
  readonly requestIdHeader: string
}

export interface CallEndpoint<Context> extends ErrorWording {
  /** As in `ReadEndpoint`; behind a `*` at the end a `:` and a word may follow. */
  readonly path: string
  /** The parameter of the query that may hold the caller's key; none by default. */
  readonly keyParameter?: string | undefined
  readonly summary: string
  /** What is read of a request's body, for the OpenAPI document. */
  readonly request: z.ZodType
  /** The shape of an error, for the same. */
  readonly errorSchema: z.ZodType
  /** Sees to one of the call's two ends, or throws, which turns the call away. What comes after it is on record, it answers for itself. */
  handle(admitted: Admitted, response: ServerResponse, context: Context): void
}
