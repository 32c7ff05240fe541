// Traits of a request that rules and capabilities look at: tools, images, effort, length. Knows no dialect:
// each reads its own requests.
import type { Purpose } from './call.ts'

export interface RequestTraits {
  readonly tools: boolean
  readonly images: boolean
  /** The reasoning effort as sent; null if none was. */
  readonly effort: string | null
  /** True if the history holds signed or encrypted reasoning, which only its provider accepts. */
  readonly opaqueReasoning?: boolean
  /** A feature that only a provider of the client's own dialect has; null or absent: none. */
  readonly nativeOnly?: string | null
  /** Purpose of the call, and the program that makes it, if they are known. */
  purpose?: Purpose
  client?: string | null
  /** Beginning of its conversation, as a text to compare; absent if the dialect has no conversations. */
  readonly opening?: string
  /** Estimated input tokens, including tools but not images. */
  readonly inputTokens: number
}

/** The call that `resolve` assumes: a few words of plain text. */
export const PLAIN: RequestTraits = { tools: false, images: false, effort: null, inputTokens: 1 }
