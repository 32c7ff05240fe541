// What the lists of calls may be narrowed to, and their pages. Knows no database.
import type { CallState } from '../call.ts'

/** What a list may be narrowed to; every field that is set must hold. */
export interface CallFilter {
  readonly session_id?: string | undefined
  /** `none`: only calls without an agent id. */
  readonly agent_id?: string | undefined
  readonly requested_model?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly route?: string | undefined
  readonly strategy?: string | undefined
  readonly tier?: string | undefined
  readonly state?: CallState | undefined
  /** An HTTP status, `ok` (completed) or `error` (failed, aborted or interrupted). */
  readonly status?: number | 'ok' | 'error' | undefined
  /** Milliseconds since the epoch; since is inclusive, until is not. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** Only rows of this gateway key. */
  readonly key_name?: string | undefined
}

export interface Page {
  readonly limit: number
  /** The id of the last row of the page before. */
  readonly cursor?: string | undefined
}
