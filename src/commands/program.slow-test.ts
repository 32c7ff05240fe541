// The command line as a user runs it: a child process, its two streams and its exit code.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { loadConfig } from '../config/load.ts'
import { CLI, ENVIRONMENT, startServer } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { greeting } from './serve.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/waybill.yaml', import.meta.url))

function waybill(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    encoding: 'utf8',
    env: ENVIRONMENT,
  })
  return { status, stdout, stderr }
}

/** Starts `serve` and waits for the line with its address. */
async function serve(t: TestContext, args: string[], env = {}, cwd = process.cwd()) {
  const options = { cwd, env: { WAYBILL_DATA: temporaryDirectory(t), ...env } }
  const { child, url, said } = await startServer(t, ['serve', ...args], options)
  const lines = () =>
    said.stdout
      .trim()
      .split('\n')
      .map((line): any => JSON.parse(line))
  return { child, url, lines, stderr: () => said.stderr }
}

test('`--help` lists the commands, an example and the exit codes', () => {
  const { status, stdout } = waybill('--help')
  assert.equal(status, 0)
  for (const word of ['serve', 'routes', 'config', 'Exit codes']) assert.match(stdout, new RegExp(word))
  for (const args of [['serve'], ['routes'], ['logs'], ['doctor'], ['config', 'check']]) {
    const help = waybill(...args, '--help')
    assert.equal(help.status, 0)
    assert.match(help.stdout, /Example:\n {2}\$ waybill /)
  }
})

test('a usage error causes a one-line error with advice, and exit code 2', (t) => {
  const bad = join(temporaryDirectory(t), 'bad.yaml')
  writeFileSync(bad, 'server: { port: 99999 }\n')
  for (const [args, message] of [
    [['serv'], /unknown command 'serv'/],
    [['serve', '--nonsense'], /unknown option '--nonsense'/],
    [
      ['serve', '--config', '/nowhere/waybill.yaml'],
      /^waybill: \/nowhere\/waybill\.yaml: no such file; write one, name another with --config FILE, or try `waybill serve --replay`, which needs none\n$/,
    ],
    [['config', 'check', '-c', bad], /^waybill: .*bad\.yaml:1:17 server\.port: .+\n$/],
    [
      ['config', 'check', '-c', EXAMPLE],
      /OPENAI_API_KEY is not set; export it, keep it with `waybill key set OPENAI_API_KEY`, or remove the provider/,
    ],
    [
      ['routes', 'nowhere', '-c', EXAMPLE],
      /has no route and no provider for "nowhere"; as an unknown model it goes by its dialect: messages to auto\/code, /,
    ],
  ] as const) {
    const { status, stderr, stdout } = waybill(...args)
    assert.equal(status, 2, args.join(' '))
    assert.match(stderr, message)
    assert.doesNotMatch(stderr + stdout, /\n {4}at /, 'no stack trace')
  }
})

test('`waybill config check` warns about a budget that does not cover some targets', (t) => {
  const file = join(temporaryDirectory(t), 'budget.yaml')
  const keys = (limits: string) => `keys: [ { name: ann, digest: "sha256:${'0'.repeat(64)}"${limits} } ]`
  const config = (limits: string) => `
providers: { a: { dialect: openai, base_url: "http://127.0.0.1:9/v1" } }
models: { a/known: { price: { input: 1, output: 2 } } }
routes: { auto: { targets: [ { model: a/known }, { model: a/unknown } ] } }
${keys(limits)}`
  writeFileSync(file, config(', rate: { requests: 60, per: 1m }, budget: { usd: 20 }'))
  const { status, stdout, stderr } = waybill('config', 'check', '-c', file)
  assert.equal(status, 0, stderr)
  assert.match(stdout, /: ok, 1 provider, 1 route, 1 key\n$/)
  assert.equal(
    stderr,
    `waybill: ${file}: warning: no price is known for a/unknown, so it does not count towards the budget of ann; write under models: a/unknown: { price: { input: INPUT, output: OUTPUT } }\n`,
  )
  writeFileSync(file, config(''))
  assert.equal(waybill('config', 'check', '-c', file).stderr, '')
  writeFileSync(file, config(', rate: { requests: 60, per: 25d }'))
  assert.equal(waybill('config', 'check', '-c', file).status, 2)
})

test('`waybill config check` reports an empty file as an error, and warns about a file without a provider', (t) => {
  const file = join(temporaryDirectory(t), 'empty.yaml')
  writeFileSync(file, '# nothing yet\n')
  const { status, stderr } = waybill('config', 'check', '-c', file)
  assert.deepEqual(
    [status, stderr],
    [2, `waybill: ${file}:1:1 file: is empty; name a provider and a route\n`],
  )
  writeFileSync(file, 'providers: {}\n')
  const bare = waybill('config', 'check', '-c', file)
  assert.equal(bare.status, 0)
  assert.match(
    bare.stderr,
    /: warning: there are no providers, so every call is refused; name one under providers\n$/,
  )
})

test('`waybill routes` shows where calls would go, as a table and as JSON', (t) => {
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  // No gateway of this machine answers at port 1.
  writeFileSync(file, readFileSync(EXAMPLE, 'utf8').replace('port: 4949', 'port: 1'))
  const { status, stdout } = waybill('routes', '-c', file)
  assert.equal(status, 0)
  assert.match(
    stdout,
    /^auto {2}\(priority\)\n {2}openai\/gpt-6-luna +balanced +100 %\n {2}groq\/openai\/gpt-oss-120b +cheap +0 %\n/,
  )
  const [, first, second] = /auto\/cheap {2}\(cheapest\)\n(.+)\n(.+)\n/.exec(stdout)!
  const price = (row: string) => Number(/ \$(0\.\d+) a call$/.exec(row)![1])
  assert.equal(/ 100 %/.test(first!), price(first!) <= price(second!), stdout)
  assert.match(stdout, /\n\nauto\/code {2}\(least-busy, sticky: session\)\n( {2}\S+ +\w+ +33 %\n){3}/)
  assert.match(
    stdout,
    /\n {2}rule 2: input_tokens over 60000 → openai\/gpt-6-luna\n {2}rule 3: tools → tier cheap\n/,
  )
  assert.match(stdout, /\n {2}for a first call in plain text; it depends on session, shape, load\n$/)
  const [resolution] = JSON.parse(waybill('routes', 'auto/cheap', '-c', file, '--json').stdout)
  assert.deepEqual([resolution.route, resolution.strategy], ['auto/cheap', 'cheapest'])
})

test('`waybill serve --replay` answers without a key, prints a curl line that works, and exits with 0 on SIGTERM', async (t) => {
  const { child, url, stderr } = await serve(t, ['--replay', '-c', EXAMPLE, '--port', '0'])
  assert.ok(url.startsWith('http://127.0.0.1:'))
  const { config } = loadConfig(EXAMPLE, { env: {}, replay: true })
  const curl = greeting(url, config, [])
    .split('\n')
    .find((line) => line.includes('/v1/chat/completions'))!
  const { stdout: answer } = spawnSync('sh', ['-c', curl], { encoding: 'utf8' })
  assert.equal(JSON.parse(answer).object, 'chat.completion')
  const log: any = await (await fetch(`${url}/api/usage/request-logs?limit=1`)).json()
  assert.equal(log.data[0].resolved_provider, 'openai')
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
  assert.equal(stderr(), '')
})

test('without waybill.yaml, `waybill serve --replay` reports that it uses the example, and stores its data in the current directory', async (t) => {
  const cwd = temporaryDirectory(t)
  const { url, stderr } = await serve(t, ['--replay', '--port', '0'], { WAYBILL_DATA: undefined }, cwd)
  assert.match(
    stderr(),
    /^waybill: there is no waybill\.yaml, so this runs on the example configuration, .*examples\/waybill\.yaml\n$/,
  )
  const models: any = await (await fetch(`${url}/v1/models`)).json()
  assert.equal(models.data[0].id, 'auto')
  assert.deepEqual(readdirSync(cwd), ['data'])
})

test('`waybill serve --replay` fails if the given file is missing', () => {
  const { status, stderr } = waybill('serve', '--replay', '--config', '/nowhere/waybill.yaml')
  assert.equal(status, 2)
  assert.match(stderr, /^waybill: \/nowhere\/waybill\.yaml: no such file; /)
})

test('`waybill serve --replay` reaches no provider, not even a local one whose key it could read (REC-02)', async (t) => {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const config = join(temporaryDirectory(t), 'local.yaml')
  writeFileSync(
    config,
    `providers: { local: { dialect: openai, base_url: "${provider.baseUrl}", key: $LOCAL_KEY } }`,
  )
  const { url } = await serve(t, ['--replay', '-c', config, '--port', '0'], { LOCAL_KEY: 'sk-local-secret' })
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/x', messages: [] }),
  })
  assert.equal(response.status, 400)
  assert.match(await response.text(), /No recording answers POST http:\/\/127\.0\.0\.1/)
  assert.equal(provider.ledger.length, 0)
})

test('a busy port, a data directory that cannot be created, or a public address without keys causes a one-line error and exit code 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  const directory = temporaryDirectory(t)
  mkdirSync(join(directory, 'waybill.db'))
  const live = join(directory, 'live.yaml')
  writeFileSync(live, 'providers: {}\n')
  for (const [env, message] of [
    [{ WAYBILL_PORT: String(port) }, /port \d+: the port is already in use; .*--port/],
    [{ WAYBILL_DATA: '/etc/hostname/data' }, /cannot use data directory \/etc\/hostname\/data/],
    [{ WAYBILL_DATA: directory }, /cannot use data directory/],
    [{ WAYBILL_HOST: '0.0.0.0' }, /refusing to listen on 0\.0\.0\.0 without keys/],
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, [CLI, 'serve', '-c', live], {
      encoding: 'utf8',
      env: { ...ENVIRONMENT, WAYBILL_PORT: '0', WAYBILL_DATA: temporaryDirectory(t), ...env },
      timeout: 300_000, // it would listen for ever
    })
    assert.equal(status, 1, stderr)
    assert.match(stderr, message)
    assert.match(stderr, /^waybill: [^\n]+\n$/, 'one line')
  }
})

test('an old Node version is refused with a one-line error before anything native is loaded', () => {
  const old = spawnSync(
    process.execPath,
    [
      '--import',
      'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})',
      CLI,
      'serve',
    ],
    { encoding: 'utf8' },
  )
  assert.equal(old.status, 1)
  assert.match(old.stderr, /^waybill: Node 20\.20\.2 is too old; [^\n]+\n$/)
})
