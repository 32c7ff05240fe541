// `npm run selftest -- without`: compiles the program with each optional part of folders.yaml taken out. Errors may stand
// only in the part's doors, so that nothing else needs it. `--tests` instead replaces all parts by stubs that fail, and
// runs the tests of `src` that use none of them. Exit code 1 if a file needs a part, or a test fails.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readFolders } from '../check/imports.ts'

const root = join(import.meta.dirname, '../..')
const { values } = parseArgs({ options: { tests: { type: 'boolean', default: false } } })
const PARTS = readFolders().flatMap(([names, { doors }]) => (doors ? [{ folder: names[0]!, doors }] : []))
/** Signs that a test uses an optional part: its setting, or the part's own names. */
const USES =
  /test-scanners|test-workload|fleet|telemetry|traceparent|passthrough|platform|bedrock|vertex|reconcile|responses|RESPONSES_KEY|\bkeep\b|previous_response|openapi/i
const TEST = /[.-]test\.tsx?$|(^|\/)test-[\w-]+\.tsx?$|^src\/test\//
/** Values that a door reads while it is imported. All others fail when they are called. */
const STUBS: Readonly<Record<string, string>> = {
  PLATFORMS: '{}',
  passthroughEndpoints: '() => []',
  readLastReports: '() => []',
  billComparison: "(await import('zod')).z.never()",
}

const copy = mkdtempSync(join(tmpdir(), 'waybill-without-'))
try {
  for (const file of execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  }).split('\n'))
    if (file !== '') cpSync(join(root, file), join(copy, file))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  process.exitCode = (values.tests ? runTests() : PARTS.map(compilesWithout).every(Boolean)) ? 0 : 1
} finally {
  rmSync(copy, { recursive: true })
}

/** Returns true if only the doors of a part do not compile without it. */
function compilesWithout({ folder, doors }: (typeof PARTS)[number]): boolean {
  const config = {
    extends: './tsconfig.json',
    include: ['src'],
    exclude: ['src/page', 'src/test', '**/*test.ts', '**/test-*.ts'],
  }
  writeFileSync(join(copy, 'tsconfig.without.json'), JSON.stringify(config))
  rmSync(join(copy, folder), { recursive: true })
  const { stdout } = spawnSync(
    join(root, 'node_modules/.bin/tsc'),
    ['-p', 'tsconfig.without.json', '--pretty', 'false'],
    {
      cwd: copy,
      encoding: 'utf8',
    },
  )
  cpSync(join(root, folder), join(copy, folder), { recursive: true })
  const broken = new Set([...stdout.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, file]) => file!))
  const others = [...broken].filter((file) => !doors.includes(file))
  const isAlone = broken.size > 0 && others.length === 0
  process.stdout.write(
    `${folder}: ${isAlone ? `only its doors need it (${[...broken].join(', ')})` : `needed by ${others.join(', ') || 'nothing, not even its doors'}`}\n`,
  )
  return isAlone
}

/** Runs the tests that use no optional part, with stubs in place of all parts. Returns true if they pass. */
function runTests(): boolean {
  for (const { folder } of PARTS)
    for (const file of filesIn(folder))
      if (TEST.test(file)) rmSync(join(copy, file))
      else writeFileSync(join(copy, file), stubOf(file))
  const tests = filesIn('src').filter((file) => file.endsWith('.test.ts'))
  const plain = tests.filter((file) => !USES.test(readFileSync(join(copy, file), 'utf8')))
  process.stdout.write(`without all parts: ${plain.length} of ${tests.length} test files use none of them\n`)
  return (
    spawnSync(process.execPath, ['scripts/test.ts', ...plain], { cwd: copy, stdio: 'inherit' }).status === 0
  )
}

function filesIn(folder: string): string[] {
  return readdirSync(join(copy, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file))
}

/** Returns a module with the exported values of another, which fail when they are called. */
function stubOf(file: string): string {
  const names = readFileSync(join(root, file), 'utf8').matchAll(
    /^export (?:async )?(?:const|function|class) ([\w$]+)/gm,
  )
  return [...names]
    .map(
      ([, name]) =>
        `export const ${name}: any = ${STUBS[name!] ?? `function () { throw new Error('${file} is taken out') }`}\n`,
    )
    .join('')
}
