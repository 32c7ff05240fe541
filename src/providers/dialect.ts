// What a dialect is: how a provider wants to be asked, and what its answers say. One file each beside this one.
import type { EventSourceMessage } from 'eventsource-parser'
import type { ParsedEvent, ProviderError } from '../call.ts'

/** A client's request, read once. */
export interface ClientRequest {
  /** The body as it came, valid JSON. */
  readonly text: string
  readonly stream: boolean
  /** `stream_options` as the client sent them. */
  readonly streamOptions: Readonly<Record<string, unknown>> | null
}

/** What goes to the provider. */
export interface ProviderRequest {
  readonly path: string
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body: string
}

export interface Dialect {
  request(
    clientRequest: ClientRequest,
    model: string,
    provider: { readonly basePath: string; readonly key: string | null },
  ): ProviderRequest
  /** Reads a complete answer that is not streamed. Throws when it is not of this dialect. */
  readAnswer(text: string): ParsedEvent
  /** Reads one event of a stream. Throws when it is not of this dialect. */
  readEvent(event: EventSourceMessage): ParsedEvent
  /** Reads the body of an error status; null when it is not of this dialect. */
  readError(text: string): ProviderError | null
}
