// Filters and pages of the lists of calls. Independent of the database.
import type { FieldFilter } from '../core/record.ts'

/**
 * Filter of calls; a call must match every part that is set. The parts are the query parameters of
 * `src/core/record.ts` and the gateway's own filters.
 */
export interface CallFilter extends FieldFilter {
  /** Milliseconds since the epoch; `since` is inclusive, `until` is exclusive. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

export interface Page {
  readonly limit: number
  /** Id of the last row of the previous page. */
  readonly cursor?: string | undefined
}
