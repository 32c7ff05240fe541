// The store as the gateway sees it: write what happens to a call, read what happened to calls.
// Writes go to a thread of their own, and so do reads.
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Pricing } from '../pricing.ts'
import { claim, type Durability, databaseFile, StoreError } from './open.ts'
import { type Commit, WriteQueue } from './queue.ts'
import { type Reads, startReader } from './reads.ts'
import type { WriterData } from './writer.ts'
import type { Write } from './writes.ts'

export interface Store {
  /**
   * Resolves when the write is committed. `open` and `next` reject when it cannot be: then nothing may be
   * sent. `streaming` and `close` never reject, they are tried until they succeed.
   */
  write(write: Write): Promise<void>
  /** What was written. */
  readonly calls: Reads
  /** Why the store cannot be written to right now; null when it can. */
  readonly failure: string | null
  /** Waits for the end of open calls and commits it, for at most `graceMs`; then gives the directory free. */
  close(graceMs?: number): Promise<void>
}

export interface StoreOptions {
  readonly directory: string
  readonly durability: Durability
  readonly pricing: Pricing
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Hears of it when the record cannot be written any more. */
  readonly onFailure?: (message: string) => void
}

/** Opens the data directory. Rejects with StoreError: one line that says what to do. */
export async function openStore({
  directory,
  durability,
  pricing,
  now,
  onFailure,
}: StoreOptions): Promise<Store> {
  const release = claim(directory, now())
  const file = databaseFile(directory)
  const worker = startWriter({ file, durability, pricing })
  try {
    await worker.commit([]) // an empty batch is answered when the thread is up
  } catch (cause) {
    release()
    throw new StoreError(`cannot write to ${file}: ${(cause as Error).message}`, { cause })
  }
  const queue = new WriteQueue(worker.commit, onFailure)
  let open = 0
  const reader = startReader({ file }, () => {})

  return {
    async write(write) {
      if (write.kind === 'close') open--
      if (write.kind !== 'open') return queue.add(write)
      open++
      try {
        await queue.add(write)
      } catch (error) {
        open--
        throw error
      }
    },
    calls: reader.reads,
    get failure() {
      return queue.failure
    },
    async close(graceMs = 5_000) {
      const deadline = Date.now() + graceMs
      // A call whose connection was cut a moment ago is about to write its end.
      while (open > 0 && Date.now() < deadline) await sleep(5)
      await queue.drain(Math.max(1, deadline - Date.now()))
      await reader.stop() // first, because the last connection to close takes the write-ahead log with it
      await worker.stop()
      release()
    },
  }
}

/** Starts the writer thread. A thread that died fails every later commit. */
function startWriter(workerData: WriterData): { commit: Commit; stop(): Promise<void> } {
  const source = import.meta.url.endsWith('.ts') ? './writer.ts' : './writer.js'
  const worker = new Worker(new URL(source, import.meta.url), { workerData })
  let settle: ((failure: string | null) => void) | null = null
  let dead: string | null = null
  const die = (reason: string) => {
    dead ??= reason
    settle?.(dead)
  }
  worker.on('message', (failure: string | null) => settle?.(failure))
  worker.on('error', (error) => die(`the writer thread failed: ${error.message}`))
  worker.on('exit', () => die('the writer thread ended'))

  return {
    commit: (batch) =>
      new Promise((resolve, reject) => {
        settle = (failure) => {
          settle = null
          if (failure === null) resolve()
          else reject(new Error(failure))
        }
        if (dead) settle(dead)
        else worker.postMessage(JSON.stringify(batch)) // as text: the structured clone of these objects costs more
      }),
    stop: () =>
      new Promise((resolve) => {
        if (dead) return resolve()
        worker.once('exit', () => resolve())
        worker.postMessage(null)
      }),
  }
}
