// Measures the turns of the event loop of a program, in processor time. Loaded with `--import`. Writes the milliseconds
// of every turn that takes some to the file that TURN_METER names, one a line.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { processorMs } from './test-processor-time.ts'

/** Turns that are not written, because there are thousands, ms. */
const SHORT_MS = 0.5

/** Returns the processor time of the longest turn after the first `bytes` of the file, ms. */
export const longestTurn = (turns: string, bytes = 0): number =>
  Math.max(0, ...readFileSync(turns, 'latin1').slice(bytes).split('\n').map(Number))

const file = process.env.TURN_METER
if (isMainThread && file !== undefined) {
  const turns = openSync(file, 'a')
  let before = processorMs()
  const measure = () => {
    const ms = processorMs() - before
    if (ms >= SHORT_MS) writeSync(turns, `${ms}\n`)
    before = processorMs()
  }
  setInterval(measure, 1).unref()
}
