// Counts the functions and the memory of a plain call. Fails if they grow, or if a call enters a feature that is not
// configured. The figures depend on the code, and not on the load of the machine.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Way } from './test-way.ts'

/** Maximum functions of `src` that each plain call enters, and kB that the main thread allocates for one. */
const MOST_FUNCTIONS = 345
const MOST_KILOBYTES = 64

/** Features that a configuration turns on, with the files that only they need. */
const FEATURES = {
  "the caller's own credential": {
    providers: 'beta: { dialect: openai, base_url: "http://127.0.0.1:9/v1", auth: caller }',
    files: /^credentials\/caller-credential\.ts/,
  },
  'the response cache': { settings: 'cache: { enabled: true }', files: /^cache\// },
  'a changed name of the model': { route: 'answer_model: requested', files: /^call\/answer\.ts rename/ },
  'repeated requests without a refused parameter': {
    route: 'on_refused: adjust',
    files: /^providers\/adjuster\.ts/,
  },
  'calls that stay with a target': { route: 'sticky: prefix', files: /^routing\/(choice|conversations)\.ts/ },
  traces: { settings: 'telemetry: { endpoint: "http://127.0.0.1:9" }', files: /^telemetry\// },
}

/** The general way, which a plain call does not enter. Both read a request alike. */
const GENERAL =
  /^(call\/(pipeline|answer-keeping)|providers\/(send|exchange|adjuster))\.ts|^call\/find-route\.ts (?!readRequest$|smallLast$|describedCall$)/

async function wayWith(rounds: number, providers = '', settings = '', route = ''): Promise<Way> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--min-semi-space-size=256', '--max-semi-space-size=256', join(import.meta.dirname, 'test-way.ts')],
    {
      env: {
        ...process.env,
        WAY_ROUNDS: String(rounds),
        WAY_PROVIDERS: providers,
        WAY_SETTINGS: settings,
        WAY_ROUTE: route,
      },
      maxBuffer: 2 ** 24,
    },
  )
  return JSON.parse(stdout)
}

const shown = ({ functions, kilobytes }: Way): string =>
  `${functions.length} functions in ${new Set(functions.map((each) => each.replace(/ .*/, ''))).size} files, ${kilobytes.toFixed(1)} kB`

test('a plain call enters and allocates no more than before, and nothing of a feature that is not configured', async (t) => {
  const plain = await wayWith(4)
  t.diagnostic(`plain: ${shown(plain)}`)
  assert.ok(plain.functions.length <= MOST_FUNCTIONS, `${plain.functions.length} functions`)
  assert.ok(plain.kilobytes <= MOST_KILOBYTES, `${plain.kilobytes} kB`)
  assert.deepEqual(
    plain.functions.filter((each) => GENERAL.test(each)),
    [],
  )
  for (const [name, feature] of Object.entries(FEATURES)) {
    const { providers, settings, route, files } = { providers: '', settings: '', route: '', ...feature }
    assert.deepEqual(
      plain.functions.filter((each) => files.test(each)),
      [],
      `${name} is not configured`,
    )
    const way = await wayWith(1, providers, settings, route)
    t.diagnostic(`with ${name}: ${shown(way)}`)
    assert.ok(
      way.functions.some((each) => files.test(each)),
      `${name} is configured, but no call enters it`,
    )
  }
})
