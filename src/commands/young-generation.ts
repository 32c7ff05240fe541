// Bounds the memory for short-lived objects. By default V8 lets it grow to 96 MiB under load, although a call leaves
// nothing behind that needs it: the process would be a third larger for nothing. Node's flag for this works only on its own
// command line, so the growth is stopped here when it is seen.
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Until it is bounded it stays as small as it began: loading the program would let it grow for good, by 11 MiB. */
export function holdYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Looks after every collection: what shrank while nothing was to do must be able to grow again. */
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
