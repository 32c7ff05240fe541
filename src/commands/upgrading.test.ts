// Compares docs/upgrading.md with the program's behaviour for old names and old files.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { currentId } from '../../conformance/judge/earlier-names.ts'
import { RENAMED_FIELDS, withCurrentNames } from '../../conformance/target/read.ts'
import { createWitness } from '../../mocks/library.ts'
import { parseConfig, RENAMED_SETTINGS } from '../config/load.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { WitnessContainer } from '../testcontainers/library.ts'
import { withNewNames } from '../yaml/renamed.ts'
import { configCheck } from './config-check.ts'
import { RENAMED_WORDS, refuseOldNames } from './program.ts'

const page = readFileSync(new URL('../../docs/upgrading.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| ([a-z ]+) \| `([^`]+)` \| `([^`]+)` \|$/gm)].map(
  ([, what, from, to]) => ({
    what: what!,
    from: from!.replace('waybill ', ''),
    to: to!.replace('waybill ', ''),
  }),
)
const named = (...kinds: string[]) =>
  Object.fromEntries(rows.filter(({ what }) => kinds.includes(what)).map(({ from, to }) => [from, to]))

test('docs/upgrading.md lists every renamed command, option, setting and field with its new name, and no other names', () => {
  assert.deepEqual(named('command', 'option'), RENAMED_WORDS)
  const settings = Object.entries(RENAMED_SETTINGS).map(([place, to]) => [place.split('.').at(-1), to])
  assert.deepEqual(named('setting of a provider'), Object.fromEntries(settings))
  assert.deepEqual(named('target file'), { ...RENAMED_FIELDS, '{{witness.…}}': '{{mock.…}}' })
})

for (const [old, to] of Object.entries(RENAMED_WORDS))
  test(`${old} is an error that names ${to}`, () => {
    assert.throws(() => refuseOldNames(old.startsWith('--') ? ['mock', `${old}=1`] : [old]), {
      message: `${old} is now called ${to}`,
    })
  })

test('old names in the library are errors that give the new names; an old finding is read under its new name', () => {
  const library = named('library')
  assert.throws(() => createWitness(), { message: `createWitness is now called ${library.createWitness}` })
  assert.throws(() => new WitnessContainer(), {
    message: `WitnessContainer is now called ${library.WitnessContainer}`,
  })
  for (const [from, to] of Object.entries(named('finding'))) assert.equal(currentId(from), to)
})

const OLD_CONFIG = `# of 0.1.0
server: { port: 4949 }
providers:
  one: { api: openai, base_url: "https://api.example/v1" } # comment
  two: { api: [anthropic], base_url: "https://api.other.example" }
routes:
  auto: { strategy: weighted, sticky: session, targets: [ { model: one/m, weight: 2 }, { model: two/n } ] }
keys: [ { name: ann, role: admin, digest: "sha256:${'0'.repeat(64)}", budget: { usd: 5 } } ]
defaults: { messages: auto }
`

test('a configuration from version 0.1.0 is refused with the new names, and a fix in place keeps its meaning', (t) => {
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(file, OLD_CONFIG)
  assert.throws(() => configCheck({ config: file, env: {} }), /providers\.one\.api: is now called dialect/)
  configCheck({ config: file, fix: true, env: {} })
  const mended = readFileSync(file, 'utf8')
  assert.equal(mended, OLD_CONFIG.replaceAll(' api:', ' dialect:'))
  const { config } = parseConfig(mended, file, { env: {} })
  assert.deepEqual(config.providers.one!.dialect, ['chat', 'embeddings', 'images'])
  assert.deepEqual(config.keys[0]!.budget, [{ usd: 5, per: 'month', unpriced: 'refuse' }])
  assert.equal(config.routes.auto!.sticky, 'session')
})

const OLD_TARGET = `name: mine
start: { command: [sh, -c, "exit 3"] }
env: { URL: '{{witness.openai.base_url}}' } # ours
witness_port: 4950
witness_host: 0.0.0.0
witness_name: suite
tells: { headers: {} }
has: { fallback: true }
surfaces: { messages: {} }
`

test('every renamed field of an old target file receives its new name, and all other text stays the same', () => {
  const { text, count } = withCurrentNames(OLD_TARGET)
  assert.equal(count, 7)
  let expected = OLD_TARGET.replace('{{witness.', '{{mock.')
  for (const [from, to] of Object.entries(RENAMED_FIELDS))
    expected = expected.replace(`\n${from}:`, `\n${to}:`)
  assert.equal(text, expected)
  assert.equal(withNewNames(text, RENAMED_FIELDS).count, 0)
})
