// What a request is like, as far as rules and capabilities ask: tools, images, effort, length. Knows no dialect: each
// reads its own requests.

export interface RequestTraits {
  readonly tools: boolean
  readonly images: boolean
  /** The reasoning effort as sent; null where none was. */
  readonly effort: string | null
  /** The history holds reasoning, signed or encrypted, that only the provider that made it takes; absent: it does not. */
  readonly opaqueReasoning?: boolean
  /** What only a provider of the client's own dialect can do for it; null or absent: nothing. */
  readonly nativeOnly?: string | null
  /** An estimate of the tokens of the input, tools included; what images count is not in it. */
  readonly inputTokens: number
}

/** The call that `resolve` speaks of: a few words of plain text. */
export const PLAIN: RequestTraits = { tools: false, images: false, effort: null, inputTokens: 1 }
