// A client's request as the gateway keeps it while a call is open.

/** The facts that the gateway needs. Retains the text, never the parsed body. */
export interface ClientRequest {
  /** Requested id for routing, byte for byte as sent. */
  readonly model: string
  readonly stream: boolean
  /** Body as received, valid JSON. */
  readonly text: string
  /** False: stream events that hold only usage are not passed on. */
  readonly wantsUsage: boolean
  /** Headers for a provider of the same dialect, names and values in turn. */
  readonly forwarded: readonly string[]
  /** Query for such a provider, without its `?`. */
  readonly query: string
  /** Path of the endpoint, if the path selects the operation. */
  readonly path?: string
  /** True if its provider is to go on after a first answer. */
  readonly isBackground?: true
  /** The conversation that it goes on from, if the gateway has it. */
  readonly continues?: {
    /** Provider that also keeps it, and to which the request can be sent unchanged; null for none. */
    readonly keeper: string | null
    /** The request with the whole conversation. */
    readonly text: string
  }
  /** False: a provider has refused reasoning of earlier turns, so a translation returns none. */
  readonly returnsReasoning?: false
}
