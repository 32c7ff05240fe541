// Both ends of a thread that answers requests one after the other. Does not know the meaning of the requests.
import { parentPort, Worker } from 'node:worker_threads'
import { after, detached, on, once, REPORTED, stray } from '../../shared/boundary.ts'

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
 * Thrown if it is unknown how much of the request was carried out: the thread died meanwhile, or threw this
 * error itself.
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
export function startThread(
  name: 'reader' | 'writer',
  workerData: object,
  onDeath: (reason: string) => void,
): Thread {
  const source = import.meta.url.endsWith('.ts') ? `./${name}.ts` : `./${name}.js`
  const options = { name, workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } }
  // Requests in the order in which they were sent, which is the order of the answers.
  let waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = []
  let worker: Worker | null = null
  let again: NodeJS.Timeout | undefined
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
        clearTimeout(again)
        if (!worker) return resolve()
        const ended = () => resolve()
        once(worker, 'exit', ended, ended)
        worker.postMessage(null)
      }),
  }
}

/**
 * Runs inside the thread. Reports that the thread has started, then answers every request with the result or
 * error of `answer` until it is stopped.
 */
export function answerRequests(answer: (message: never) => unknown, onStop: () => void): void {
  const message = (message: unknown) => {
    if (message === null) {
      onStop()
      process.exit()
    }
    parentPort!.postMessage(answer(message as never))
  }
  on(parentPort!, { message }, (error, request: unknown) => {
    if (request === null) process.exit()
    const { message, code } = error as Error & { code?: string }
    const unanswered = error instanceof UnansweredError
    parentPort!.postMessage({ failure: { message, code, unanswered } } satisfies Failed)
    return REPORTED
  })
  parentPort!.postMessage('up')
}
