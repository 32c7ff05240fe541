// Joins the writes of many calls into transactions: one batch in flight, everything that arrives meanwhile
// makes up the next. Knows nothing of SQL; `commit` is given.

import type { Write } from './writes.ts'
/** Commits a batch as one transaction; rejects when nothing of it was written. An empty one proves that it could. */
export type Commit = (batch: Write[]) => Promise<void>

interface Waiting {
  readonly write: Write
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** How long a closing write waits for company, ms: no call waits for it, and the next one takes it along. */
const LINGER_MS = 10

/** How long a closing write that failed waits before it is tried again, and writing before it is tried at all, ms. */
const RETRY_MS = 250

/**
 * `add` resolves when the write is committed. An opening write that fails is rejected, so that its call can
 * be refused; a closing write is kept and tried again until it succeeds, because its call has happened.
 */
export class WriteQueue {
  readonly #commit: Commit
  readonly #onFailure: (message: string) => void
  #waiting: Waiting[] = []
  /** Closing writes that failed, until they are tried again. */
  #failed: Waiting[] = []
  #linger: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #running: Promise<void> | null = null
  #failure: string | null = null
  #closing = false

  /** `onFailure` hears of it when writing begins to fail. */
  constructor(commit: Commit, onFailure: (message: string) => void = () => {}) {
    this.#commit = commit
    this.#onFailure = onFailure
  }

  /** Why writes fail just now; null when they do not. */
  get failure(): string | null {
    return this.#failure
  }

  add(write: Write): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject })
      this.#schedule()
    })
  }

  /** Commits everything that was added; what cannot be within `graceMs` is given up. Nothing may be added afterwards. */
  async drain(graceMs: number): Promise<void> {
    const deadline = Date.now() + graceMs
    this.#closing = true
    do {
      this.#schedule()
      await this.#running
      if (this.#failed.length > 0) await sleep(Math.min(RETRY_MS, deadline - Date.now()))
    } while (this.#pending && Date.now() < deadline)
    clearTimeout(this.#retry)
    clearTimeout(this.#linger)
  }

  get #pending(): boolean {
    return this.#running !== null || this.#waiting.length > 0 || this.#failed.length > 0
  }

  #schedule(): void {
    if (this.#running || this.#waiting.length === 0) return
    if (this.#closing || this.#waiting.some(isOpening)) this.#start()
    else this.#linger ??= setTimeout(() => this.#start(), LINGER_MS)
  }

  #start(): void {
    clearTimeout(this.#linger)
    this.#linger = undefined
    // Not at once: the other calls of this turn of the event loop belong to the same batch.
    this.#running ??= new Promise<void>((next) => setImmediate(next)).then(() => this.#run())
  }

  async #run(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    const error = await this.#write(batch)
    if (error && !this.#failure) this.#onFailure(error)
    this.#failure = error
    this.#running = null
    if (error) this.#tryLater()
    this.#schedule()
  }

  /**
   * Writes a batch; when that fails, each of its writes alone, so that one that cannot be written holds up no other.
   * Where nothing can be written, all fail at once: each alone would wait as long as the batch did.
   */
  async #write(batch: readonly Waiting[]): Promise<string | null> {
    try {
      await this.#commit(batch.map(({ write }) => write))
      for (const { resolve } of batch) resolve()
      return null
    } catch (error) {
      if (batch.length > 1 && (await this.#canWrite())) {
        let last: string | null = null
        for (const each of batch) last = (await this.#write([each])) ?? last
        return last
      }
      for (const each of batch)
        if (isOpening(each)) each.reject(error as Error)
        else this.#failed.push(each)
      return (error as Error).message
    }
  }

  #canWrite(): Promise<boolean> {
    return this.#commit([]).then(
      () => true,
      () => false,
    )
  }

  /** There may be no call while the gateway is not ready, so an empty batch finds out when it is again. */
  #tryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      this.#waiting.push(...this.#failed)
      this.#failed = []
      this.#start()
    }, RETRY_MS)
  }
}

/** Writes that must be on disk before bytes leave for a provider. */
const isOpening = ({ write }: Waiting): boolean => write.kind === 'open' || write.kind === 'next'

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)))
