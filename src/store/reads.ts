// Everything that can be read of what is on record, and the values that it comes as. Knows no database.
import type { Tokens } from '../call.ts'
import type { CallDetail, CallRecord } from '../record.ts'
import type { CallFilter, Page } from './filters.ts'
import type { RetentionLimits } from './store.ts'

/** A page of a list, contract "Lists". */
export interface Listed<Item> {
  readonly data: readonly Item[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

export interface CallLogReads {
  /** Newest first; one row more than the page tells whether there are more. */
  list(filter: CallFilter, page: Page): Listed<CallRecord>
  /** The same as JSON, contract "Lists", so that it is written where it is read; of each record these fields, else all. */
  listText(filter: CallFilter, page: Page, fields?: readonly (keyof CallRecord)[]): string
  /** One record with its attempts; null when there is none, or none for this key. */
  find(id: string, keyName?: string): CallDetail | null
  /** The provider that gave an answer and keeps it; null where none of this key is on record under that id. */
  providerOf(responseId: string, keyName: string | null): string | null
}

export interface ArtifactReads {
  /** The artifact of a call as JSON text; null when it is not kept, or not for this key. */
  artifact(id: string, keyName?: string): string | null
}

/** Milliseconds since the epoch; since is inclusive, until is not. */
export interface Span {
  readonly since: number
  readonly until: number
}

/** What usage can be told apart by. */
export type UsageKey = 'provider' | 'model' | 'route' | 'tier' | 'key'

/** Sums of calls; tokens and cost are of those calls for which they are known. */
export interface Usage {
  readonly calls: number
  readonly failed: number
  /** Calls that went on to another target. */
  readonly fell_back: number
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost_usd: number | null
  /** Calls whose cost is not known, or not yet. */
  readonly calls_without_cost: number
  /** What cache hits would have cost. */
  readonly saved_usd: number
}

export interface Bucket extends Usage {
  readonly start: string
  /** The provider, model, route, tier or key, where it was asked for; null for calls without one. */
  readonly by?: string | null
}

export interface History {
  readonly totals: Usage
  /** Oldest first; a bucket without calls is left out. */
  readonly buckets: readonly Bucket[]
}

/** What calls of a route used at one of its targets. */
export interface TargetUsage extends Usage {
  /** Null for direct ids. */
  readonly route: string | null
  readonly provider: string
  readonly model: string
}

export interface UsageReads {
  /** By the target that served, or was tried last; most calls first. */
  targets(span: Span, keyName?: string): TargetUsage[]
  /** `bucketMs` divides a day or is one; with `keyName` only calls of this gateway key. */
  history(span: Span, bucketMs: number, by?: UsageKey, keyName?: string): History
}

export interface Share {
  readonly calls: number
  /** Of all calls; null where there are none. */
  readonly share: number | null
}

/** Contract "Auto-routing analytics". Calls without a tier are under `none`. */
export interface RoutingShares {
  readonly total_calls: number
  readonly strategy_distribution: Readonly<Record<string, Share>>
  readonly tier_distribution: Readonly<Record<string, Share>>
  readonly top_providers: readonly (Share & {
    readonly provider: string
    readonly p50_latency_ms: number | null
  })[]
  readonly fallback: Share
}

export interface RoutingReads {
  /** With `keyName` only calls of this gateway key. */
  routing(span: Span, keyName?: string): RoutingShares
}

/** Tokens of several calls; of each kind those that were reported, null where none was. */
export type TokenSums = Omit<Tokens, 'source'>

/** Contract "Session". */
export interface Session {
  readonly session_id: string
  readonly first_seen: string
  readonly last_seen: string
  readonly calls: number
  readonly failed: number
  readonly last_requested_model: string
  readonly last_provider: string
  readonly last_model: string
  readonly tokens: TokenSums
  readonly cost_usd: number | null
  readonly calls_without_cost: number
}

/** What a session used of one model. */
export interface SessionModel
  extends Pick<Session, 'calls' | 'failed' | 'tokens' | 'cost_usd' | 'calls_without_cost'> {
  readonly provider: string
  readonly model: string
}

/** What one agent of a session used; its calls of one purpose. */
export interface SessionPart
  extends Pick<
    Session,
    'calls' | 'failed' | 'tokens' | 'cost_usd' | 'calls_without_cost' | 'first_seen' | 'last_seen'
  > {
  /** Null: the session itself. */
  readonly agent_id: string | null
  readonly purpose: CallRecord['purpose']
}

export interface SessionReads {
  /** Newest first by their first call, which never changes, so that pages have no gap and no repeat. */
  sessions(page: Page, keyName?: string): Listed<Session>
  /** Those that cost most, so many. */
  dearest(limit: number, keyName?: string): readonly Session[]
  /** Null when there is none, or none for this key. */
  session(
    id: string,
    keyName?: string,
  ): (Session & { readonly by_model: readonly SessionModel[]; readonly parts: readonly SessionPart[] }) | null
}

/** How full one of the caps of retention is. */
export interface Fill {
  readonly name: 'rows' | 'days' | 'bytes'
  readonly have: number
  readonly cap: number
}

export interface FillReads {
  /** What is on record, held against its caps. `now`: milliseconds since the epoch. */
  fill(
    caps: RetentionLimits & { readonly days: number },
    now: number,
  ): { readonly calls: number; readonly fills: readonly Fill[] }
}

/** As they are where the database is; each may throw. */
export type AllReads = FillReads & CallLogReads & ArtifactReads & UsageReads & RoutingReads & SessionReads
export type ReadName = keyof AllReads

/** Each rejects with `log_unavailable` when the request log cannot be read. */
export type Reads = {
  readonly [Each in ReadName]: (...args: Parameters<AllReads[Each]>) => Promise<ReturnType<AllReads[Each]>>
}
