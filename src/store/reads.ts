// Every query on the record, with the type of its result. Independent of the database.
import type { Tokens } from '../core/call.ts'
import type { CallDetail, CallRecord, FieldFilter, PastCall } from '../core/record.ts'
import type { KeptRowReads } from './kept.ts'

/** A page of a list, as in the contract's section "Lists". */
interface Listed<Item> {
  readonly data: readonly Item[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** Provider and model that answered a call. */
export interface Maker {
  readonly provider: string
  readonly model: string
}

/** The call that made an object stored by a provider. */
export interface ObjectMaker extends Maker {
  /** Name of the object. */
  readonly id: string
  readonly call_id: string
  /** Name of the gateway key that owns the object. */
  readonly key_name: string | null
}

export interface CallLogReads {
  /** Returns calls, newest first. Reads one row more than the page to see whether there are more. */
  list(filter: CallFilter, page: Page): Listed<CallRecord>
  /**
   * Returns the same list as JSON text, as in the contract's section "Lists", so that the reading thread
   * serializes it. The text contains only these fields of each record, by default all.
   */
  listText(filter: CallFilter, page: Page, fields?: readonly (keyof CallRecord)[]): string
  /** Returns one record with its attempts; null if this key has no such record. */
  find(id: string, keyName?: string): CallDetail | null
  /** Returns the provider that made and stores an answer; null if this key has no answer with that id. */
  makerOf(responseId: string, keyName: string | null): Maker | null
  /**
   * Returns the calls that made these objects, one for each object on record, regardless of the key that made them.
   * The call itself may be deleted.
   */
  objectMakers(names: readonly string[]): readonly ObjectMaker[]
}

export interface ArtifactReads {
  /** Returns the artifact of a call as JSON text; null if it is not stored or belongs to another key. */
  artifact(id: string, keyName?: string): string | null
}

/** Milliseconds since the epoch; `since` is inclusive, `until` is exclusive. */
export interface Span {
  readonly since: number
  readonly until: number
}

/** Keys to group usage by. */
export const USAGE_KEYS = [
  'provider',
  'model',
  'route',
  'tier',
  'key',
  'session',
  'client',
  'answered',
] as const
export type UsageKey = (typeof USAGE_KEYS)[number]

/** How a span is divided: buckets of this length, the days of a time zone, or a single bucket. */
export type Division = { readonly ms: number } | { readonly dayIn: string } | 'whole'

/** Sums of calls. Tokens and cost include only the calls for which they are known. */
export interface UsageSums {
  readonly calls: number
  readonly failed: number
  /** Calls that the client aborted. */
  readonly aborted: number
  /** Calls that moved on to another target. */
  readonly fell_back: number
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  /** Input tokens that were read from a cache. */
  readonly cached_input_tokens: number | null
  /** Calls whose conversation moved to another target while the previous target had its prompt cached. */
  readonly moved: number
  /** Cached tokens lost by these moves. */
  readonly cache_lost: number
  readonly cost_usd: number | null
  /** True if the cost of some calls is unknown, partial or not known yet. */
  readonly cost_is_minimum: boolean
  /** True if the cost of some calls is computed from estimated tokens. */
  readonly cost_is_estimated: boolean
  /** Number of calls whose cost is unknown, partial or not known yet. */
  readonly calls_without_cost: number
  readonly flat_usd: number
  /** Cost saved by cache hits. */
  readonly saved_usd: number
}

export interface Bucket extends UsageSums {
  readonly start: string
  /** Value of the grouped field; of a client, the program's name. Null for calls without one. */
  readonly by?: string | null
}

export interface History {
  readonly totals: UsageSums
  /** Buckets, oldest first. Buckets without calls are left out. */
  readonly buckets: readonly Bucket[]
}

/** Usage of a route at one of its targets. */
export interface TargetUsage extends UsageSums {
  /** Null for direct ids. */
  readonly route: string | null
  readonly provider: string
  readonly model: string
}

export interface UsageReads {
  /** Sums by the target that served or was tried last; most calls first. */
  targets(span: Span, keyName?: string): TargetUsage[]
  /**
   * Usage in buckets of time, whose length is a day or a divisor of a day; `keyName` limits it to the calls of this
   * gateway key.
   */
  history(span: Span, division: Division, by?: UsageKey, keyName?: string): History
}

export interface Share {
  readonly calls: number
  /** Share of all calls; null if there are none. */
  readonly share: number | null
}

/** Shares as in the contract's section "Auto-routing analytics". Calls without a tier are under `none`. */
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
  /** `keyName` limits the result to the calls of this gateway key. */
  routing(span: Span, keyName?: string): RoutingShares
}

/** Sums of several calls' tokens. Each kind includes the reported values; null if none was reported. */
type TokenSums = Omit<Tokens, 'source'>

/** Contract "Session". */
export interface Session {
  readonly session_id: string
  readonly first_seen: string
  readonly last_seen: string
  readonly calls: number
  readonly failed: number
  readonly aborted: number
  readonly last_requested_model: string
  readonly last_provider: string
  readonly last_model: string
  /** Name of the program that made the last call, without its version. */
  readonly last_client: string | null
  readonly tokens: TokenSums
  readonly cost_usd: number | null
  readonly cost_is_minimum: boolean
  readonly cost_is_estimated: boolean
  readonly calls_without_cost: number
  readonly flat_usd: number
}

type SessionAmount =
  | 'calls'
  | 'failed'
  | 'aborted'
  | 'tokens'
  | 'cost_usd'
  | 'cost_is_minimum'
  | 'cost_is_estimated'
  | 'calls_without_cost'
  | 'flat_usd'

/** Usage of a session by model. */
export interface SessionModel extends Pick<Session, SessionAmount> {
  readonly provider: string
  readonly model: string
  /** The model that answered, if it is another one; null in a fleet, whose sums do not name it. */
  readonly answered: string | null
}

/** Usage of one agent of a session, for one purpose. */
export interface SessionPart extends Pick<Session, SessionAmount | 'first_seen' | 'last_seen'> {
  /** Null for the session itself. */
  readonly agent_id: string | null
  readonly purpose: CallRecord['purpose']
}

export interface SessionReads {
  /**
   * Returns sessions, newest first by their first call. That call never changes, so pages have no gap and no
   * repeat.
   */
  sessions(page: Page, keyName?: string): Listed<Session>
  /** Returns the `limit` most expensive sessions. */
  dearest(limit: number, keyName?: string): readonly Session[]
  /** Null if this key has no such session. */
  session(
    id: string,
    keyName?: string,
  ): (Session & { readonly by_model: readonly SessionModel[]; readonly parts: readonly SessionPart[] }) | null
}

/** Level of one of the caps of retention. */
export interface Fill {
  readonly name: 'rows' | 'days' | 'bytes'
  readonly have: number
  readonly cap: number
}

export interface FillReads {
  /** Compares the record with its caps. `now`: milliseconds since the epoch. */
  fill(
    caps: RetentionLimits & { readonly days: number },
    now: number,
  ): { readonly calls: number; readonly fills: readonly Fill[] }
}

export interface PastReads {
  /** Returns up to `limit` calls, oldest first, beginning after the call `after`. */
  past(span: Span, after: string, limit: number, keyName?: string): readonly PastCall[]
}

/** Reads on the database itself; each may throw. */
export type AllReads = FillReads &
  PastReads &
  CallLogReads &
  ArtifactReads &
  UsageReads &
  RoutingReads &
  SessionReads &
  KeptRowReads
export type ReadName = keyof AllReads

/** Each read rejects with `log_unavailable` if the request log cannot be read. */
export type Reads = {
  readonly [Each in ReadName]: (...args: Parameters<AllReads[Each]>) => Promise<ReturnType<AllReads[Each]>>
}

/** All reads, so that none is missing where they are passed on. */
const NAMES: Readonly<Record<ReadName, true>> = {
  list: true,
  listText: true,
  find: true,
  makerOf: true,
  objectMakers: true,
  artifact: true,
  history: true,
  targets: true,
  fill: true,
  past: true,
  routing: true,
  sessions: true,
  session: true,
  dearest: true,
  keptChain: true,
  keptSize: true,
}

/** Returns reads that `read` carries out elsewhere, such as in a thread. */
export const readsThrough = (read: (name: ReadName, args: readonly unknown[]) => Promise<unknown>): Reads =>
  Object.fromEntries(
    Object.keys(NAMES).map((name) => [name, (...args: unknown[]) => read(name as ReadName, args)]),
  ) as unknown as Reads

export interface RetentionLimits {
  readonly rows: number
  /** Total size of the database and write-ahead log. */
  readonly bytes: number
}

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
