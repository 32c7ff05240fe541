// Behaviour of a running `serve` with its configuration file and its log: a child process, real files, real
// signals.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { answer, chunk, DONE, type MockServer, startMockServer, stream } from '../../mocks/test-upstream.ts'
import { runCli, startCli } from '../test/test-cli.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'

interface Line {
  readonly level: string
  readonly msg: string
  readonly [field: string]: any
}

/**
 * Starts a gateway in a separate process, with a file that can be rewritten. `config` is appended after
 * server, data and providers.
 */
async function serving(t: TestContext, provider: MockServer, config: string, env = {}) {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'waybill.yaml')
  const head = `server: { port: 0 }\ndata: ./data\nproviders: { alpha: { dialect: openai, base_url: "${provider.baseUrl}", key: $KEY } }\n`
  writeFileSync(file, head + config)
  const { child, said } = startCli(['serve', '-c', file], { env: { KEY: 'sk-of-the-operator', ...env } })
  t.after(() => child.kill('SIGKILL'))
  const lines = (): Line[] =>
    said.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  const all = () => said.stdout + said.stderr
  /** Returns the first line with this text, once it is printed. */
  const line = async (text: RegExp, count = 1): Promise<Line> => {
    for (let tries = 0; tries < 1_000; tries++) {
      const found = lines().filter(({ msg }) => text.test(msg))
      if (found.length >= count) return found[count - 1]!
      assert.equal(child.exitCode, null, all())
      await sleep(10)
    }
    throw new Error(`no line ${text} within ten seconds:\n${all()}`)
  }
  const url: string = (await line(/listens on/)).url
  return {
    child,
    file,
    url,
    line,
    lines,
    all,
    /** Replaces the file with another file, as editors do. */
    replace(config: string) {
      writeFileSync(`${file}.new`, head + config)
      renameSync(`${file}.new`, file)
    },
    write: (config: string) => writeFileSync(file, head + config),
    ready: async () => (await fetch(`${url}/readyz`)).json() as Promise<any>,
    chat: (model: string, more = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(ask(model, more)),
      }),
  }
}

const ONE = 'routes: { auto: { targets: [ { model: alpha/one } ] } }\n'
const TWO =
  'routes: { auto: { targets: [ { model: alpha/two } ] }, more: { targets: [ { model: alpha/two } ] } }\n'

test('a changed file is reloaded while a stream continues; an invalid file changes nothing and is reported (LIFE-07)', async (t) => {
  let release = () => {}
  const provider = await startMockServer()
  t.after(() => provider.close())
  const gateway = await serving(t, provider, ONE)
  assert.equal((await gateway.ready()).configuration.state, 'current')

  const held = new Promise<void>((done) => (release = done))
  provider.script = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ role: 'assistant', content: 'before ' }))
    await held
    response.end(chunk({ content: 'after' }) + chunk({}, { finish_reason: 'stop' }) + DONE)
  }
  const open = await gateway.chat('auto', { stream: true })
  const reader = open.body!.pipeThrough(new TextDecoderStream()).getReader()
  assert.match((await reader.read()).value!, /before/)

  provider.script = answer()
  gateway.replace(TWO)
  await gateway.line(/was reloaded/)
  assert.equal((await gateway.chat('more')).headers.get('x-gateway-model'), 'two', 'a route of the new file')

  gateway.write('routes: { auto: { targets: [ { model: nowhere/x } ], strategy: odd } }\n')
  const { problems, level } = await gateway.line(/was rejected/)
  assert.equal(level, 'error')
  assert.match(problems.join('\n'), /waybill\.yaml:4:\d+ routes\.auto\.strategy: /, 'the log names the line')
  assert.equal((await gateway.ready()).configuration.state, 'rejected')
  assert.equal(
    (await gateway.chat('more')).headers.get('x-gateway-model'),
    'two',
    'the one before is in force',
  )

  release()
  let rest = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
  assert.match(rest, /after.+\[DONE\]/s, 'the stream outlived both')
  assert.equal(open.headers.get('x-gateway-model'), 'one')

  gateway.write(ONE)
  await gateway.line(/was reloaded/, 2)
  assert.equal((await gateway.ready()).configuration.state, 'current')
  assert.equal((await gateway.chat('more')).status, 404)
})

test('SIGHUP reloads the file, and one line names the settings that need a restart (LIFE-07)', async (t) => {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const gateway = await serving(t, provider, ONE)
  gateway.child.kill('SIGHUP')
  await gateway.line(/was reloaded/)
  writeFileSync(
    gateway.file,
    `server: { port: 1 }\ndata: ./elsewhere\ndurability: full\nproviders: { beta: { dialect: openai, base_url: "${provider.baseUrl}" } }\n`,
  )
  gateway.child.kill('SIGHUP')
  const { settings } = await gateway.line(/take effect after a restart/)
  assert.deepEqual(settings, ['server.port', 'data', 'durability'])
  assert.equal((await gateway.chat('beta/x')).status, 200, 'the rest is in force, at the old port')
  assert.equal((await gateway.chat('alpha/x')).status, 404)
  assert.equal(provider.ledger.at(-1)!.headers.authorization, undefined, 'no key of a provider that is gone')
})

test('each call, the start and the stop are logged as lines of JSON, without prompts, keys or sessions (KEEP-01)', async (t) => {
  const provider = await startMockServer(
    stream(chunk({ content: 'the-answer' }, { finish_reason: 'stop' }), DONE),
  )
  t.after(() => provider.close())
  const gateway = await serving(t, provider, ONE)
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': 'the-session' },
    body: JSON.stringify({
      model: 'auto',
      stream: true,
      messages: [{ role: 'user', content: 'the-prompt' }],
    }),
  })
  await response.text()
  const call = await gateway.line(/^call$/)
  assert.deepEqual(
    [
      call.level,
      call.id,
      call.requested_model,
      call.provider,
      call.model,
      call.route,
      call.strategy,
      call.state,
      call.status,
      call.attempts,
    ],
    [
      'info',
      response.headers.get('x-gateway-request-id'),
      'auto',
      'alpha',
      'one',
      'auto',
      'priority',
      'completed',
      200,
      1,
    ],
  )
  assert.ok(call.latency_ms > 0)
  gateway.child.kill('SIGTERM')
  assert.deepEqual(await once(gateway.child, 'exit'), [0, null])
  assert.deepEqual(
    gateway.lines().map(({ msg }) => msg.replace(/ http.+/, '')),
    ['Waybill listens on', 'call', 'stopping: no new calls; waiting for open ones', 'stopped'],
    'nothing is lost at the end',
  )
  assert.doesNotMatch(gateway.all(), /the-session|the-prompt|the-answer|sk-of-the-operator/)
})

test('the session is logged only at level debug, and an unknown level is refused', async (t) => {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const gateway = await serving(t, provider, ONE, { WAYBILL_LOG_LEVEL: 'debug' })
  await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': 'the-session' },
    body: JSON.stringify(ask('auto')),
  })
  assert.equal((await gateway.line(/^call opened$/)).session_id, 'the-session')

  const options = { env: { KEY: 'x' } }
  const wrong = await runCli(['serve', '-c', gateway.file, '--log-level', 'loud'], options)
  assert.equal(wrong.code, 2)
  assert.equal(wrong.stderr, 'waybill: log level "loud" is not one of silent, error, warn, info, debug\n')
})

test('after SIGTERM, no new call is accepted, the open stream can finish, and the record is complete (LIFE-02)', async (t) => {
  let release = () => {}
  const held = new Promise<void>((done) => {
    release = done
  })
  const provider = await startMockServer(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ content: 'before ' }))
    await held
    response.end(chunk({ content: 'after' }, { finish_reason: 'stop' }) + DONE)
  })
  t.after(() => provider.close())
  const gateway = await serving(t, provider, ONE)
  const open = await gateway.chat('auto', { stream: true })
  gateway.child.kill('SIGTERM')
  await gateway.line(/^stopping/)
  await assert.rejects(gateway.chat('auto'), 'nothing listens any more')
  gateway.child.kill('SIGHUP')
  await gateway.line(/was reloaded/) // and the call continues
  release()
  assert.match(await open.text(), /after.+\[DONE\]/s)
  assert.deepEqual(await once(gateway.child, 'exit'), [0, null])
  const db = new Database(join(dirname(gateway.file), 'data/waybill.db'), { readonly: true })
  t.after(() => db.close())
  assert.deepEqual(db.prepare('SELECT state, attempts FROM call_logs').all(), [
    { state: 'completed', attempts: 1 },
  ])
  assert.equal(provider.ledger.length, 1)
})

test('a second process on the same data directory is refused with a one-line error, and the first process continues (LIFE-05)', async (t) => {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const gateway = await serving(t, provider, ONE)
  const second = await runCli(['serve', '-c', gateway.file], { env: { KEY: 'x' } })
  assert.equal(second.code, 1)
  assert.match(
    second.stderr,
    /^waybill: data directory [^ ]+ is in use by another Waybill; stop that one, or [^\n]+\n$/,
  )
  assert.equal((await gateway.chat('auto')).status, 200)
})

test('a gateway exits normally even if nothing reads its log any longer', async (t) => {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const { child, chat, all } = await serving(t, provider, ONE)
  child.stdout.destroy()
  await (await chat('auto')).text()
  await sleep(200) // this call's line finds no reader
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, all())
})
