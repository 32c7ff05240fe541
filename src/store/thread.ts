// Both ends of a thread that answers requests one after the other. Knows nothing of what is asked.
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

/** What came of a request that failed; of any other the thread sends what it returned, as it is. */
interface Failed {
  readonly failure: { readonly message: string; readonly code: string | undefined }
}
const isFailed = (answer: unknown): answer is Failed =>
  typeof answer === 'object' && answer !== null && 'failure' in answer

export interface Thread {
  /** Rejects with ThreadError. A message is not null, and no answer has a member `failure` of its own. */
  ask(message: unknown): Promise<unknown>
  /** Lets the thread finish what it has begun, and waits for its end. */
  stop(): Promise<void>
}

/**
 * What lies between two collections of a thread's short-lived objects, MB. Left to itself it grows with the hours, to
 * several times of what is in use, and the process with it.
 */
const YOUNG_MB = 12

/** Starts `reader` or `writer`. A thread that died fails every later request. */
export function startThread(name: 'reader' | 'writer', workerData: object): Thread {
  const source = import.meta.url.endsWith('.ts') ? `./${name}.ts` : `./${name}.js`
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB }
  const worker = new Worker(new URL(source, import.meta.url), { workerData, resourceLimits })
  // In the order of their requests, which is the order of the answers.
  let waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = []
  let dead: ThreadError | null = null

  const die = (reason: string) => {
    dead ??= new ThreadError(reason)
    for (const { reject } of waiting) reject(dead)
    waiting = []
  }
  worker.on('message', (answer: unknown) => {
    const { resolve, reject } = waiting.shift()!
    if (isFailed(answer)) reject(new ThreadError(answer.failure.message, answer.failure.code))
    else resolve(answer)
  })
  worker.on('error', (error) => die(`the ${name} thread failed: ${error.message}`))
  worker.on('exit', () => die(`the ${name} thread ended`))

  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        if (dead) return reject(dead)
        waiting.push({ resolve, reject })
        worker.postMessage(message)
      }),
    stop: () =>
      new Promise((resolve) => {
        if (dead) return resolve()
        worker.once('exit', () => resolve())
        worker.postMessage(null)
      }),
  }
}

/** The thread's own end: answers every request with what `answer` returns or throws, until it is told to stop. */
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
      parentPort!.postMessage({ failure: { message, code } } satisfies Failed)
    }
  })
}
