// A cloud that serves a dialect at paths of its own: where a request goes, and how an answer becomes one of
// the dialect. One file for each; registry.ts joins them. Knows no credential and no route.
import type { IncomingHttpHeaders } from 'node:http'
import type { ProviderRequest } from '../dialects/dialect.ts'

export interface Platform {
  /** Returns a request of the dialect in the form that the platform accepts. */
  place(request: ProviderRequest): ProviderRequest
  /** Returns the headers of an answer in the dialect's names. */
  headers?(headers: IncomingHttpHeaders): IncomingHttpHeaders
  /** Returns a decoder for a stream with these headers; null if it is one of server-sent events. */
  openStream?(headers: IncomingHttpHeaders): StreamDecoder | null
  /** Statuses, beside those of every provider, with which another target may not fail. */
  readonly movesOn?: readonly number[]
  /** Returns a whole answer in the dialect's form; null if it has that form already. */
  whole(status: number, headers: IncomingHttpHeaders, text: string): string | null
}

/** Turns the bytes of one stream into server-sent events. */
export interface StreamDecoder {
  /** Returns the events that a chunk completes. Throws if it is no such stream. */
  push(chunk: Buffer): Buffer
}
