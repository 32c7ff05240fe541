// `npm test` and `npm run test:slow`: runs test files, of the quick ones several in one process. Start-up, and V8's first
// passes over the code that all of them use, were half of their processor time.
//   test.ts quick|slow [TEXT…]   only files whose path contains one of the texts
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'

/** More processes than most machines have processors, because many tests wait; the slow ones wait more. */
const KINDS: Readonly<Record<string, { end: string; filesPerProcess: number; processes: number }>> = {
  quick: { end: '.test.ts', filesPerProcess: 1, processes: 4 },
  slow: { end: '.slow-test.ts', filesPerProcess: 1, processes: 5 },
}
const TEST_TIMEOUT_MS = 120_000

/** Tells whether a file says so, or has hooks that node:test would run for the other files, too. */
export const needsOwnProcess = (text: string): boolean =>
  /^\/\/ In a process of its own|^(?:before|beforeEach|after|afterEach)\(/m.test(text)

/** Puts consecutive files together, since neighbours import the same modules. */
export function groupsOf(
  files: readonly string[],
  size: number,
  isAlone: (file: string) => boolean,
): string[][] {
  const together = files.filter((file) => !isAlone(file))
  const groups = files.filter(isAlone).map((file) => [file])
  const count = Math.ceil(together.length / size)
  for (let n = 0; n < count; n++) {
    const [start, end] = [n, n + 1].map((i) => Math.round((i * together.length) / count))
    groups.push(together.slice(start, end))
  }
  return groups
}

if (import.meta.main) main(process.argv.slice(2))

function main([kind = '', ...texts]: readonly string[]): void {
  const { end, filesPerProcess, processes } = KINDS[kind]!
  const files = globSync(`{src,mocks,conformance,scripts}/**/*${end}`)
    .filter((file) => texts.length === 0 || texts.some((text) => file.includes(text)))
    .sort()
  if (files.length === 0) {
    process.stderr.write(`no test file: ${texts.join(' ') || kind}\n`)
    process.exitCode = 2
    return
  }
  const directory = mkdtempSync(join(tmpdir(), 'waybill-tests-'))
  const groups = groupsOf(files, filesPerProcess, (file) => needsOwnProcess(readFileSync(file, 'utf8'))).map(
    (group, n) => {
      const entry = join(directory, `group-${n}.mjs`)
      writeFileSync(entry, group.map((file) => `import '${pathToFileURL(resolve(file))}'\n`).join(''))
      return entry
    },
  )
  run({ files: groups, concurrency: processes, timeout: TEST_TIMEOUT_MS })
    .on('test:fail', () => {
      process.exitCode = 1
    })
    .compose(spec)
    .on('end', () => rmSync(directory, { recursive: true }))
    .pipe(process.stdout)
}
