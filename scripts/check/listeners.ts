// Refuses listeners outside of the boundary (`src/shared/boundary.ts`), because an exception in one would end the process.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const REGISTERS =
  /\.(on|once|addListener|prependListener|prependOnceListener|addEventListener)\((?!.*guarded\()/

/** Files and folders whose listeners may throw, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/shared/boundary.ts': 'the boundary itself',
  'src/page/': 'runs in a browser',
  'src/statusline/': 'a program that prints one line and ends',
  'src/testcontainers/': 'runs in tests of users',
  'src/commands/': 'programs that end after a fault; `serve` reports the faults of the whole process',
}

const TESTS = /[.-]test\.tsx?$|(^|\/)test-[\w-]+\.tsx?$|^src\/test\//

/** Returns the lines of a file that register a listener outside of the boundary. */
export const offences = (file: string, text: string): string[] =>
  TESTS.test(file) || Object.keys(EXCEPTIONS).some((place) => file.startsWith(place))
    ? []
    : text
        .split('\n')
        .flatMap((line, at) =>
          REGISTERS.test(line.replace(/^\s*(\/\/|\*).*/, ''))
            ? [`${file}:${at + 1}: register this listener through src/shared/boundary.ts`]
            : [],
        )

function main(): void {
  const root = join(import.meta.dirname, '../..')
  const files = ['src', 'mocks/server'].flatMap((folder) =>
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
