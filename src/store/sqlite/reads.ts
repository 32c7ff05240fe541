// Everything that can be read of the record. The reads run in a thread of their own, so that no scan, however long,
// holds up a call.

import type { Database } from 'better-sqlite3'
import { GatewayError } from '../../errors.ts'
import type { AllReads, ReadName, Reads } from '../reads.ts'
import { openArtifactReads } from './artifacts.ts'
import { openCallLogs } from './call-logs.ts'
import { openRoutingShares } from './routing-shares.ts'
import { openSessions } from './sessions.ts'
import { startThread, type Thread, ThreadError } from './thread.ts'
import { openUsage } from './usage.ts'

export interface ReaderData {
  readonly file: string
}

/** What the reader thread is asked. */
export type Read = readonly [name: ReadName, args: readonly unknown[]]

/** The reads on a connection of their own. */
export const openReads = (db: Database): AllReads => ({
  ...openCallLogs(db),
  ...openArtifactReads(db),
  ...openUsage(db),
  ...openRoutingShares(db),
  ...openSessions(db),
})

/** Starts the reader thread. `onFailure` hears of every read that failed, `onDeath` why the thread died. */
export function startReader(
  data: ReaderData,
  onFailure: (error: ThreadError) => void,
  onDeath: (reason: string) => void,
): { readonly reads: Reads; readonly thread: Pick<Thread, 'failure' | 'stop'> } {
  const thread = startThread('reader', data, onDeath)
  const read =
    (name: ReadName) =>
    async (...args: readonly unknown[]) => {
      try {
        return await thread.ask([name, args] satisfies Read)
      } catch (error) {
        onFailure(error as ThreadError)
        const { message, code } = error as ThreadError
        throw new GatewayError(
          'log_unavailable',
          'The request log cannot be read; the process log says why.',
          {
            cause: new ThreadError(`the request log cannot be read: ${message}`, code),
          },
        )
      }
    }
  const reads: { readonly [Each in ReadName]: ReturnType<typeof read> } = {
    list: read('list'),
    find: read('find'),
    artifact: read('artifact'),
    history: read('history'),
    routing: read('routing'),
    sessions: read('sessions'),
    session: read('session'),
  }
  return { reads: reads as unknown as Reads, thread }
}
