// Probe that is preloaded into the gateway in the soak test: reports its memory and event loop delay every
// second, and every uncaught error. Independent of the gateway's code.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread, type Worker } from 'node:worker_threads'

/** Message to the parent, once a second. */
export interface ProbeSample {
  /** Memory in bytes: of the process, and the used heaps of its main thread and of its other threads. */
  readonly rss: number
  readonly heap: number
  readonly threads: number
  /** 99th percentile since the last sample, ms. */
  readonly delay: number
}

// Threads also load this file, but only the main thread reports.
if (isMainThread) {
  const threads: Worker[] = []
  process.on('worker', (thread) => threads.push(thread))
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  setInterval(async () => {
    const { rss, heapUsed: heap } = process.memoryUsage()
    const sizes = await Promise.all(threads.map(heapOf))
    const used = sizes.reduce((sum, size) => sum + size, 0)
    process.send?.({ rss, heap, threads: used, delay: delays.percentile(99) / 1e6 } satisfies ProbeSample)
    delays.reset()
  }, 1_000).unref()
  process.channel?.unref()
  process.on('unhandledRejection', (reason) => {
    process.send?.({ unhandled: String(reason) })
  })
}

/** Returns bytes; 0 for a thread that has ended. */
async function heapOf(thread: Worker): Promise<number> {
  const { used_heap_size } = await thread.getHeapStatistics().catch(() => ({ used_heap_size: 0 }))
  return used_heap_size
}
