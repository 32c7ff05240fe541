// `npm test [-- PATH…]`: runs the quick tests, or those whose path begins with PATH. Many files share a process, because
// a process that loads the gateway costs as much as many calls. Exit code 1 if a test fails or none runs.
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** Files of one process, which are neighbours. More would save little, and the last process would run alone. */
const FILES_PER_PROCESS = 24
/** Tests of one process run one after the other, and some wait. */
const PROCESSES = 3
/** Maximum time of one test. Nothing that is tested takes as long; it is a test that hangs. */
const TEST_TIMEOUT_MS = 120_000

const { positionals } = parseArgs({ allowPositionals: true })
const root = join(import.meta.dirname, '..')
const files = globSync('{src,mocks,conformance,scripts}/**/*.test.ts', { cwd: root })
  .filter((file) => positionals.length === 0 || positionals.some((begin) => file.startsWith(begin)))
  .sort()
const groups: string[][] = []
for (let at = 0; at < files.length; at += FILES_PER_PROCESS)
  groups.push(files.slice(at, at + FILES_PER_PROCESS))

const began = performance.now()
const counts = { pass: 0, fail: 0, skipped: 0 }
const failed = new Set<string>()
const queue = [...groups]
await Promise.all(
  Array.from({ length: PROCESSES }, async () => {
    for (let group = queue.shift(); group; group = queue.shift()) await run(group)
  }),
)
process.stdout.write(
  `${groups.length} processes, ${((performance.now() - began) / 1_000).toFixed(0)} s\n` +
    [...failed].map((file) => `repeat: node --test ${file}\n`).join('') +
    `${counts.pass} passed, ${counts.fail} failed, ${counts.skipped} skipped\n`,
)
process.exitCode = failed.size > 0 || counts.fail > 0 || counts.pass === 0 ? 1 : 0

/** Runs files in one process, and prints its output when it has ended. */
function run(group: readonly string[]): Promise<void> {
  const options = ['--test-isolation=none', '--test-reporter=spec', `--test-timeout=${TEST_TIMEOUT_MS}`]
  const child = spawn(process.execPath, ['--test', ...options, ...group], {
    cwd: root,
    env: { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'), ...process.env },
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
      if (code !== 0 && places.length === 0) {
        process.stdout.write(`a process ended with ${signal ?? `exit code ${code}`}\n`)
        failed.add(`--test-isolation=none ${group.join(' ')}`)
      }
      resolve()
    })
  })
}
