// Samples that a dialect gives to the tests that run over all dialects.
import type { ProviderError, Tokens } from '../core/call.ts'
import type { ArrivedRequest } from './dialect.ts'

export interface Samples {
  /** A request that asks `model` for an answer, streamed or not, with a member `"unknown": {"a": 1.0}` that must arrive. */
  request(model: string, stream: boolean): string
  /** Path of such a request, if it is not that of the dialect alone; the model may be in it. */
  arrival?(model: string, stream: boolean): Pick<ArrivedRequest, 'path' | 'rest' | 'query'>
  /** Headers of its clients that are passed on to a provider of the dialect. */
  readonly forwarded?: readonly string[]
  /** The members of a request that limit its output tokens; null if a request cannot limit them. */
  readonly limit: ((tokens: number) => object) | null
  /** Bodies that are not requests of the dialect. */
  readonly noRequests: readonly string[]
  /** A whole answer that names `model`, with these usage members; each names a count of tokens, see `usage`. */
  answer(model: string, usage: object): string
  /** A complete stream of `model`, and what is read from it; empty if its answers are not streamed. */
  stream(model: string): string
  readonly read: { readonly text: string; readonly tokens: Tokens; readonly ends?: number }
  /** Names of the members that hold counts -> the count that they hold. */
  readonly usage: Readonly<Record<string, 'input' | 'output'>>
  /** Value of a count if only the other count is reported; null by default. */
  readonly untold?: 0
  /** Texts that are not answers. */
  readonly noAnswers: readonly string[]
  /** Bodies of errors, and how they are read. */
  readonly errors: readonly (readonly [text: string, error: ProviderError | null])[]
}
