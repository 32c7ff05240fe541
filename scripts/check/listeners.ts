// Refuses listeners, timers and dropped promises outside of the boundary (`src/shared/boundary.ts`), because an exception
// in one would end the process; every other clock than the process's (`src/shared/clock.ts`), because tests advance it;
// and every other chance (`src/shared/chance.ts`), because the simulation repeats it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What must go through the boundary. A promise's own `resolve` cannot throw. */
const REFUSED: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [
    /\.(on|once|addListener|prependListener|prependOnceListener|addEventListener)\((?!.*guarded\()/,
    'register this listener through src/shared/boundary.ts',
  ],
  [
    /(?<![.\w])(setImmediate|queueMicrotask|process\.nextTick)\((?!resolve\b|next\)|guarded\(|this\.#commitSoon)|\bclock\.(after|every)\((?!.*\bresolve\))/,
    'set this timer through `after`, `every` or `guarded` of src/shared/boundary.ts',
  ],
  [
    /\.setTimeout\([^()]*=>|\.setTimeout\([^()]*\(\) *=>/,
    'register `timeout` through src/shared/boundary.ts',
  ],
  [/^\s*void [^0\s]/, 'observe this promise with `detached` of src/shared/boundary.ts'],
]

/** Clocks that tests cannot advance. */
const CLOCKS: typeof REFUSED = [
  [
    /(?<![.\w])set(Timeout|Interval)\((?!.*\): this)|\bset(Timeout|Interval)\b.*timers\/promises|\bmock\.timers\b/,
    'use `after` or `every` of src/shared/boundary.ts, `sleep` of src/shared/clock.ts, or src/test/test-until.ts',
  ],
  [
    /\bDate\.now\b|\bnew Date\(\)|\bperformance\.(now|timeOrigin)\b|hrtime/,
    'use `clock` of src/shared/clock.ts',
  ],
]

const CHANCE: (typeof REFUSED)[number] = [
  /\bMath\.random\b|\brandom(UUID|Bytes|Int|Fill|FillSync)\b|\bgetRandomValues\b/,
  'use `chance` of src/shared/chance.ts',
]

/** Files and folders with a chance of their own, with the reason. */
const OTHER_CHANCES: Readonly<Record<string, string>> = {
  'src/shared/chance.ts': 'the chance itself',
  'src/page/': 'runs in a browser',
  'src/testcontainers/': 'runs in tests of users',
  'src/commands/': 'programs that a person starts, some of which make keys',
}

/** In tests, this limit ends a test that hangs. */
const SIGNALS: (typeof REFUSED)[number] = [
  /AbortSignal\.timeout\(/,
  'use `signalAfter` or `abortAfter` of src/shared/boundary.ts',
]

/** Files and folders with clocks of their own, with the reason. */
const OTHER_CLOCKS: Readonly<Record<string, string>> = {
  'src/shared/clock.ts': 'the clock itself',
  'src/page/': 'runs in a browser',
  'src/statusline/': 'a program that prints one line and ends',
  'src/testcontainers/': 'waits for another machine, in tests of users',
  'src/commands/': "programs that a person starts; `serve` gives its gateway the machine's clock",
  'src/store/sqlite/data-files.ts': "compares with times of files, which are the machine's",
  'src/store/sqlite/trouble.test.ts': 'contains a program of its own',
  'conformance/runner/worker.test.ts': 'contains a program of its own',
  'mocks/server/certificate.ts': "TLS compares with the machine's clock",
}

/** Files and folders whose listeners may throw, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/shared/boundary.ts': 'the boundary itself',
  'src/page/': 'runs in a browser',
  'src/statusline/': 'a program that prints one line and ends',
  'src/testcontainers/': 'runs in tests of users',
  'src/store/sqlite/writer.ts': 'a thread that starts again; its clean-up reports its own errors',
  'mocks/server/intercept.ts': 'runs in tests of users; `enable` and `disable` return nothing',
  'src/commands/': 'programs that end after a fault; `serve` reports the faults of the whole process',
}

const TESTS = /[.-]test\.tsx?$|(^|\/)test-[\w-]+\.tsx?$|^src\/test\//

/** Tests that are about real time, and helpers of tests. */
const SLOW_TESTS = /-test\.tsx?$|(^|\/)test-[\w-]+\.tsx?$/

/** Folders in which listeners go through the boundary. */
const BOUNDED = /^(src|mocks\/server)\//

/** Returns the lines of a file that may end the process, or that read another clock. */
export function offences(file: string, text: string): string[] {
  const isIn = (places: object) => Object.keys(places).some((place) => file.startsWith(place))
  const refused = [
    ...(BOUNDED.test(file) && !TESTS.test(file) && !isIn(EXCEPTIONS) ? REFUSED : []),
    ...(isIn(OTHER_CLOCKS) || SLOW_TESTS.test(file) ? [] : CLOCKS),
    ...(isIn(OTHER_CLOCKS) || TESTS.test(file) ? [] : [SIGNALS]),
    ...(!file.startsWith('src/') || TESTS.test(file) || isIn(OTHER_CHANCES) ? [] : [CHANCE]),
  ]
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*(\/\/|\/?\*).*/, ''))
    .flatMap((line, at) =>
      refused.flatMap(([pattern, remedy]) => (pattern.test(line) ? [`${file}:${at + 1}: ${remedy}`] : [])),
    )
}

function main(): void {
  const root = join(import.meta.dirname, '../..')
  const files = ['src', 'mocks', 'conformance'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => join(folder, file)),
  )
  const found = files.flatMap((file) => offences(file, readFileSync(join(root, file), 'utf8')))
  for (const each of found) process.stderr.write(`${each}\n`)
  process.stdout.write(`listeners: ${files.length} files, ${found.length} offences\n`)
  process.exitCode = found.length > 0 ? 1 : 0
}

if (import.meta.main) main()
