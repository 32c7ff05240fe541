// One case of a loss in translation. loss-cases.ts and the dialects' folders have the tables of cases.
import type { Loss } from '../core/losses.ts'
import type { Json } from './json.ts'

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
