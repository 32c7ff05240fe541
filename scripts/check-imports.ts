// Holds the rule "who may import whom" against the imports, and names each offender in words.
// Knows the rooms of the house; the reasons are in CONTRIBUTING.md.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The room that a file belongs to, by the beginning of its path. First match wins. */
const ROOMS: readonly [string, RegExp][] = [
  ['tests', /[.-]test\.ts$|\/test-[\w-]+\.ts$/],
  ['commands', /^src\/(cli\.ts|commands\/)/],
  ['gateway', /^src\/gateway\.ts$/],
  ['endpoints', /^src\/endpoints\//],
  ['http', /^src\/http\//],
  ['routing', /^src\/routing\//],
  ['providers', /^src\/providers\//],
  ['store', /^src\/store\//],
  ['cache', /^src\/cache\//],
  ['statusline', /^src\/statusline\//],
  ['observe', /^src\/observe\//],
  ['testcontainers', /^src\/testcontainers\//],
  ['redact', /^src\/redact\.ts$/],
  ['ground', /^src\/(artifact|call|errors|config|pricing|token-estimate|log)\.ts$/],
  ['mocks', /^mocks\//],
  // Only these reach into the gateway: the target that runs inside the suite, and what is bent from it.
  ['targets', /^conformance\/(targets\/|mutant)/],
  ['conformance', /^conformance\//],
  ['scripts', /^scripts\//],
]

/** What each room may import beside itself. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  redact: [],
  ground: ['redact'],
  http: ['ground', 'redact'],
  routing: ['ground', 'redact'],
  providers: ['ground', 'redact'],
  store: ['ground', 'redact'],
  cache: ['ground', 'redact'],
  statusline: ['redact'],
  observe: ['store', 'statusline', 'ground', 'redact'],
  endpoints: ['http', 'routing', 'providers', 'store', 'cache', 'statusline', 'ground', 'redact'],
  gateway: [
    'endpoints',
    'http',
    'routing',
    'providers',
    'store',
    'cache',
    'observe',
    'statusline',
    'ground',
    'redact',
  ],
  commands: ['gateway', 'routing', 'store', 'statusline', 'mocks', 'conformance', 'ground', 'redact'],
  testcontainers: ['store', 'mocks'],
  mocks: ['redact'],
  conformance: ['mocks'],
  targets: ['conformance', 'gateway', 'commands', 'ground', 'mocks'],
  scripts: [
    'gateway',
    'endpoints',
    'store',
    'statusline',
    'ground',
    'redact',
    'mocks',
    'conformance',
    'targets',
  ],
}

/** The room of a path relative to the root; null where there is no rule for it. */
export const roomOf = (file: string): string | null =>
  ROOMS.find(([, pattern]) => pattern.test(file))?.[0] ?? null

/** Says why `file` may not import `target` (both relative to the root), or null where it may. */
export function offence(file: string, target: string): string | null {
  const [from, to] = [roomOf(file), roomOf(target)]
  if (from === null) return `${file} is in no room; name one in scripts/check-imports.ts`
  if (to === null || from === 'tests' || from === to || MAY[from]!.includes(to)) return null
  return `${file} (${from}) imports ${target} (${to}); ${from} may import: ${MAY[from]!.join(', ') || 'nobody'}`
}

function main(): void {
  const folders = ['src', 'mocks', 'conformance', 'scripts'].filter((folder) =>
    existsSync(join(root, folder)),
  )
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  )
  const offences = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const targets = [...text.matchAll(/(?:\bfrom|\bimport\()\s*'(\.[^']+)'/g)].map(([, target]) =>
      relative(root, join(root, dirname(file), target!)),
    )
    return targets.map((target) => offence(file, target)).filter((each) => each !== null)
  })
  for (const each of offences) process.stderr.write(`${each}\n`)
  process.stdout.write(`imports: ${files.length} files, ${offences.length} offences\n`)
  process.exitCode = offences.length > 0 ? 1 : 0
}

if (import.meta.main) main()
