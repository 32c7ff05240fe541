// Joins the writes of many calls into transactions: one batch in flight, everything that arrives meanwhile
// makes up the next. Knows nothing of SQL; `commit` is given.
import type { Write } from './writes.ts'

/** Commits a batch as one transaction; rejects when nothing of it was written. */
export type Commit = (batch: Write[]) => Promise<void>

interface Waiting {
  readonly write: Write
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** How long a closing write waits for company, ms: nobody waits for it, and the next call takes it along. */
const LINGER_MS = 10

/** How long what failed waits before it is tried again, ms. */
const RETRY_MS = 250

/**
 * `add` resolves when the write is committed. An opening write that fails is rejected, so that its call can
 * be refused; a closing write is kept and tried again until it succeeds, because its call has happened.
 */
export class WriteQueue {
  readonly #commit: Commit
  #waiting: Waiting[] = []
  #linger: NodeJS.Timeout | undefined
  #running: Promise<void> | null = null
  #failure: string | null = null
  #closing = false
  #abandoned = false

  constructor(commit: Commit) {
    this.#commit = commit
  }

  /** Why the last batch failed; null when it did not. */
  get failure(): string | null {
    return this.#failure
  }

  add(write: Write): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject })
      this.#schedule()
    })
  }

  /** Commits everything that was added; what cannot be within `graceMs` is given up. */
  async drain(graceMs: number): Promise<void> {
    this.#closing = true
    const giveUp = setTimeout(() => {
      this.#abandoned = true
    }, graceMs)
    for (this.#schedule(); this.#running; ) await this.#running
    clearTimeout(giveUp)
  }

  #schedule(): void {
    if (this.#running || this.#abandoned || this.#waiting.length === 0) return
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
    try {
      await this.#commit(batch.map(({ write }) => write))
      this.#failure = null
      this.#running = null
      for (const { resolve } of batch) resolve()
    } catch (error) {
      this.#failure = (error as Error).message
      for (const waiting of batch) if (isOpening(waiting)) waiting.reject(error as Error)
      this.#waiting = [...batch.filter((waiting) => !isOpening(waiting)), ...this.#waiting]
      await sleep(RETRY_MS)
      this.#running = null
    }
    this.#schedule()
  }
}

/** Writes that must be on disk before bytes leave for a provider. */
const isOpening = ({ write }: Waiting): boolean => write.kind === 'open' || write.kind === 'next'

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
