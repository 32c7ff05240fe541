// `npm test [-- PATH…]`: runs the quick tests, or those whose path begins with PATH. Many files share a process, because
// a process that loads the gateway costs as much as many calls. `npm run test:slow [-- PATH…]` runs the slow tests, each
// file in a process of its own. Exit code 1 if a test fails or none runs.
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** Files of one process, which are neighbours. More would save little, and the last process would run alone. */
const FILES_PER_PROCESS = 24
/** Tests of one process run one after the other, and some wait. */
const PROCESSES = 4
/** Slow tests wait more. */
const SLOW_PROCESSES = 6
/** Slow tests that measure memory, processor time or fairness run after the others, one on each of two processors. */
const MEASURING = /\/(eta|flood|large|load|memory|socket-memory|tiny-pieces|unread)\.slow-test\.ts$/
const MEASURING_PROCESSES = 2
/** Maximum time of one test. Nothing takes as long, even on a busy machine; it is a test that hangs. */
const TEST_TIMEOUT_MS = 600_000

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { slow: { type: 'boolean', default: false } },
})
/** Decides which cases of long tables run (`src/test/test-size.ts`). */
const { WAYBILL_TESTS = 'quick', WAYBILL_SAMPLE = String(Date.now() % 1_000) } = process.env
const again = `WAYBILL_TESTS=${WAYBILL_TESTS} WAYBILL_SAMPLE=${WAYBILL_SAMPLE} node --test`
const root = join(import.meta.dirname, '..')
const files = globSync(`{src,mocks,conformance,scripts}/**/*.${values.slow ? 'slow-test' : 'test'}.ts`, {
  cwd: root,
})
  .filter((file) => positionals.length === 0 || positionals.some((begin) => file.startsWith(begin)))
  .sort()
const count = values.slow ? 1 : FILES_PER_PROCESS
const groups: string[][] = []
for (let at = 0; at < files.length; at += count) groups.push(files.slice(at, at + count))

const began = performance.now()
const counts = { pass: 0, fail: 0, skipped: 0 }
const failed = new Set<string>()
/** The last part of the output of each process with a failure. It is printed again at the end. */
const failures: string[] = []
const [alone, together] = [true, false].map((is) => groups.filter(([file]) => MEASURING.test(file!) === is))
await runAll(together!, values.slow ? SLOW_PROCESSES : PROCESSES)
await runAll(alone!, MEASURING_PROCESSES)
process.stdout.write(
  `${failures.join('')}WAYBILL_SAMPLE=${WAYBILL_SAMPLE}, ${groups.length} processes, ${((performance.now() - began) / 1_000).toFixed(0)} s\n` +
    [...failed].map((file) => `repeat: ${again} ${file}\n`).join('') +
    `${counts.pass} passed, ${counts.fail} failed, ${counts.skipped} skipped\n`,
)
process.exitCode = failed.size > 0 || counts.fail > 0 || counts.pass === 0 ? 1 : 0

/** Runs groups of files, some at once. */
async function runAll(groups: readonly string[][], atOnce: number): Promise<void> {
  const queue = [...groups]
  const work = async () => {
    for (let group = queue.shift(); group; group = queue.shift()) await run(group)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

/** Runs files in one process, and prints its output when it has ended. */
function run(group: readonly string[]): Promise<void> {
  const options = ['--test-isolation=none', '--test-reporter=spec', `--test-timeout=${TEST_TIMEOUT_MS}`]
  const child = spawn(process.execPath, ['--test', ...options, ...group], {
    cwd: root,
    env: { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'), ...process.env, WAYBILL_SAMPLE },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    output += piece
  })
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      process.stdout.write(output)
      for (const name of ['pass', 'fail', 'skipped'] as const)
        counts[name] += Number(new RegExp(`^ℹ ${name} (\\d+)$`, 'm').exec(output)?.[1] ?? 0)
      const places = [...output.matchAll(/^test at (.*?):\d+:\d+$/gm)]
      for (const [, file] of places) failed.add(file!)
      if (code !== 0) failures.push(output.slice(output.lastIndexOf('\n✖ failing tests:')))
      if (code !== 0 && places.length === 0) {
        process.stdout.write(`a process ended with ${signal ?? `exit code ${code}`}\n`)
        failed.add(`--test-isolation=none ${group.join(' ')}`)
      }
      resolve()
    })
  })
}
