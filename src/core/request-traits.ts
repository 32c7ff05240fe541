// Traits of a request that rules and capabilities check: tools, images, effort, length. Names no dialect;
// each dialect reads its own requests.
import type { Purpose } from './call.ts'

export interface RequestTraits {
  readonly tools: boolean
  readonly images: boolean
  /** Reasoning effort as sent; null if none was sent. */
  readonly effort: string | null
  /** True if the history contains signed or encrypted reasoning, which only its own provider accepts. */
  readonly opaqueReasoning?: boolean
  /** A feature that only providers of the client's own dialect support. Null or absent if there is none. */
  readonly nativeOnly?: string | null
  /** Purpose and program of the call, if known. */
  purpose?: Purpose
  client?: string | null
  /** Beginning of the conversation, as a string to compare. Absent if the dialect has no conversations. */
  readonly opening?: string
  /** Estimated input tokens, including tools but not images. */
  readonly inputTokens: number
}

/** Traits of a few words of plain text, which `resolve` assumes. */
export const PLAIN: RequestTraits = { tools: false, images: false, effort: null, inputTokens: 1 }
