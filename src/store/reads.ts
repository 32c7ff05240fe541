// Everything that can be read of the record. The reads run in a thread of their own, so that no scan, however
// long, holds up a call; this file is both ends of the way there.
import { Worker } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { GatewayError } from '../errors.ts'
import { type CallLogReads, openCallLogs } from './call-logs.ts'
import { openSessions, type SessionReads } from './sessions.ts'
import { openUsage, type UsageReads } from './usage.ts'

type AllReads = CallLogReads & UsageReads & SessionReads
type Name = keyof AllReads

/** Each rejects with `log_unavailable` when the record cannot be read. */
export type Reads = {
  readonly [Each in Name]: (...args: Parameters<AllReads[Each]>) => Promise<ReturnType<AllReads[Each]>>
}

export interface ReaderData {
  readonly file: string
}

export interface Asked {
  readonly n: number
  readonly name: Name
  readonly args: readonly unknown[]
}

export interface Answered {
  readonly n: number
  readonly value?: unknown
  /** SQLite's message, and its code where it has one. */
  readonly failure?: { readonly message: string; readonly code: string | undefined }
}

/** The reads on a connection of their own. */
export const openReads = (db: Database): AllReads => ({
  ...openCallLogs(db),
  ...openUsage(db),
  ...openSessions(db),
})

const NAMES = Object.keys({
  list: true,
  find: true,
  history: true,
  routing: true,
  sessions: true,
  session: true,
} satisfies Record<Name, true>) as Name[]

/** Starts the reader thread. A thread that died fails every later read. `onFailure` hears of every read that failed. */
export function startReader(
  workerData: ReaderData,
  onFailure: (code: string | undefined, message: string) => void,
): { readonly reads: Reads; stop(): Promise<void> } {
  const source = import.meta.url.endsWith('.ts') ? './reader.ts' : './reader.js'
  const worker = new Worker(new URL(source, import.meta.url), { workerData })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let last = 0
  let dead: string | null = null

  const unreadable = (reason: string) =>
    new GatewayError('log_unavailable', 'The record cannot be read; the gateway log says why.', {
      cause: new Error(`the record cannot be read: ${reason}`),
    })
  const die = (reason: string) => {
    dead ??= reason
    for (const { reject } of waiting.values()) reject(unreadable(dead))
    waiting.clear()
  }
  worker.on('message', ({ n, value, failure }: Answered) => {
    const { resolve, reject } = waiting.get(n)!
    waiting.delete(n)
    if (!failure) return resolve(value)
    onFailure(failure.code, failure.message)
    reject(unreadable(failure.message))
  })
  worker.on('error', (error) => die(`the reader thread failed: ${error.message}`))
  worker.on('exit', () => die('the reader thread ended'))

  const ask =
    (name: Name) =>
    (...args: readonly unknown[]) =>
      new Promise((resolve, reject) => {
        if (dead) return reject(unreadable(dead))
        const n = ++last
        waiting.set(n, { resolve, reject })
        worker.postMessage({ n, name, args } satisfies Asked)
      })

  return {
    reads: Object.fromEntries(NAMES.map((name) => [name, ask(name)])) as unknown as Reads,
    stop: () =>
      new Promise((resolve) => {
        if (dead) return resolve()
        worker.once('exit', () => resolve())
        worker.postMessage(null)
      }),
  }
}
