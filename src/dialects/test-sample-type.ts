// Samples that a dialect gives to the tests that run over all dialects.
import type { ProviderError, Tokens } from '../core/call.ts'
import type { ArrivedRequest } from './dialect.ts'

export interface Samples {
  /** A request that asks `model` for an answer, streamed or not, with a member `"unknown": {"a": 1.0}` that must arrive. */
  request(model: string, stream: boolean): string
  /** Where such a request arrives, if its path is not the one of the dialect alone; the model may be in it. */
  arrival?(model: string, stream: boolean): Pick<ArrivedRequest, 'path' | 'rest' | 'query'>
  /** Headers of its clients that go on to a provider of the dialect. */
  readonly forwarded?: readonly string[]
  /** The members of a request that bound its output tokens; null where a request cannot. */
  readonly limit: ((tokens: number) => object) | null
  /** Bodies that are no request of the dialect. */
  readonly noRequests: readonly string[]
  /** A whole answer that names `model`, with these usage members; each names a count of tokens, see `usage`. */
  answer(model: string, usage: object): string
  /** A whole stream of `model`, and what is read off it; empty where its answers are not streamed. */
  stream(model: string): string
  readonly read: { readonly text: string; readonly tokens: Tokens; readonly ends?: number }
  /** Names of the members that hold counts -> the count that they hold. */
  readonly usage: Readonly<Record<string, 'input' | 'output'>>
  /** Value of a count if only the other count is reported; null by default. */
  readonly untold?: 0
  /** Texts that are no answer. */
  readonly noAnswers: readonly string[]
  /** Bodies of errors, and how they are read. */
  readonly errors: readonly (readonly [text: string, error: ProviderError | null])[]
}
