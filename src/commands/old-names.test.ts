// Names of earlier versions. Each is an error with the new name, and `--fix` replaces it while preserving
// comments and layout.
import assert from 'node:assert/strict'
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTarget } from '../../conformance/target/read.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

const CONFIG = `# mine
providers:
  a: { api: openai, base_url: "http://127.0.0.1:9/v1" } # the first
  b:
    "api": [chat, responses]   # the second
    base_url: "http://127.0.0.1:9/v1"
routes: { auto: { targets: [ { model: a/api } ] } }
`

test('an old setting is an error that gives the new name, and `config check --fix` replaces it', async (t) => {
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(file, CONFIG, { mode: 0o640 })
  const before = await runCli(['config', 'check', '-c', file])
  assert.equal(before.code, 2)
  const line = (place: string, name: string) =>
    `waybill: ${file}:${place} ${name}: is now called dialect; \`waybill config check --fix --config ${file}\` renames it\n`
  assert.equal(before.stderr, line('3:8', 'providers.a.api') + line('5:5', 'providers.b.api'))
  const link = join(temporaryDirectory(t), 'link.yaml')
  symlinkSync(file, link)
  const after = await runCli(['config', 'check', '--fix', '-c', link])
  assert.deepEqual([after.code, after.stderr], [0, ''])
  assert.equal(
    after.stdout,
    `${link}: 2 names of earlier versions replaced\n${link}: ok, 2 providers, 1 route, 0 keys\n`,
  )
  assert.equal(
    readFileSync(file, 'utf8'),
    CONFIG.replace('{ api:', '{ dialect:').replace('"api":', 'dialect:'),
  )
  assert.equal(statSync(file).mode & 0o777, 0o640)
  const again = await runCli(['config', 'check', '--fix', '-c', file])
  assert.match(again.stdout, /: 0 names of earlier versions replaced\n/)
})

test('an old target file is an error that gives the new names, and `target check --fix` replaces them', async (t) => {
  const file = join(temporaryDirectory(t), 'target.yaml')
  const text = `name: mine # ours
start: { command: [sh, -c, "exit 3"] }
env: { KEY: '{{witness.openai.key}}', URL: '{{witness.openai.base_url}}' }
witness_port: 4950
surfaces: { messages: {} }
providers: { openai: {} }
models: { call: gpt-5-mini }
`
  writeFileSync(file, text)
  const before = await runCli(['target', 'check', file])
  assert.equal(before.code, 2)
  assert.deepEqual(
    before.stderr
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/^waybill: .*?:(\d+:\d+) /, '$1 ')),
    [
      `4:1 witness_port: is now called mock_port; \`waybill target check --fix ${file}\` renames it`,
      `5:1 surfaces: is now called dialects; \`waybill target check --fix ${file}\` renames it`,
      `3:14 file: placeholders begin with {{mock. now; \`waybill target check --fix ${file}\` renames them`,
    ],
  )
  const { code, stdout } = await runCli(['target', 'check', '--fix', file])
  assert.match(stdout, /: 4 names of earlier versions replaced\n.*no mistakes found/)
  assert.equal(code, 3) // the program ends immediately
  assert.equal(
    readFileSync(file, 'utf8'),
    text.replaceAll('witness.', 'mock.').replace('witness_port', 'mock_port').replace('surfaces', 'dialects'),
  )
  assert.deepEqual(readTarget(file).dialects, { messages: { counts: false } })
})

test('an old command or option is an error that gives the new name', async () => {
  for (const [args, says] of [
    [['witness', '--list'], 'waybill: witness is now called mock\n'],
    [['conform', 'x.yaml', '--witness-port=1'], 'waybill: --witness-port is now called --mock-port\n'],
  ] as const) {
    const { code, stderr } = await runCli([...args])
    assert.deepEqual([code, stderr], [2, says])
  }
})
