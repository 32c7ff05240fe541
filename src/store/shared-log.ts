// The log that several gateways share, as the fleet and the commands see it. Knows no database;
// `postgres/shared-log.ts` implements it.
import type { AttemptRecord } from '../core/record.ts'
import type { KeptRowWrites } from './kept-rows.ts'
import type { Reads } from './reads.ts'
import type { Row } from './sql/columns.ts'
import type { Spent } from './store.ts'

export interface SharedLogOptions {
  /** `postgresql://user:password@host:port/database`; `?host=/directory` for a socket. A secret. */
  readonly url: string
  /** off: a connection to another machine may be unencrypted. */
  readonly tls: 'verify' | 'off'
  /** File of certificates to trust instead of the usual ones. */
  readonly ca?: string | undefined
}

export interface Identity {
  /** Id of the journal: its rows, sums and leases belong to it. */
  readonly id: string
  /** Name for people. */
  readonly name: string
  /** Location of its data directory; a copy of it is elsewhere. */
  readonly place: string
  readonly version: string
}

/** An instance, and the number of its start. */
export interface Sender {
  readonly instance: string
  readonly start: number
}

/** Calls of a range of the outbox in their present state, and the keys' spending so far. */
export interface Unshipped {
  /** Last outbox entry that was read. */
  readonly until: number
  /** Grows with every change of the journal: of two states of a row, the larger number is the later one. */
  readonly revision: number
  /** Columns of `call_logs`, the price as JSON text. */
  readonly calls: readonly (Row & { readonly id: string; readonly attempt_log: readonly AttemptRecord[] })[]
  readonly spending: readonly {
    readonly key_name: string
    readonly period: string
    readonly usd: number
    readonly estimated_usd: number
    readonly unknown_attempts: number
  }[]
}

/** Where a conversation has its prompt cached. */
export interface SharedConversation {
  /** A digest. */
  readonly key: string
  /** Target, and the provider's key if there are several. */
  readonly place: string
  /** Tokens. */
  readonly cached: number
  /** Rest of the cache's life, ms. */
  readonly ms: number
}

export interface Beat {
  readonly config: string
  readonly backlog: number
  /** Targets that failed here since the last exchange, and for how long to pass them over, ms. */
  readonly cooled: readonly { readonly target: string; readonly ms: number }[]
  /** Conversations that moved or went on here since the last exchange. */
  readonly conversations: readonly SharedConversation[]
  /** Time of the last exchange by the clock of the shared log, ms since the epoch; null before the first. */
  readonly since: number | null
  /** Unused money of a lease; of one at a time, so that no two instances wait for each other. */
  readonly back: Amount | null
  /** Periods whose amounts are of interest. */
  readonly periods: readonly string[]
}

/** US dollars of a key in a period. */
export interface Amount {
  readonly keyName: string
  readonly period: string
  readonly usd: number
}

export interface Pulse {
  /** False: another process has taken this instance's place. */
  readonly isCurrent: boolean
  /** Target -> rest of its cooldown, ms. */
  readonly cooling: Readonly<Record<string, number>>
  readonly live: readonly { readonly name: string; readonly config: string }[]
  /** Conversations that the other instances have reported since `since`. */
  readonly conversations: readonly SharedConversation[]
  /** Time of this exchange by the clock of the shared log, ms since the epoch. */
  readonly at: number
  /** Totals that this instance may spend. */
  readonly granted: readonly Amount[]
  /** Spending that the other instances have reported. */
  readonly spentElsewhere: readonly (Amount & Spent)[]
}

export interface LeaseRequest {
  readonly keyName: string
  readonly period: string
  /** The whole budget, US dollars. */
  readonly budget: number
  /** Minimum; less is granted only if no more is left. */
  readonly need: number
  /** Maximum. */
  readonly want: number
  /**
   * This much is granted as long as it lasts; beyond that, a quarter of the rest, divided by the instances.
   */
  readonly step: number
  readonly live: number
}

export interface RateRequest {
  readonly keyName: string
  readonly requests: number
  /** Length of the window, ms. */
  readonly per: number
}

export interface KnownInstance {
  readonly id: string
  readonly name: string
  readonly alive: boolean
  readonly start: number
  /** ISO 8601. */
  readonly seen_at: string
  readonly version: string
  readonly config: string
  readonly backlog: number
  /** Its open calls in the shared log. */
  readonly open: number
}

/** Kept responses of the whole fleet. */
export interface SharedKeptRows extends KeptRowWrites {
  /** Deletes what had expired at this moment, ms since the epoch. */
  expire(at: number): Promise<void>
}

export interface SharedSchema {
  /** The version found; 0 if there are no tables. */
  readonly version: number
  /** Why this release cannot work with it, for an operator; null if it can. */
  readonly problem: string | null
}

/** Artifacts and retention are each instance's own. */
export type SharedReads = Omit<Reads, 'artifact' | 'fill'>

/** Every method rejects if the log cannot be reached. */
export interface SharedLog {
  readonly reads: SharedReads
  schema(): Promise<SharedSchema>
  /**
   * Creates what is missing; several instances may try at once, one does it. Changes nothing if everything
   * exists or a newer release was here. Returns the schema afterwards.
   */
  migrate(): Promise<SharedSchema>
  /** Makes room for the calls of today and the coming days. */
  makeDays(): Promise<void>
  /** Returns today and tomorrow, as far as there is no room for their calls. */
  missingDays(): Promise<string[]>
  /** Deletes what is older than `days`. Returns what was dropped. */
  dropOldDays(days: number): Promise<string[]>
  /** Registers. Returns the number of this start of the instance, or, in words, why it may not join. */
  register(identity: Identity, config: string): Promise<number | string>
  /** Writes calls; safe to repeat. When it rejects, it is unknown if they arrived. */
  ship(sender: Sender, unshipped: Unshipped): Promise<void>
  readonly kept: SharedKeptRows
  pulse(sender: Sender, beat: Beat): Promise<Pulse>
  /** Returns the total that the instance may spend in the month, US dollars; null if nothing is left. */
  takeLease(sender: Sender, request: LeaseRequest): Promise<number | null>
  /** Returns null if the call passes, else the time to wait, ms. */
  consumeRate(request: RateRequest): Promise<number | null>
  /** Reports an orderly stop, so that the next start need not wait. */
  reportStop(sender: Sender): Promise<void>
  instances(): Promise<KnownInstance[]>
  /** Removes an instance that will not come back. Returns how many of its calls were open. */
  forget(instance: KnownInstance): Promise<number>
  close(): Promise<void>
}
