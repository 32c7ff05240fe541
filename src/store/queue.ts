// Joins the writes of many calls into transactions. Calls wait for their openings, so those go immediately:
// all openings of one turn of the event loop are committed together. This thread commits them if no other
// connection is writing, otherwise the writer thread does in its next batch. Closings wait for other closings
// to join them. One batch is in flight at a time. While nothing can be written, calls are refused
// immediately. Independent of SQL; both ways to commit are parameters.

import { after, guarded, stray } from '../shared/boundary.ts'
import { clock, sleep, type Timer } from '../shared/clock.ts'
import type { Opening, Write } from './writes.ts'

/**
 * Commits a batch. Resolves with null, or with a reason for each write if some were refused (null: written).
 * Rejects if nothing can be written. An empty batch proves that writing is possible.
 */
export type Commit = (batch: Write[]) => Promise<readonly (string | null)[] | null>

/**
 * Commits openings on this thread in one transaction, without waiting for a lock. `locked`: another
 * connection was writing. The writer thread must commit them unless the result is `committed`. Throws if it
 * is unknown which openings were written.
 */
export type CommitHere = (openings: readonly Opening[]) => 'committed' | 'locked' | 'not possible'

/** Numbers of openings since the start, by the thread that committed them and the reason. */
export interface OpeningCounts {
  /** Openings committed on this thread. */
  here: number
  /** Openings left to the writer thread because another connection was writing. */
  locked: number
  /**
   * Openings left to the writer thread without an attempt here, because there were several in one turn or a batch was
   * in flight.
   */
  together: number
}

/** Called with nothing when the write is committed, or with the reason why it cannot be. */
export type Done = (error: Error | null) => void

interface Waiting<What = Write> {
  readonly write: What
  readonly done: Done
}

/**
 * Maximum time (ms) and number of closing writes that wait for other closings. No call waits for a closing,
 * and a read commits waiting ones. Closings of many calls change the same sums and pages. With one
 * connection, a call takes 0.43 ms of processor time, compared with 0.71 when each closing went with the next
 * opening.
 */
const LINGER_MS = 10
const MAX_LINGERING = 128

/** Maximum closings in a batch. Openings that arrive meanwhile wait for the batch, about a millisecond. */
const MAX_CLOSINGS_A_BATCH = 24

/** Maximum openings of a turn that are committed here. For more, waking the writer thread is cheaper. */
const MAX_HERE = 1

/**
 * Maximum closings that wait while openings are committed here. Beyond it, calls slow down to the writer's
 * pace.
 */
const MAX_WAITING_CLOSINGS = 1_024

/** Delay before a failed closing write, or a failed check that writing is possible, is retried, ms. */
const RETRY_MS = 250

/** Time after which openings stop waiting for the batch in flight and are committed here, ms. */
const SLOW_MS = 100

/** Time after which a batch counts as failed until it is written, ms. Reads then stop waiting for it. */
const STUCK_MS = 1_000

/**
 * Time after which calls that cannot be opened here stop waiting for the batch in flight and are refused, ms.
 */
const REFUSE_MS = 3_000

/**
 * Queue of writes. A failed opening is rejected, so that its call can be refused. A failed closing is retried
 * until it succeeds, because its call has happened.
 */
export class WriteQueue {
  readonly #commit: Commit
  readonly #commitHere: CommitHere
  readonly #onFailure: (message: string) => void
  readonly #onDoubt: (reason: string) => void
  /** Openings of this turn of the event loop. */
  #fresh: Waiting<Opening>[] = []
  /** Openings that wait for the writer thread. */
  #openings: Waiting[] = []
  #closings: Waiting[] = []
  /** True if the closings go with the next batch. */
  #isDue = false
  /** Failed closing writes that wait to be retried. */
  #unwritten: Waiting[] = []
  /** Reads that wait for earlier writes. */
  #flushes: (() => void)[] = []
  #linger: Timer | undefined
  #retry: Timer | undefined
  #running: Promise<void> | null = null
  /** True if the batch in flight takes long. */
  #isSlow = false
  /** Reason why nothing can be written. */
  #refusal: string | null = null
  #failure: string | null = null
  #closing = false
  #closed = false
  /** Reason why the state of the queue itself is unknown, after a fault of the gateway. No call is opened any more. */
  #doubt: string | null = null
  readonly openings: OpeningCounts = { here: 0, locked: 0, together: 0 }

  /**
   * Creates the queue. Calls `onFailure` when writing begins to fail, and `onDoubt` when the queue itself has failed, so
   * that only a restart helps.
   */
  constructor(
    commit: Commit,
    onFailure: (message: string) => void = () => {},
    commitHere: CommitHere = () => 'not possible',
    onDoubt: (reason: string) => void = () => {},
  ) {
    this.#onDoubt = onDoubt
    this.#commit = commit
    this.#commitHere = commitHere
    this.#onFailure = onFailure
  }

  readonly #broken = (error: Error) => {
    this.#doubt = `the queue of the request log failed: ${error.message}`
    for (const each of this.#fresh.splice(0)) report(each, new Error(this.#doubt))
    this.#refuseOpenings(new Error(this.#doubt))
    this.#endFlushes()
    this.#onDoubt(this.#doubt)
  }

  readonly #stuck = guarded((error: never) => {
    this.#running = null
    throw error
  }, this.#broken)

  readonly #commitSoon = guarded(() => this.#commitFresh(), this.#broken)

  /** Reason why writes fail at present; null if they do not. */
  get failure(): string | null {
    return this.#doubt ?? this.#failure
  }

  /** Queues the opening of a call. */
  open(write: Opening, done: Done): void {
    const refusal = this.#doubt ?? this.#refusal
    if (refusal !== null) {
      done(new Error(refusal))
      return
    }
    this.#fresh.push({ write, done })
    if (this.#fresh.length === 1) setImmediate(this.#commitSoon)
  }

  /** Queues any other write; resolves when it is committed. */
  add(write: Exclude<Write, Opening>): Promise<void> {
    return new Promise((resolve, reject) => {
      const added = { write, done: (error: Error | null) => (error ? reject(error) : resolve()) }
      if (this.#refusal === null) {
        ;(isOpening(write) ? this.#openings : this.#closings).push(added)
        if (write.kind === 'background' || (write.kind === 'named' && write.isAwaited)) this.#isDue = true
        this.#schedule()
      } else if (isOpening(write)) reject(new Error(this.#refusal))
      else {
        this.#unwritten.push(added)
        this.#tryLater()
      }
    })
  }

  /** Resolves when all earlier writes are committed, or when writing fails or takes too long. */
  async flush(): Promise<void> {
    if (this.failure !== null || (this.#running === null && this.#isEmpty)) return
    await new Promise<void>((resolve) => {
      this.#flushes.push(resolve)
      this.#start()
    })
  }

  /** Checks immediately whether writing is possible. */
  probe(): void {
    this.#start()
  }

  /** Commits all writes so far; gives up the rest after `graceMs`. Add no writes afterwards. */
  async drain(graceMs: number): Promise<void> {
    const deadline = clock.monotonic() + graceMs
    this.#closing = true
    this.#commitFresh()
    do {
      this.#schedule()
      await within(this.#running, deadline - clock.monotonic())
      if (this.#unwritten.length > 0) await sleep(Math.min(RETRY_MS, deadline - clock.monotonic()))
    } while (this.#pending && clock.monotonic() < deadline)
    this.#closed = true
    this.#retry?.close()
    this.#linger?.close()
  }

  get #pending(): boolean {
    return this.#running !== null || !this.#isEmpty || this.#unwritten.length > 0
  }

  get #isEmpty(): boolean {
    return this.#fresh.length === 0 && this.#openings.length === 0 && this.#closings.length === 0
  }

  #commitFresh(): void {
    const fresh = this.#fresh
    this.#fresh = []
    if (fresh.length === 0) return
    const isQuiet = this.#running === null && fresh.length <= MAX_HERE
    const result = isQuiet || this.#isSlow ? this.#openHere(fresh) : 'not possible'
    if (result === 'failed') return
    this.openings[COUNTED_AS[result]] += fresh.length
    if (result === 'committed') return
    this.#openings.push(...fresh)
    if (this.#refusal === null) this.#start()
    else this.#refuseOpenings(new Error(this.#refusal))
  }

  /** Commits openings on this thread, if that is possible immediately. */
  #openHere(openings: readonly Waiting<Opening>[]): ReturnType<CommitHere> | 'failed' {
    if (this.#refusal !== null || this.#closings.length >= MAX_WAITING_CLOSINGS) return 'not possible'
    try {
      const result = this.#commitHere(openings.map(({ write }) => write))
      if (result === 'committed') for (const each of openings) report(each, null)
      return result
    } catch (error) {
      this.#refuse(openings, error as Error)
      this.#tryLater()
      return 'failed'
    }
  }

  /**
   * Opens calls that wait for a slow batch. The writer thread may be waiting for the disk or for a busy
   * processor. Returns false if the database is locked meanwhile.
   */
  #overtake(): boolean {
    const mine = this.#openings.filter((each): each is Waiting<Opening> => each.write.kind === 'open')
    const result = this.#openHere(mine)
    if (result !== 'committed') return result === 'failed'
    this.#openings = this.#openings.filter(({ write }) => write.kind !== 'open')
    return true
  }

  #schedule(): void {
    if (this.#closed) return
    const closings = this.#closings.length
    if (closings >= MAX_LINGERING || (this.#closing && closings > 0)) this.#isDue = true
    else if (closings > 0) this.#linger ??= after(LINGER_MS, () => this.#startAll(), this.#broken)
    if (this.#openings.length > 0 || this.#isDue || this.#flushes.length > 0) this.#start()
  }

  #startAll(): void {
    this.#isDue = true
    this.#start()
  }

  #start(): void {
    // Deferred, so that the other calls of this turn of the event loop join the same batch.
    this.#running ??= new Promise<void>((next) => setImmediate(next))
      .then(() => this.#run())
      .catch(this.#stuck)
  }

  /** Returns the next batch. A call's end follows its opening, which was committed earlier. */
  #take(): Waiting[] {
    const batch = this.#openings
    this.#openings = []
    if (!this.#isDue && this.#flushes.length === 0) return batch
    // A read waits for all closings. Otherwise the rest goes with the next batch.
    const most = this.#flushes.length > 0 ? this.#closings.length : MAX_CLOSINGS_A_BATCH
    batch.push(...this.#closings.splice(0, most))
    this.#isDue = this.#closings.length > 0
    this.#linger?.close()
    this.#linger = undefined
    return batch
  }

  async #run(): Promise<void> {
    const batch = this.#take()
    const flushes = this.#flushes
    this.#flushes = []
    const wasRefused = this.#refusal !== null
    const watch = this.#watch(flushes)
    try {
      const reasons = await this.#commit(batch.map(({ write }) => write))
      // The ends of calls may be written where no call can be opened.
      if (wasRefused && batch.length > 0) await this.#commit([])
      this.#refusal = null
      this.#settle(batch, reasons)
    } catch (error) {
      this.#refuse(batch, error as Error)
    }
    watch.stop()
    this.#running = null
    for (const resolve of flushes) resolve()
    if (this.#failure !== null) {
      this.#endFlushes()
      this.#tryLater()
    }
    this.#schedule()
  }

  /** Watches the duration of a batch in flight. */
  #watch(flushes: readonly (() => void)[]): { stop(): void } {
    let isDone = false
    let timer: Timer
    const wait = (at: number, ms: number) => {
      const look = () => {
        if (isDone || !this.#late(at, flushes)) return
        wait(at < STUCK_MS ? STUCK_MS : at + STUCK_MS, at < STUCK_MS ? STUCK_MS - at : STUCK_MS)
      }
      // Looks in a later turn than the timer: if this thread was delayed, the answer may already have arrived.
      timer = after(ms, () => void setImmediate(guarded(look, this.#broken)), this.#broken)
    }
    wait(SLOW_MS, SLOW_MS)
    return {
      stop: () => {
        isDone = true
        this.#isSlow = false
        timer.close()
      },
    }
  }

  /** Handles a batch that has been in flight for `ms`. Returns false if calls are refused from now on. */
  #late(ms: number, flushes: readonly (() => void)[]): boolean {
    this.#isSlow = true
    const isOpened = this.#overtake()
    if (ms < STUCK_MS) return true
    const reason = `nothing has been written for ${ms} ms`
    if (!isOpened && ms >= REFUSE_MS) {
      this.#refusal = reason
      this.#refuseOpenings(new Error(reason))
    }
    this.#fail(reason)
    for (const resolve of flushes) resolve()
    this.#endFlushes()
    return this.#refusal === null
  }

  /** Ends a batch. Some of its writes may have been refused. */
  #settle(batch: readonly Waiting[], reasons: readonly (string | null)[] | null): void {
    let failure: string | null = null
    for (const [index, each] of batch.entries()) {
      const reason = reasons?.[index] ?? null
      if (reason === null) report(each, null)
      else if (isOpening(each.write)) report(each, new Error(reason))
      else {
        this.#unwritten.push(each)
        failure = reason
      }
    }
    this.#fail(failure)
  }

  /** Fails the batch and the writes that arrived meanwhile, because nothing can be written. */
  #refuse(batch: readonly Waiting[], error: Error): void {
    this.#refusal = error.message
    for (const each of batch)
      if (isOpening(each.write)) report(each, error)
      else this.#unwritten.push(each)
    this.#unwritten.push(...this.#closings.splice(0))
    this.#isDue = false
    this.#refuseOpenings(error)
    this.#fail(error.message)
  }

  #refuseOpenings(error: Error): void {
    for (const each of this.#openings) report(each, error)
    this.#openings = []
  }

  #endFlushes(): void {
    for (const resolve of this.#flushes) resolve()
    this.#flushes = []
  }

  #fail(message: string | null): void {
    if (message !== null && this.#failure === null) this.#onFailure(message)
    this.#failure = message
  }

  /** While the gateway is not ready and has no calls, an empty batch detects when writing works again. */
  #tryLater(): void {
    if (this.#closed) return
    const retry = () => {
      this.#retry = undefined
      this.#closings.push(...this.#unwritten)
      this.#unwritten = []
      this.#startAll()
    }
    this.#retry ??= after(RETRY_MS, retry, this.#broken)
  }
}

const COUNTED_AS = { committed: 'here', locked: 'locked', 'not possible': 'together' } as const

/** Reports the result of a write. An exception of its receiver must not look like a failed write. */
function report({ done }: Waiting, error: Error | null): void {
  try {
    done(error)
  } catch (thrown) {
    stray(thrown)
  }
}

/** Returns true for writes that must be on disk before bytes leave for a provider. */
const isOpening = ({ kind }: Write): boolean => kind === 'open' || kind === 'next'

/** Waits at most `ms`. Leaves no timer behind, because a timer would keep the process alive. */
async function within(done: Promise<void> | null, ms: number): Promise<void> {
  let timer: Timer | undefined
  const end = new Promise<void>((resolve) => {
    timer = clock.after(Math.max(0, ms), resolve)
  })
  await Promise.race([done, end])
  timer?.close()
}
