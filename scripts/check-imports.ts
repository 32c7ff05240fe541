// Holds the rule "who may import whom" against the imports, and names each offender in words.
// Knows the parts of the project; the reasons are in CONTRIBUTING.md.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The part that a file belongs to, by the beginning of its path. First match wins. */
const PARTS: readonly [string, RegExp][] = [
  ['tests', /[.-]test\.ts$|\/test-[\w-]+\.ts$/],
  ['commands', /^src\/(cli\.ts|commands\/)/],
  ['gateway', /^src\/(gateway|endpoints|providers)\.ts$/],
  ['endpoints', /^src\/endpoints\//],
  ['pipeline', /^src\/pipeline(\.ts$|\/)/],
  ['registry', /^src\/dialects\/registry\.ts$/],
  ['dialects', /^src\/dialects\//],
  ['http', /^src\/http\//],
  ['routing', /^src\/routing\//],
  ['providers', /^src\/providers\//],
  ['sqlite', /^src\/store\/sqlite\//],
  ['postgres', /^src\/store\/postgres\//],
  ['fleet', /^src\/fleet\//],
  ['telemetry', /^src\/telemetry\//],
  ['store', /^src\/store\//],
  ['cache', /^src\/cache\//],
  ['terminal', /^src\/terminal\//],
  ['statusline', /^src\/statusline\//],
  ['observe', /^src\/observe\//],
  ['page', /^src\/page\//],
  ['testcontainers', /^src\/testcontainers\//],
  ['redact', /^src\/(redact|bounded-json)\.ts$/],
  ['words', /^src\/config\/(json-schema|nearest|problem|wording|yaml)\.ts$/],
  [
    'base',
    /^src\/((config|json)\/.+|(artifact|budget|call|errors|config|findings|pricing|request-traits|token-estimate|log|record|tracing)\.ts)$/,
  ],
  ['mocks', /^mocks\//],
  // Only these reach into the gateway: the target that runs inside the suite, and faults and innocents.
  ['targets', /^conformance\/(targets\/|fault|innocent)/],
  ['conformance', /^conformance\//],
  ['scripts', /^scripts\//],
]

/** What each part may import beside itself. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  redact: [],
  // How the mistakes of any YAML file are said; they know no setting.
  words: ['terminal'],
  base: ['words', 'redact', 'terminal'],
  http: ['base', 'redact'],
  routing: ['base', 'redact'],
  dialects: ['base', 'redact'],
  registry: ['dialects', 'base'],
  providers: ['dialects', 'base', 'redact'],
  store: ['base', 'redact'],
  sqlite: ['store', 'base', 'redact'],
  postgres: ['store', 'sqlite', 'base', 'redact'],
  fleet: ['store', 'sqlite', 'postgres', 'base', 'redact'],
  telemetry: ['store', 'base', 'redact'],
  cache: ['base', 'redact'],
  terminal: [],
  statusline: ['terminal', 'redact'],
  observe: ['store', 'terminal', 'base', 'redact'],
  endpoints: [
    'http',
    'routing',
    'providers',
    'store',
    'cache',
    'observe',
    'statusline',
    'terminal',
    'base',
    'redact',
  ],
  // What runs in the browser: of the gateway it has the definition of the record, and of the endpoints only types.
  page: ['base', 'endpoints'],
  pipeline: ['dialects', 'http', 'routing', 'providers', 'store', 'cache', 'base', 'redact'],
  gateway: [
    'pipeline',
    'dialects',
    'registry',
    'endpoints',
    'http',
    'routing',
    'providers',
    'store',
    'sqlite',
    'fleet',
    'telemetry',
    'cache',
    'observe',
    'terminal',
    'base',
    'redact',
  ],
  commands: [
    'gateway',
    'dialects',
    'routing',
    'sqlite',
    'postgres',
    'fleet',
    'statusline',
    'terminal',
    'mocks',
    'conformance',
    'words',
    'base',
    'redact',
  ],
  testcontainers: ['base', 'mocks'],
  mocks: ['redact'],
  conformance: ['mocks', 'words', 'terminal'],
  targets: ['conformance', 'terminal', 'gateway', 'commands', 'base', 'mocks'],
  scripts: [
    'store',
    'postgres',
    'tests',
    'gateway',
    'dialects',
    'endpoints',
    'sqlite',
    'statusline',
    'terminal',
    'base',
    'redact',
    'mocks',
    'conformance',
    'words',
    'targets',
  ],
}

/** The part of a path relative to the root; null where there is no rule for it. */
export const partOf = (file: string): string | null =>
  PARTS.find(([, pattern]) => pattern.test(file))?.[0] ?? null

/** Says why `file` may not import `target` (both relative to the root), or null where it may. */
export function offence(file: string, target: string): string | null {
  const [from, to] = [partOf(file), partOf(target)]
  if (from === null) return `${file} belongs to no part; name one in scripts/check-imports.ts`
  if (to === null || from === 'tests' || from === to || MAY[from]!.includes(to)) return null
  return `${file} (${from}) imports ${target} (${to}); ${from} may import: ${MAY[from]!.join(', ') || 'nothing'}`
}

function main(): void {
  const folders = ['src', 'mocks', 'conformance', 'scripts'].filter((folder) =>
    existsSync(join(root, folder)),
  )
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
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
