// Latencies as a count for each step. Unlike a median, counts can be added and subtracted. Pure.

/**
 * Upper bounds of the steps: 16 ms, 22.6 ms, and so on to above 9 minutes. Each is √2 times the previous one.
 */
const STEPS = 32
const FIRST_MS = 16

/** Number of completed calls in each step, by the step's number. */
export type Latencies = Map<number, number>

/** Returns the step of a call; null if the call was not completed. */
export function stepOf({ state, latency_ms }: { state: string; latency_ms: number | null }): number | null {
  if (state !== 'completed' || latency_ms === null) return null
  const step = Math.ceil(2 * Math.log2(latency_ms / FIRST_MS))
  return Math.min(Math.max(step, 0), STEPS - 1)
}

const boundOf = (step: number): number => (step < 0 ? 0 : FIRST_MS * 2 ** (step / 2))

/**
 * Returns the median, ms, or null. Assumes that calls are spread evenly within a step, so the result is
 * within a fifth of the true median.
 */
export function medianOf(latencies: Latencies): number | null {
  const steps = [...latencies].sort(([a], [b]) => a - b)
  const half = steps.reduce((sum, [, calls]) => sum + calls, 0) / 2
  let before = 0
  for (const [step, calls] of steps) {
    if (calls > 0 && before + calls >= half) {
      const [from, to] = [boundOf(step - 1), boundOf(step)]
      return Math.round((from + ((half - before) / calls) * (to - from)) * 10) / 10
    }
    before += calls
  }
  return null
}
