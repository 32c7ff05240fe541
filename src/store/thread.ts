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

/** Request n, or what came of it. */
type Asked = readonly [n: number, message: unknown]
type Answered = readonly [n: number, value: unknown, failure?: { message: string; code: string | undefined }]

export interface Thread {
  /** Rejects with ThreadError. */
  ask(message: unknown): Promise<unknown>
  /** Lets the thread finish what it has begun, and waits for its end. */
  stop(): Promise<void>
}

/** Starts `reader` or `writer`. A thread that died fails every later request. */
export function startThread(name: 'reader' | 'writer', workerData: object): Thread {
  const source = import.meta.url.endsWith('.ts') ? `./${name}.ts` : `./${name}.js`
  const worker = new Worker(new URL(source, import.meta.url), { workerData })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let last = 0
  let dead: ThreadError | null = null

  const die = (reason: string) => {
    dead ??= new ThreadError(reason)
    for (const { reject } of waiting.values()) reject(dead)
    waiting.clear()
  }
  worker.on('message', ([n, value, failure]: Answered) => {
    const { resolve, reject } = waiting.get(n)!
    waiting.delete(n)
    if (failure) reject(new ThreadError(failure.message, failure.code))
    else resolve(value)
  })
  worker.on('error', (error) => die(`the ${name} thread failed: ${error.message}`))
  worker.on('exit', () => die(`the ${name} thread ended`))

  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        if (dead) return reject(dead)
        const n = ++last
        waiting.set(n, { resolve, reject })
        worker.postMessage([n, message] satisfies Asked)
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
  parentPort!.on('message', (asked: Asked | null) => {
    if (asked === null) {
      onStop()
      process.exit()
    }
    const [n, message] = asked
    try {
      parentPort!.postMessage([n, answer(message as never)] satisfies Answered)
    } catch (error) {
      const { message, code } = error as Error & { code?: string }
      parentPort!.postMessage([n, undefined, { message, code }] satisfies Answered)
    }
  })
}
