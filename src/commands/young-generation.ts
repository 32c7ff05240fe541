// Bounds the memory for short-lived objects. By default V8 lets it grow to 96 MiB under load, although a
// finished call needs none of it. The process would be a third larger without any gain. Node's flag for this
// works only on its own command line, so this module stops the growth when it observes it.
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/**
 * Keeps the initial size until the limit applies. Otherwise, loading the program would enlarge this memory
 * permanently by 11 MiB.
 */
export function holdYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/**
 * Checks the size after every collection, because a size that shrank while idle must be able to grow again.
 */
export function boundYoungGeneration(bytes: number): void {
  let grows = false
  new PerformanceObserver(() => {
    const size =
      getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
    const mayGrow = size < bytes
    if (mayGrow === grows) return
    grows = mayGrow
    setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
  }).observe({ entryTypes: ['gc'] })
}
