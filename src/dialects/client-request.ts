// A client's request, as the gateway holds it during a call.
import type { Loss } from '../core/losses.ts'

/** The parts of a request that the gateway needs. Holds the body's text, never the parsed body. */
export interface ClientRequest {
  /** Requested id for routing, byte for byte as sent. */
  readonly model: string
  readonly stream: boolean
  /** Body as received, valid JSON. */
  readonly text: string
  /** False if stream events with only usage are not passed on. */
  readonly wantsUsage: boolean
  /** Headers for a provider of the same dialect, alternating names and values. */
  readonly forwarded: readonly string[]
  /** Query for a provider of the same dialect, without the `?`. */
  readonly query: string
  /** Path of the endpoint, if the path selects the operation. */
  readonly path?: string
  /** True if the provider continues in the background after its first answer. */
  readonly isBackground?: true
  /** The conversation that this request continues, if the gateway has it. */
  readonly continues?: {
    /** Provider that also stores the conversation and accepts the request unchanged; null if there is none. */
    readonly keeper: string | null
    /** The request with the whole conversation. */
    readonly text: string
  }
  /** Losses of the request at every target. */
  readonly lost?: readonly Loss[]
  /** False if a provider has refused reasoning of earlier turns; then a translation omits it. */
  readonly returnsReasoning?: false
}
