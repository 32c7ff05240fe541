// A must-pass gateway does something unusual but correct. No check that binds every gateway may fail on it:
// such a check would test the suite's taste, not the contract.
import type { InProcess } from '../launch/in-process.ts'
import type { Further } from '../requirements/applicability.ts'
import type { Target } from '../target/schema.ts'
import { referenceWith } from './fault.ts'
import type { FaultHooks } from './wire.ts'

/** Row of a table in must-pass/. */
export type Innocent = {
  /** Unusual behaviour, and why it is right, in one sentence. */
  readonly what: string
  /** Changes to its target file. */
  readonly target?: (target: Target) => Target
  /** Further dialects to test; then only their checks run. */
  readonly on?: readonly Further[]
  /** Recommendations (SHOULD) that it omits, or that cannot be judged on it: they may end in a warning. */
  readonly mayWarn?: readonly string[]
} & (
  | { /** As for must-fail gateways. */ readonly hooks: FaultHooks | (() => FaultHooks) }
  | { readonly start: InProcess['start'] }
)

export const startOf = (innocent: Innocent): InProcess['start'] => {
  if ('start' in innocent) return innocent.start
  const { hooks } = innocent
  return referenceWith(typeof hooks === 'function' ? hooks() : hooks)
}
