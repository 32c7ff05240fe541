// Filters and pages of the lists of calls. Knows no database.
import type { FieldFilter } from '../core/record.ts'

/** All set parts must match: the query parameters of `src/core/record.ts`, and the gateway's own filters. */
export interface CallFilter extends FieldFilter {
  /** Milliseconds since the epoch; since is inclusive, until is not. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

export interface Page {
  readonly limit: number
  /** Id of the last row of the previous page. */
  readonly cursor?: string | undefined
}
