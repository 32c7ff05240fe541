// `waybill record` and `waybill recordings` as a user runs them: child processes, their output and exit
// codes. Over 250 lines, because it covers recording and all three subcommands: list, verify, import.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startMockServer, streamed } from '../../mocks/test-upstream.ts'
import { table } from '../terminal/table.ts'
import { CLI, ENVIRONMENT } from '../test/test-cli.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'

const OWN = fileURLToPath(new URL('../../recordings', import.meta.url))

function waybill(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    encoding: 'utf8',
    env: ENVIRONMENT,
  })
  return { status, stdout, stderr }
}

test('`waybill record` warns about costs, stores a redacted recording of each call, and prints a total', async (t) => {
  const directory = temporaryDirectory(t)
  const mock = await startMockServer(streamed('Dear ', 'harbourmaster'))
  t.after(() => mock.close())
  const config = join(directory, 'waybill.yaml')
  const out = join(directory, 'kept')
  writeFileSync(
    config,
    `server: { port: 0 }\nproviders: { alpha: { dialect: openai, base_url: "${mock.baseUrl}", key: $ALPHA_KEY } }\n`,
  )
  const child = spawn(
    process.execPath,
    [CLI, 'record', '--provider', 'alpha', '-c', config, '--out', out, '--scenario', 'greeting'],
    { env: { ...ENVIRONMENT, ALPHA_KEY: 'sk-alpha-secret' } },
  )
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part))
  while (!output.includes('Ask:')) {
    assert.equal(child.exitCode, null, output)
    await sleep(10)
  }
  assert.match(output, /^\s*LIVE TRAFFIC: .* costs money\.$/m)
  const url = /listens on (http\S+)/.exec(output)![1]
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('alpha/model-a', { stream: true })),
  })
  assert.match(await answer.text(), /harbourmaster/)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
  assert.match(output, /^recorded {2}alpha\/chat-completions-model-a-greeting-stream$/m)
  assert.ok(
    output.endsWith(
      `1 recorded in ${out}, 0 not kept.\nLook at them, then: waybill recordings verify ${out}\nPlay them instead of the provider: waybill serve --replay ${out}\n`,
    ),
    output,
  )
  assert.doesNotMatch(output, /sk-alpha-secret/)

  assert.deepEqual(readdirSync(join(out, 'alpha')), [
    'chat-completions-model-a-greeting-stream.json',
    'chat-completions-model-a-greeting-stream.sse',
  ])
  const body = readFileSync(join(out, 'alpha/chat-completions-model-a-greeting-stream.sse'), 'utf8')
  assert.match(body, /"content":"xxxxxxxxxxxxx"/)
  assert.equal(waybill('recordings', 'verify', out).status, 0)
})

test('for an unknown provider, `waybill record` prints an error that names the known providers', (t) => {
  const config = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(config, 'providers: { alpha: { dialect: openai, base_url: "http://127.0.0.1:1/v1" } }\n')
  const { status, stderr } = waybill('record', '--provider', 'beta', '-c', config)
  assert.equal(status, 2)
  assert.match(stderr, /^waybill: .*: there is no provider "beta"; there are: alpha\n$/)
})

test('`waybill record` refuses a call whose recording could not be stored, and spends nothing', (t) => {
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  writeFileSync(config, 'providers: { alpha: { dialect: openai, base_url: "http://127.0.0.1:9/v1" } }\n')
  const record = (...more: string[]) => waybill('record', '--provider', 'alpha', '-c', config, ...more)
  const folder = record('--out', config)
  assert.equal(folder.status, 2)
  assert.match(folder.stderr, /^waybill: --out [^\n]+ cannot be written to: [^\n]+; name another folder\n$/)
  const scenario = record('--out', join(directory, 'out'), '--scenario', '../x')
  assert.equal(scenario.status, 2)
  assert.match(scenario.stderr, /^waybill: --scenario takes letters[^\n]+\n$/)
})

test('`waybill recordings list` shows every recording, as a table and as JSON', () => {
  const { status, stdout } = waybill('recordings', 'list')
  assert.equal(status, 0)
  assert.match(stdout, /^scenario +model +stream +status +chunks +bytes +origin +date\n\n\w+ {2}\S+\n/)
  const listed = JSON.parse(waybill('recordings', 'list', '--json').stdout)
  assert.equal(stdout.match(/\d{4}-\d\d-\d\d$/gm)!.length, listed.length)
  for (const { provider, endpoint } of listed) assert.ok(stdout.includes(`\n${provider}  ${endpoint}\n`))
  assert.deepEqual(Object.keys(listed[0]), [
    ...[
      'name',
      'provider',
      'endpoint',
      'scenario',
      'model',
      'stream',
      'status',
      'chunks',
      'bytes',
      'origin',
      'date',
    ],
  ])
})

test('`waybill recordings verify` prints nothing about valid recordings, names each problem, and warns about old recordings', (t) => {
  const dir = temporaryDirectory(t)
  cpSync(OWN, dir, { recursive: true })
  const good = waybill('recordings', 'verify', dir, '--older-than', '1200')
  assert.deepEqual([good.status, good.stdout], [0, `${dir}: 0 problems, 0 warnings\n`])

  writeFileSync(join(dir, 'openai/stray.sse'), 'data: 1\n\n')
  const bad = waybill('recordings', 'verify', dir)
  assert.equal(bad.status, 1)
  assert.equal(
    bad.stdout,
    'problem  openai/stray.sse: no recording names this file as its body; delete it or write its head\n',
  )
  assert.equal(bad.stderr, `waybill: ${dir}: 1 problems\n`)
  assert.equal(waybill('recordings', 'verify', dir, '--older-than', 'ages').status, 2)

  const empty = waybill('recordings', 'verify', temporaryDirectory(t))
  assert.deepEqual([empty.status, empty.stdout], [1, ''])
  assert.match(empty.stderr, /^waybill: \/[^\n]+ holds no recordings; name the folder they are in\n$/)
})

/**
 * Creates a folder containing a file that is not a recording, and a HAR file with one usable and two unusable
 * exchanges.
 */
function foreign(t: TestContext) {
  const dir = temporaryDirectory(t)
  const entry = (method: string, text: string) => ({
    request: {
      method,
      url: 'https://api.openai.com/v1/chat/completions',
      headers: [],
      postData: { text: '{"model":"tiny"}' },
    },
    response: {
      status: 200,
      headers: [
        { name: 'Content-Type', value: 'application/json' },
        { name: 'Date', value: 'Sat, 21 Nov 2026 10:00:00 GMT' },
      ],
      content: { text },
    },
  })
  const good = entry('POST', '{"choices":[{"message":{"content":"Ahoy"}}]}')
  const write = (name: string, ...entries: unknown[]) =>
    writeFileSync(join(dir, name), JSON.stringify({ log: { entries } }))
  write('chat.har', good, entry('DELETE', '{}'), entry('POST', ''))
  write('good.har', good, good)
  writeFileSync(join(dir, 'notes.txt'), 'nothing')
  const out = join(dir, 'out')
  const run = (...files: string[]) =>
    waybill('recordings', 'import', ...files.map((file) => join(dir, file)), '--out', out)
  return { dir, out, run }
}

test('`waybill recordings import` prints the result of every exchange, and exits with 1 if something was refused', (t) => {
  const { dir, out, run } = foreign(t)
  const { status, stdout, stderr } = run('chat.har', 'notes.txt')
  assert.equal(status, 1)
  assert.deepEqual(
    stdout.split('\n').map((line) => line.replace(/ +/g, ' ')),
    [
      'written chat.har: exchange 1: openai/chat-completions-tiny-plain',
      'refused chat.har: exchange 2: a recording answers GET or POST, not DELETE',
      'refused chat.har: exchange 3: the answer has no body',
      'refused notes.txt: no known recording format (vcrpy, VCR of Ruby or R, go-vcr, HAR, nock, httpmock, WireMock, Datadog test agent)',
      'file exchanges imported known refused',
      'chat.har 3 1 0 2',
      'notes.txt 0 0 0 1',
      'all 3 1 0 3',
      `The files are in ${dir}/`,
      '',
    ],
  )
  assert.equal(stderr, 'waybill: 3 refused, for the reasons above; 1 imported\n')
  const head = JSON.parse(readFileSync(join(out, 'openai/chat-completions-tiny-plain.json'), 'utf8'))
  assert.deepEqual(
    [head.origin, head.date, head.note],
    [
      'recorded',
      '2026-11-21',
      'The source kept neither chunks nor pace: one chunk for each event, no waits.',
    ],
  )
  const digest = createHash('sha256')
    .update(readFileSync(join(dir, 'chat.har')))
    .digest('hex')
  const shape = new RegExp(
    `^imported from a HAR file, sha256 ${digest.slice(0, 16)}, exchange 1, sha256 [\\da-f]{16}$`,
  )
  assert.match(head.shape, shape)
})

test('a second import writes nothing and names the existing files', (t) => {
  const { out, run } = foreign(t)
  const first = run('good.har')
  assert.equal(first.status, 0, first.stderr)
  const names = () => readdirSync(join(out, 'openai')).sort()
  // The same exchange twice in one file represents two turns of a session.
  assert.equal(names().length, 4)
  const before = names()
  for (let again = 0; again < 2; again++) {
    const { status, stdout } = run('good.har')
    assert.equal(status, 0)
    assert.deepEqual(names(), before)
    assert.match(stdout, /^known +good\.har: exchange 1: openai\/chat-completions-tiny-plain$/m)
    assert.match(stdout, /^known +good\.har: exchange 2: openai\/chat-completions-tiny-plain-2$/m)
  }
})

test('a file that is given twice, or copied, is imported once', (t) => {
  const { dir, out, run } = foreign(t)
  cpSync(join(dir, 'good.har'), join(dir, 'copy.har'))
  const { status, stdout } = run('good.har', 'good.har', 'copy.har')
  assert.equal(status, 0)
  assert.equal(readdirSync(join(out, 'openai')).length, 4)
  assert.match(stdout, /^known +copy\.har: exchange 2: openai\/chat-completions-tiny-plain-2$/m)
})

test('an import that stores nothing exits with 1 and incorrect usage with 2, as `--help` documents', (t) => {
  const { out, run } = foreign(t)
  assert.equal(run('notes.txt').status, 1)
  assert.equal(waybill('recordings', 'import', '--out', out).status, 2)
  assert.match(waybill('recordings', 'import', '--help').stdout, /Exit codes: 0 .*; 1 .*; 2 /)
})

test('a file without a host is imported for the provider named by `--provider`', (t) => {
  const { dir, out } = foreign(t)
  const file = join(dir, 'a.yaml')
  writeFileSync(
    file,
    'when:\n  path: /v1/chat/completions\n  method: POST\n  body: \'{"model":"m"}\'\nthen:\n  status: 200\n  body: "{}"\n',
  )
  const unnamed = waybill('recordings', 'import', file, '--out', out)
  assert.equal(unnamed.status, 1)
  assert.match(unnamed.stdout, /names no host; name the provider with --provider/)
  const named = waybill('recordings', 'import', file, '--out', out, '--provider', 'groq')
  assert.equal(named.status, 0, named.stdout)
  assert.match(named.stdout, /^written +a\.yaml: exchange 1: groq\//m)
})

test('a table fits the terminal: long cells are shortened, the widest first, and control characters are removed', () => {
  const rows = [
    ['name', 'model', 'bytes'],
    ['a', 'deepseek-reasoner\u001b[31m', '12'],
    ['日本語', 'm', '3'],
  ]
  assert.equal(
    table(rows, { columns: 22, right: ['bytes'], shrink: ['model'] }),
    'name    model    bytes\na       deepse…     12\n日本語  m            3\n',
  )
  assert.match(table(rows, { columns: null }), /deepseek-reasoner\[31m {2}12/)
})
