// What an innocent is: a gateway that does something unusual but correct. No check that binds every gateway may accuse it;
// a check that accuses one tests the suite's taste, not the contract.
import type { InProcess } from './connectors/inproc.ts'
import { type FaultHooks, referenceWith } from './fault.ts'
import type { Further } from './on-surfaces.ts'
import type { Target } from './target.ts'

/** One row of a table in innocents/. */
export type Innocent = {
  /** One sentence: what is unusual, and why it is right. */
  readonly what: string
  /** What its target file says differently. */
  readonly target?: (target: Target) => Target
  /** Further surfaces that it is held to; then the checks of these are tried, and no others. */
  readonly on?: readonly Further[]
  /** Recommendations (SHOULD) that it leaves out, or that cannot be judged on it: a warning there is no accusation. */
  readonly mayWarn?: readonly string[]
} & (
  | { /** As with faults. */ readonly hooks: FaultHooks | (() => FaultHooks) }
  | { readonly start: InProcess['start'] }
)

export const startOf = (innocent: Innocent): InProcess['start'] => {
  if ('start' in innocent) return innocent.start
  const { hooks } = innocent
  return referenceWith(typeof hooks === 'function' ? hooks() : hooks)
}
