// Both ends of a thread that answers requests one after the other. Does not know what the requests mean.
import { parentPort, Worker } from 'node:worker_threads'

/** What went wrong in the thread, with SQLite's code where it has one. */
export class ThreadError extends Error {
  override readonly name = 'ThreadError'
  readonly code: string | undefined
  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

/** It is not known how much of the request was carried out: the thread died during it, or threw this itself. */
export class UnansweredError extends ThreadError {}

/** What came of a request that failed; of any other the thread sends what it returned, as it is. */
interface Failed {
  readonly failure: {
    readonly message: string
    readonly code: string | undefined
    readonly unanswered: boolean
  }
}
const isFailed = (answer: unknown): answer is Failed =>
  typeof answer === 'object' && answer !== null && 'failure' in answer

export interface Thread {
  /**
   * Rejects with ThreadError, which is an UnansweredError where the request was under way. A message is not null, and no
   * answer has a member `failure` of its own.
   */
  ask(message: unknown): Promise<unknown>
  /** Why it cannot be asked just now; null when it can. */
  readonly failure: string | null
  /** Lets the thread finish what it has begun, and waits for its end. */
  stop(): Promise<void>
}

/**
 * The most that a thread's heap of short-lived objects may take, MB. Left to itself it grows with the hours, to several
 * times of what is in use, and the process with it.
 */
const YOUNG_MB = 12

/** How long a thread that died is left alone before it is started again, ms. */
const AGAIN_MS = 1_000

/**
 * Starts `reader` or `writer`, and starts it again when it died. What it was asked and did not answer is rejected, and so
 * is what it is asked before it is up again. `onDeath` hears each time why it died.
 */
export function startThread(
  name: 'reader' | 'writer',
  workerData: object,
  onDeath: (reason: string) => void,
): Thread {
  const source = import.meta.url.endsWith('.ts') ? `./${name}.ts` : `./${name}.js`
  const options = { name, workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } }
  // In the order of their requests, which is the order of the answers.
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
    again = setTimeout(start, AGAIN_MS)
    onDeath(error.message)
  }

  function start(): void {
    let why = new ThreadError(`the ${name} thread ended`)
    const note = ({ message, code }: Error & { code?: string }) => {
      why = new ThreadError(`the ${name} thread failed: ${message}`, code)
    }
    try {
      const started = new Worker(new URL(source, import.meta.url), options)
      worker = started
      started.on('error', note)
      started.on('exit', () => die(why))
      started.once('message', () => {
        failure = null
        started.on('message', answered)
      })
    } catch (error) {
      note(error as Error)
      die(why)
    }
  }

  function answered(answer: unknown): void {
    const { resolve, reject } = waiting.shift()!
    if (!isFailed(answer)) {
      resolve(answer)
      return
    }
    const { message, code, unanswered } = answer.failure
    reject(unanswered ? new UnansweredError(message, code) : new ThreadError(message, code))
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
        worker.once('exit', () => resolve())
        worker.postMessage(null)
      }),
  }
}

/**
 * The thread's own end: says that it is up, then answers every request with what `answer` returns or throws, until it is
 * told to stop.
 */
export function answerRequests(answer: (message: never) => unknown, onStop: () => void): void {
  parentPort!.on('message', (message: unknown) => {
    if (message === null) {
      onStop()
      process.exit()
    }
    try {
      parentPort!.postMessage(answer(message as never))
    } catch (error) {
      const { message, code } = error as Error & { code?: string }
      const unanswered = error instanceof UnansweredError
      parentPort!.postMessage({ failure: { message, code, unanswered } } satisfies Failed)
    }
  })
  parentPort!.postMessage('up')
}
