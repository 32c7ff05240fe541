// All reads of the record. The reads run in a separate thread, so that even a long scan delays no call.

import type { Database } from 'better-sqlite3'
import { GatewayError } from '../../core/errors.ts'
import { type AllReads, type ReadName, type Reads, readsThrough } from '../reads.ts'
import { openArtifactReads } from './artifacts.ts'
import { openCallLogs, openPastReads } from './call-logs.ts'
import type { OpenFiles } from './data-files.ts'
import { openKeptReads } from './kept-rows.ts'
import { openFillReads } from './retention.ts'
import { openSessions } from './sessions.ts'
import { openRoutingShares, openUsage } from './span-sums.ts'
import { type StartThread, type Thread, ThreadError } from './thread.ts'

export interface ReaderData {
  readonly file: string
  readonly files: OpenFiles
}

/** A request to the reader thread. */
export type Read = readonly [name: ReadName, args: readonly unknown[]]

/** Opens the reads on a separate connection. */
export const openReads = (db: Database): AllReads => ({
  ...openCallLogs(db),
  ...openArtifactReads(db),
  ...openUsage(db),
  ...openFillReads(db),
  ...openPastReads(db),
  ...openRoutingShares(db),
  ...openSessions(db),
  ...openKeptReads(db),
})

export interface Reader {
  /** Each read throws GatewayError `log_unavailable` if the record cannot be read. */
  readonly reads: Reads
  /** Reason why the record cannot be read at present; null if it can. */
  readonly failure: string | null
  stop(): Promise<void>
}

/**
 * Reads in a thread that starts with the first read. Awaits `ready` before each read, so that earlier writes
 * are visible. Calls `onFailure` for every failed read, and `onDeath` with the reason when the thread dies.
 */
export function openReader(
  data: ReaderData,
  start: StartThread,
  ready: () => Promise<void>,
  onFailure: (error: ThreadError) => void,
  onDeath: (reason: string) => void,
): Reader {
  let thread: Thread | null = null
  const reads = readsThrough(async (name, args) => {
    try {
      await ready()
      thread ??= start('reader', data, onDeath)
      return await thread.ask([name, args] satisfies Read)
    } catch (error) {
      onFailure(error as ThreadError)
      const { message, code } = error as ThreadError
      throw new GatewayError('log_unavailable', 'The request log cannot be read; the process log says why.', {
        cause: new ThreadError(`the request log cannot be read: ${message}`, code),
      })
    }
  })
  return {
    reads,
    get failure() {
      return thread?.failure ?? null
    },
    stop: async () => thread?.stop(),
  }
}
