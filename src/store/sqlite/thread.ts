// Both ends of a thread that answers requests one after the other, and the same without a thread. Does not know the
// meaning of the requests.
import { parentPort, Worker } from 'node:worker_threads'
import { after, detached, guarded, on, once, REPORTED, stray } from '../../shared/boundary.ts'
import type { Timer } from '../../shared/clock.ts'

/** An error in the thread, with SQLite's code, if any. */
export class ThreadError extends Error {
  override readonly name = 'ThreadError'
  readonly code: string | undefined
  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

/**
 * Thrown if it is unknown how much of the request was carried out: its thread died, or whoever carried it out threw
 * this error.
 */
export class UnansweredError extends ThreadError {}

/** Result of a failed request. For other requests, the thread sends the returned value unchanged. */
interface Failed {
  readonly failure: {
    readonly message: string
    readonly code: string | undefined
    readonly unanswered: boolean
  }
}
const isFailed = (answer: unknown): answer is Failed =>
  typeof answer === 'object' && answer !== null && 'failure' in answer

function errorIn({ failure: { message, code, unanswered } }: Failed): ThreadError {
  return unanswered ? new UnansweredError(message, code) : new ThreadError(message, code)
}

/** Handler of a thread's requests. */
export interface Requests {
  /** Returns the answer, or throws. */
  answer(message: never): unknown
  stop(): void
}

export type ThreadName = 'reader' | 'writer'

/** Starts a thread. Calls `onDeath` with the reason each time when it dies. */
export type StartThread = (name: ThreadName, data: object, onDeath: (reason: string) => void) => Thread

export interface Thread {
  /**
   * Sends a request. Rejects with ThreadError, which is an UnansweredError if the request was in progress. A
   * request must not be null, and no answer may have a member `failure`.
   */
  ask(message: unknown): Promise<unknown>
  /** Reason why the thread cannot accept requests at present; null if it can. */
  readonly failure: string | null
  /** Waits until the thread has finished its current work and has ended. */
  stop(): Promise<void>
}

/**
 * Maximum heap for a thread's short-lived objects, MB. Without it, the heap grows over hours to several times
 * the used size, and the process grows with it.
 */
const YOUNG_MB = 12

/** Delay before a dead thread is restarted, ms. */
const AGAIN_MS = 1_000

/**
 * Starts `reader` or `writer`, and restarts it when it dies. Rejects unanswered requests, and requests made
 * before it has restarted. Calls `onDeath` with the reason each time.
 */
export const startThread: StartThread = (name, data, onDeath) => {
  const source = import.meta.url.endsWith('.ts') ? './database-thread.ts' : './database-thread.js'
  const workerData = { name, data }
  const options = { name, workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } }
  // Requests in the order in which they were sent, which is the order of the answers.
  let waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = []
  let worker: Worker | null = null
  let again: Timer | undefined
  let failure: ThreadError | null = null
  let stopping = false

  function die(error: ThreadError): void {
    worker = null
    failure = error
    for (const { reject } of waiting) reject(new UnansweredError(error.message, error.code))
    waiting = []
    if (stopping) return
    again = after(AGAIN_MS, start, start)
    onDeath(error.message)
  }

  function start(): void {
    if (worker) return
    let why = new ThreadError(`the ${name} thread ended`)
    const note = ({ message, code }: Error & { code?: string }) => {
      why = new ThreadError(`the ${name} thread failed: ${message}`, code)
    }
    try {
      const started = new Worker(new URL(source, import.meta.url), options)
      worker = started
      const up = () => {
        failure = null
        on(started, { message: answered }, fault)
      }
      // After a fault it is unknown which request the next answer belongs to.
      const fault = (error: Error) => {
        note(error)
        detached(started.terminate(), stray)
      }
      const exit = () => worker === started && die(why)
      on(started, { error: note }, fault)
      on(started, { exit }, exit)
      once(started, 'message', up, fault)
    } catch (error) {
      note(error as Error)
      die(why)
    }
  }

  function answered(answer: unknown): void {
    const { resolve, reject } = waiting.shift()!
    if (isFailed(answer)) reject(errorIn(answer))
    else resolve(answer)
  }

  start()
  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        if (failure || !worker) return reject(failure)
        waiting.push({ resolve, reject })
        worker.postMessage(message)
      }),
    get failure() {
      return failure?.message ?? null
    },
    stop: () =>
      new Promise((resolve) => {
        stopping = true
        again?.close()
        if (!worker) return resolve()
        const ended = () => resolve()
        once(worker, 'exit', ended, ended)
        worker.postMessage(null)
      }),
  }
}

/** Carries out requests on the main thread, in their order: for tests and simulations. `open` runs with the first. */
export function startInLine(open: () => Requests): Thread {
  let requests: Requests | null = null
  const inTurn = <Result>(work: () => Result) =>
    new Promise<Result>((resolve, reject) => {
      const settle = () => {
        try {
          resolve(work())
        } catch (error) {
          reject(errorIn(failed(error as Error)))
        }
      }
      setImmediate(guarded(settle, reject))
    })
  return {
    ask: (message) =>
      inTurn(() => {
        requests ??= open()
        return requests.answer(structuredClone(message) as never)
      }),
    failure: null,
    stop: () => inTurn(() => requests?.stop()),
  }
}

/** Runs inside the thread. Reports that the thread has started, then answers every request until it is stopped. */
export function answerRequests(requests: Requests): void {
  const message = (message: unknown) => {
    if (message === null) {
      requests.stop()
      process.exit()
    }
    parentPort!.postMessage(requests.answer(message as never))
  }
  on(parentPort!, { message }, (error, request: unknown) => {
    if (request === null) process.exit()
    parentPort!.postMessage(failed(error))
    return REPORTED
  })
  parentPort!.postMessage('up')
}

function failed(error: Error & { code?: string }): Failed {
  const { message, code } = error
  return { failure: { message, code, unanswered: error instanceof UnansweredError } }
}
