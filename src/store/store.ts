// Interface of the store as the gateway uses it: writes the events of calls and reads them back. Independent
// of the database.

import type { Account } from '../core/period.ts'
import type { TracedCall } from '../core/tracing.ts'
import type { NoteChore } from '../core/upkeep.ts'
import type { ArtifactLimits, MakeArtifact } from './artifact-buffer.ts'
import type { KeptRowWrites } from './kept.ts'
import type { Done, OpeningCounts } from './queue.ts'
import type { Reads, RetentionLimits } from './reads.ts'
import type { Opening, Write } from './writes.ts'

/** A call from an earlier gateway process that continues at its provider. */
export interface RunningCall {
  readonly id: string
  /** Its state as JSON, as it was written. */
  readonly run: string
  readonly keyName: string | null
  readonly sessionId: string | null
  /** US dollars reserved for the call; null without a budget. */
  readonly usd: number | null
}

export interface Store {
  /** Records a call. If that fails, `done` receives the error, and nothing may be sent. */
  open(opening: Opening, done: Done): void
  /**
   * Resolves when the write is committed. `next` rejects if it cannot be committed; then nothing may be sent.
   * `streaming` and `close` never reject, and are retried until they succeed.
   */
  write(write: Exclude<Write, Opening>): Promise<void>
  /**
   * Stores the artifact of a call after its `close` was written. `weight`: bytes of memory that the artifact
   * occupies.
   */
  saveArtifact(callId: string, weight: number, make: MakeArtifact): void
  /** Writes of responses that the gateway stores; `calls.keptChain` reads them. */
  readonly kept: KeptRowWrites
  /** Reads of the record. */
  readonly calls: Reads
  readonly openings: Readonly<OpeningCounts>
  /** Calls of an earlier gateway process that continue at their provider. */
  readonly background: readonly RunningCall[]
  /** Number of calls that an earlier gateway process left open. */
  readonly interrupted: readonly TracedCall[]
  /** Spending of the keys; throws `log_unavailable` if it cannot be read. */
  readonly spending: Spending
  /** Reason why the store cannot be written at present; null if it can. */
  readonly failure: string | null
  /** Reason why the record cannot be read at present; null if it can. */
  readonly readFailure: string | null
  /** Waits at most `graceMs` for open calls to end and commits them, then unlocks the directory. */
  close(graceMs?: number): Promise<void>
}

/** Store of a gateway in a fleet, whose calls go to a log that several gateways share. */
export interface Journal extends Store {
  /** File of the journal, for a thread that reads it. */
  readonly file: string
  /** Resolves when all writes so far are committed; rejects if that is unknown. */
  settle(): Promise<void>
  /** Reports that the shared log has received the outbox up to this number. */
  shipped(seq: number): Promise<void>
}

/**
 * Spending of the keys, as separate sums: retention may delete a call within the month in which it was made.
 */
export interface Spending {
  spent(account: Account): Spent
}

/** US dollars. */
export interface Spent {
  /** Everything that counts. */
  readonly usd: number
  /**
   * The unreported part of the spending: calls that were aborted, were cut off, or were answered without
   * usage.
   */
  readonly estimatedUsd: number
  /** Number of attempts whose cost is missing or partly missing, and is not estimated either. */
  readonly unknownAttempts: number
}

/** `shared`: the record is also in the fleet's log before a byte leaves. */
export type Durability = 'process' | 'full' | 'shared'

export interface StoreOptions {
  readonly directory: string
  readonly durability: Durability
  readonly retention: RetentionLimits & { readonly days: number }
  readonly artifacts: ArtifactLimits
  /** True if calls also go to the log of a fleet. */
  readonly fleet?: boolean
  /** False if the main thread reads and writes; true by default. */
  readonly threads?: boolean | undefined
  /** Called when nothing can be written any longer. */
  readonly onFailure?: (message: string) => void
  /** Called with the end of each chore of upkeep. */
  readonly onChore?: NoteChore
  /** Called with the reason when a thread of an open store has died. The thread is then restarted. */
  readonly onDeath?: (reason: string) => void
  /** Called if the state of the store itself is unknown after a fault of the gateway, so that only a restart helps. */
  readonly onDoubt?: (reason: string) => void
}
