// What the lists of calls may be narrowed to, and their pages. Knows no database.
import type { FieldFilter } from '../record.ts'

/** Every part that is set must hold. The query parameters of `src/record.ts`, and what the gateway itself asks for. */
export interface CallFilter extends FieldFilter {
  /** Milliseconds since the epoch; since is inclusive, until is not. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

export interface Page {
  readonly limit: number
  /** The id of the last row of the page before. */
  readonly cursor?: string | undefined
}
