// The store as the gateway sees it: write what happens to a call, read what happened to calls. Knows no database.

import type { TracedCall } from '../tracing.ts'
import type { ArtifactLimits, MakeArtifact } from './artifact-buffer.ts'
import type { Reads } from './reads.ts'
import type { Write } from './writes.ts'

export interface Store {
  /**
   * Resolves when the write is committed. `open` and `next` reject when it cannot be: then nothing may be
   * sent. `streaming` and `close` never reject, they are tried until they succeed.
   */
  write(write: Write): Promise<void>
  /** Keeps the artifact of a call whose `close` was written. `weight` is what holding on to it costs, bytes. */
  saveArtifact(callId: string, weight: number, make: MakeArtifact): void
  /** What was written. */
  readonly calls: Reads
  /** Calls that a gateway before this one left open. */
  readonly interrupted: readonly TracedCall[]
  /** What the keys have spent; throws `log_unavailable` when that cannot be read. */
  readonly spending: Spending
  /** Why the store cannot be written to right now; null when it can. */
  readonly failure: string | null
  /** Why what was written cannot be read right now; null when it can. */
  readonly readFailure: string | null
  /** Waits for the end of open calls and commits it, for at most `graceMs`; then gives the directory free. */
  close(graceMs?: number): Promise<void>
}

/** The store of a gateway in a fleet, whose calls go to a log that several gateways share. */
export interface Journal extends Store {
  /** Where it is, for a thread that reads it. */
  readonly file: string
  /** Resolves when what was written so far is committed; rejects where that cannot be told. */
  settle(): Promise<void>
  /** The shared log has taken all of the outbox up to this number. */
  shipped(seq: number): Promise<void>
}

/** What the keys have spent, a sum of its own: retention may drop a call in the month in which it was made. */
export interface Spending {
  /** What a key's calls of the month of `at` (ms since the epoch) count. */
  spent(keyName: string, at: number): Spent
}

/** US dollars. */
export interface Spent {
  /** All that counts. */
  readonly usd: number
  /** The part of it that was not reported: calls that were left, broke off, or answered without usage. */
  readonly estimatedUsd: number
}

/** `shared`: what is recorded is in the log of the fleet, too, before a byte leaves. */
export type Durability = 'process' | 'full' | 'shared'

export interface RetentionLimits {
  readonly rows: number
  /** Database and write-ahead log together. */
  readonly bytes: number
}

export interface StoreOptions {
  readonly directory: string
  readonly durability: Durability
  readonly retention: RetentionLimits & { readonly days: number }
  readonly artifacts: ArtifactLimits
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds that have really passed since some moment; by default those of the process. */
  readonly elapsed?: () => number
  /** What is written is to go to the log of a fleet. */
  readonly fleet?: boolean
  /** Hears of it when nothing can be written any more. */
  readonly onFailure?: (message: string) => void
  /** Hears why a thread of an open store died. It is started again. */
  readonly onDeath?: (reason: string) => void
}
