// A cloud that serves a dialect at its own paths. Converts requests to the cloud's form and answers to the
// dialect's. Each cloud has its own file in `src/platforms`. Independent of credentials and routes.
import type { IncomingHttpHeaders } from 'node:http'
import type { ProviderRequest } from './dialect.ts'

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
