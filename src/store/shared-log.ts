// Interface of the log that several gateways share, used by the fleet and the commands. Independent of the
// database; `postgres/shared-log.ts` implements it.

import type { AttemptRecord } from '../core/record.ts'
import type { Chore } from '../core/upkeep.ts'
import type { KeptRowWrites } from './kept.ts'
import type { Reads } from './reads.ts'
import type { Row } from './sql/columns.ts'
import type { Spent } from './store.ts'
import type { Write } from './writes.ts'

export interface SharedLogOptions {
  /**
   * `postgresql://user:password@host:port/database`; `?host=/directory` for a socket. Secret, because it may
   * contain a password.
   */
  readonly url: string
  /** `off`: a connection to another machine may be unencrypted. */
  readonly tls: 'verify' | 'off'
  /** File of certificates to trust instead of the default ones. */
  readonly ca?: string | undefined
}

export interface Identity {
  /** Id of the journal, which owns rows, sums and leases. */
  readonly id: string
  /** Name for people. */
  readonly name: string
  /** Location of the data directory. A copy of the journal has another location. */
  readonly place: string
  readonly version: string
}

/** A write about a call that may be on record at another instance: the objects of a batch, and its end. */
export type LateWrite = Extract<Write, { kind: 'streaming' | 'close' }>

/** An instance, and the number of its start. */
export interface Sender {
  readonly instance: string
  readonly start: number
}

/** Calls of a range of the outbox in their current state, and the keys' spending so far. */
export interface Unshipped {
  /** Last outbox entry that was read. */
  readonly until: number
  /**
   * Number that grows with every change of the journal. Of two states of a row, the one with the larger
   * number is later.
   */
  readonly revision: number
  /** Columns of `call_logs`, with the price as JSON text. */
  readonly calls: readonly (Row & { readonly id: string; readonly attempt_log: readonly AttemptRecord[] })[]
  readonly spending: readonly {
    readonly key_name: string
    readonly period: string
    readonly usd: number
    readonly estimated_usd: number
    readonly unknown_attempts: number
  }[]
}

/** Place where a conversation has its prompt cached. */
export interface SharedConversation {
  /** A digest. */
  readonly key: string
  /** Target, followed by the name of the provider's key if there are several. */
  readonly place: string
  /** Tokens. */
  readonly cached: number
  /** Remaining lifetime of the cache, ms. */
  readonly ms: number
}

export interface Beat {
  readonly config: string
  readonly backlog: number
  /** Targets that failed here since the last exchange, and the time for which to skip them, ms. */
  readonly cooled: readonly { readonly target: string; readonly ms: number }[]
  /** Conversations that moved or continued here since the last exchange. */
  readonly conversations: readonly SharedConversation[]
  /** Time of the last exchange by the clock of the shared log, ms since the epoch; null before the first. */
  readonly since: number | null
  /** Calls of this instance for which it has applied the writes left by other instances, since the last exchange. */
  readonly taken: readonly string[]
  /** Unused money of a lease. Only one at a time, so that no two instances wait for each other. */
  readonly back: Amount | null
  /** Periods for which amounts are requested. */
  readonly periods: readonly string[]
}

/** US dollars of a key in a period. */
export interface Amount {
  readonly keyName: string
  readonly period: string
  readonly usd: number
}

export interface Pulse {
  /** False if another process has taken this instance's place. */
  readonly isCurrent: boolean
  /** Remaining cooldown of each target, ms. */
  readonly cooling: Readonly<Record<string, number>>
  readonly live: readonly { readonly name: string; readonly config: string }[]
  /** Conversations that the other instances have reported since `since`. */
  readonly conversations: readonly SharedConversation[]
  /** Time of this exchange by the clock of the shared log, ms since the epoch. */
  readonly at: number
  /**
   * Writes about calls of this instance that other instances have left for it; new objects precede the end of a call.
   */
  readonly left: readonly LateWrite[]
  /** Total amounts that this instance may spend. */
  readonly granted: readonly Amount[]
  /** Spending that the other instances have reported. */
  readonly spentElsewhere: readonly (Amount & Spent)[]
}

export interface LeaseRequest {
  readonly keyName: string
  readonly period: string
  /** The whole budget, US dollars. */
  readonly budget: number
  /** Minimum grant; less is granted only if no more is left. */
  readonly need: number
  /** Maximum. */
  readonly want: number
  /**
   * Amount granted in full as long as the budget allows. Beyond that, the grant is a quarter of the rest,
   * divided by the number of instances.
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
  /** Open calls of the instance in the shared log. */
  readonly open: number
}

/** Stored responses of the whole fleet. */
export interface SharedKeptRows extends KeptRowWrites {
  /** Deletes responses that had expired at this moment, ms since the epoch. */
  expire(at: number): Promise<void>
}

export interface SharedSchema {
  /** Version of the tables found; 0 if there are none. */
  readonly version: number
  /** Reason why this release cannot work with the tables, for an operator; null if it can. */
  readonly problem: string | null
}

export type SharedChore = Extract<Chore, `${string}_shared_${string}`>

/** Each instance has its own artifacts and retention, and reprices only its own calls. */
export type SharedReads = Omit<Reads, 'artifact' | 'fill' | 'past'>

/** Every method rejects if the log cannot be reached. */
export interface SharedLog {
  readonly reads: SharedReads
  schema(): Promise<SharedSchema>
  /**
   * Creates missing tables. Several instances may call this at the same time; only one creates them. Changes
   * nothing if all tables exist or a newer release has created its own. Returns the schema afterwards.
   */
  migrate(): Promise<SharedSchema>
  /** Creates the partitions for the calls of today and the coming days. */
  makeDays(): Promise<void>
  /** Returns the names of the missing partitions for today and tomorrow. */
  missingDays(): Promise<string[]>
  /** Returns the names of the partitions with only calls older than `days`. */
  oldDays(days: number): Promise<string[]>
  /** The chores of upkeep, each by itself. `days`: days to retain. `tell`: reports what an operator may want to know. */
  readonly upkeep: Readonly<
    Record<SharedChore, (days: number, tell: (note: string) => void) => Promise<void>>
  >
  /** Registers an instance. Returns the number of its start, or the reason why it may not join. */
  register(identity: Identity, config: string): Promise<number | string>
  /** Writes calls; safe to repeat. If it rejects, it is unknown whether the calls arrived. */
  ship(sender: Sender, unshipped: Unshipped): Promise<void>
  readonly kept: SharedKeptRows
  pulse(sender: Sender, beat: Beat): Promise<Pulse>
  /** Returns the total that the instance may spend in the month, US dollars; null if nothing is left. */
  leave(write: LateWrite): Promise<void>
  takeLease(sender: Sender, request: LeaseRequest): Promise<number | null>
  /** Returns null if the call is within the limit, otherwise the time to wait, ms. */
  consumeRate(request: RateRequest): Promise<number | null>
  /** Reports an orderly stop, so that the next start does not have to wait. */
  reportStop(sender: Sender): Promise<void>
  instances(): Promise<KnownInstance[]>
  /** Removes an instance that will not come back. Returns the number of its open calls. */
  forget(instance: KnownInstance): Promise<number>
  close(): Promise<void>
}
