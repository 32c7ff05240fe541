// Samples that each dialect provides for the tests of all dialects, and cases of losses in translation.
import type { ProviderError, Tokens } from '../core/call.ts'
import type { Loss } from '../core/losses.ts'
import type { ArrivedRequest } from './dialect.ts'
import type { Json } from './json.ts'

export interface Samples {
  /**
   * Returns a request to `model`, streamed or whole. Its member `"unknown": {"a": 1.0}` must reach the
   * provider.
   */
  request(model: string, stream: boolean): string
  /** Returns the path of the request, if it differs from the dialect's path. The model may be part of it. */
  arrival?(model: string, stream: boolean): Pick<ArrivedRequest, 'path' | 'rest' | 'query'>
  /** Client headers that are passed on to a provider of the dialect. */
  readonly forwarded?: readonly string[]
  /** Returns the request members that limit output tokens; null if the dialect has no limit. */
  readonly limit: ((tokens: number) => object) | null
  /** Bodies that are invalid as requests of the dialect. */
  readonly noRequests: readonly string[]
  /** Returns a whole answer of `model` with the given usage members (see `usage` for their names). */
  answer(model: string, usage: object): string
  /** Returns a complete stream of `model`; empty if the dialect does not stream. */
  stream(model: string): string
  readonly read: { readonly text: string; readonly tokens: Tokens; readonly ends?: number }
  /** Usage members by name, with the kind of tokens that they count. */
  readonly usage: Readonly<Record<string, 'input' | 'output'>>
  /** Value of a count that is missing when the other count is reported; null by default. */
  readonly untold?: 0
  /** Texts that are invalid as answers. */
  readonly noAnswers: readonly string[]
  /** Bodies of errors with the parsed errors. */
  readonly errors: readonly (readonly [text: string, error: ProviderError | null])[]
}

/** Case of a loss in translation. */
export interface LossCase {
  readonly from: string
  readonly to: string
  /** Members added to a plain request of the client. */
  readonly request?: Json
  /** The provider's whole answer to a plain request. */
  readonly answer?: Json
  /** Headers for a provider of the client's dialect. */
  readonly forwarded?: readonly string[]
  /** All losses, in alphabetical order. */
  readonly loses: readonly Loss[]
}
