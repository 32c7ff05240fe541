// Loaded into the gateway under soak, ahead of it: tells its memory and the delay of its event loop every second, and
// every failure that nobody caught. Knows nothing of the gateway.
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** What is sent to the parent, once a second. */
export interface Sample {
  /** Bytes. */
  readonly rss: number
  readonly heap: number
  /** 99th percentile since the last sample, ms. */
  readonly delay: number
}

const delays = monitorEventLoopDelay({ resolution: 10 })
delays.enable()
setInterval(() => {
  const { rss, heapUsed } = process.memoryUsage()
  process.send?.({ rss, heap: heapUsed, delay: delays.percentile(99) / 1e6 } satisfies Sample)
  delays.reset()
}, 1_000).unref()
process.channel?.unref()
process.on('unhandledRejection', (reason) => {
  process.send?.({ unhandled: String(reason) })
})
