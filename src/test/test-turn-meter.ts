// Measures the longest turn of the event loop of a program, in processor time. Loaded with `--import`. Writes the
// milliseconds to the file that TURN_METER names, whenever a turn was longer, and starts again when the file is deleted.
import { existsSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { processorMs } from './test-processor-time.ts'

const file = process.env.TURN_METER
if (isMainThread && file !== undefined) {
  let before = processorMs()
  let longest = 0
  const measure = () => {
    const now = processorMs()
    if (!existsSync(file)) longest = 0
    if (now - before > longest) {
      longest = now - before
      writeFileSync(file, String(longest))
    }
    before = processorMs()
  }
  setInterval(measure, 1).unref()
}
