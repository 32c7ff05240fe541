// Paths given by a user that are not small regular files. Each is refused immediately, in one line.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readBaseline } from '../../conformance/judge/compare.ts'
import { rejudge } from '../../conformance/judge/rejudge.ts'
import { readTarget } from '../../conformance/target/read.ts'
import { importRecordings } from '../../mocks/import/import.ts'
import { scanRecordings } from '../../mocks/recording/format.ts'
import { loadConfig, parseConfig } from '../config/load.ts'
import { findKey } from '../terminal/keys.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { processorMs } from './test-processor-time.ts'

/** Functions that make things other than regular files, each in a separate directory, by name. */
const ODD: Readonly<Record<string, readonly [make: (file: string) => void, said: RegExp]>> = {
  'a device without end': [
    (file) => symlinkSync('/dev/zero', file),
    /is a pipe or a device, not a file|is a link|too large|does not contain|open to others/,
  ],
  'a pipe that nothing is written to': [
    (file) => void execFileSync('mkfifo', ['-m', '600', file]),
    /is a pipe or a device, not a file|does not contain/,
  ],
  'a directory': [(file) => mkdirSync(file, { mode: 0o700 }), /is a (directory|folder)|does not contain/],
  'a file of 600 MiB': [
    (file) => void execFileSync('truncate', ['-s', '600M', file], { env: { ...process.env, LANG: 'C' } }),
    /is too large: at most (\d+) [KM]iB are read|does not contain|open to others/,
  ],
}

const messageOf = (read: () => unknown): string => {
  try {
    return JSON.stringify(read())
  } catch (error) {
    return (error as Error).message
  }
}

const READERS: Readonly<Record<string, (file: string, t: TestContext) => unknown>> = {
  'waybill.yaml': (file) => loadConfig(file, { env: {} }),
  'prices.yaml': (file, t) => {
    const own = join(temporaryDirectory(t), 'waybill.yaml')
    writeFileSync(own, `prices: ${file}\n${PLAIN}`)
    return loadConfig(own, { env: {} })
  },
  'target.yaml': (file) => readTarget(file),
  'baseline.yaml': (file) => readBaseline(file),
  'run.json': (file) => rejudge(join(file, '..')),
  'capture.har': (file, t) =>
    importRecordings([file], { out: temporaryDirectory(t), today: '2026-01-01' })[0]!.refused.join(),
  key: (file) => findKey({}, file).problem,
}

const PROVIDER = 'providers: { p: { dialect: openai, base_url: "http://127.0.0.1:1/v1" } }\n'
const PLAIN = `${PROVIDER}routes: { a: { targets: [ { model: p/m } ] } }\n`

for (const [name, read] of Object.entries(READERS))
  for (const [what, [make, said]] of Object.entries(ODD))
    test(`${name} that is ${what} is refused immediately`, (t) => {
      const file = join(temporaryDirectory(t), name)
      make(file)
      const began = processorMs()
      const message = messageOf(() => read(file, t))
      const took = processorMs() - began
      assert.match(message, said)
      assert.ok(!message.includes('\n'), message)
      assert.ok(took < 1_000, `${took} ms of processor time`)
    })

test('a recording whose body is too large is reported by name', (t) => {
  const dir = temporaryDirectory(t)
  execFileSync('truncate', ['-s', '600M', join(dir, 'x.json')])
  assert.match(scanRecordings(dir).problems.join('\n'), /^x\.json: .*too large/)
})

for (const [what, text, said] of [
  ['lists in lists', `${PROVIDER}routes: ${'['.repeat(100)}${']'.repeat(100)}`, /nested more than 50 deep/],
  ['mappings in mappings', `routes: ${'{a: '.repeat(200)}${'}'.repeat(200)}`, /nested more than 50 deep/],
  ['a hundred and fifty thousand lines', '%a\n'.repeat(150_000), /more than 125000 lines/],
  ['a hundred thousand brackets', '['.repeat(100_000), /cannot be read as YAML/],
  ['a provider __proto__', PLAIN.replaceAll('p: {', '__proto__: {'), /__proto__: cannot be a name/],
  ['a route __proto__', PLAIN.replace('a: {', '__proto__: {'), /routes\.__proto__: cannot be a name/],
  [
    'a model __proto__',
    `${PLAIN}models: { __proto__: { tier: cheap } }`,
    /models\.__proto__: cannot be a name/,
  ],
  [
    'a key __proto__',
    `${PLAIN}keys: [ { name: __proto__, digest: "sha256:${'a'.repeat(64)}" } ]`,
    /keys\.0\.name/,
  ],
] as const)
  test(`a configuration with ${what} is refused with a clear error`, () => {
    const message = messageOf(() => parseConfig(text, 'x.yaml', { env: {} }))
    assert.match(message.split('\n')[0]!, said)
    assert.ok(message.split('\n')[0]!.startsWith('x.yaml:'), message)
  })
