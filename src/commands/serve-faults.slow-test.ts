// Exceptions in a running `serve` that no listener of the gateway contains: they do not end the process. Only a fault of
// the queue of writes does. A module in the child process causes them at SIGUSR2.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { answer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { runCli, startServer } from '../test/test-cli.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

/** Starts a gateway in whose process `body` runs at SIGUSR2. */
async function start(t: TestContext, body: string, script: Script = answer()) {
  const provider = await startMockServer(script)
  t.after(() => provider.close())
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  const write = (port: string) =>
    writeFileSync(
      config,
      `server: { port: ${port} }
data: data
providers: { alpha: { dialect: openai, base_url: "${provider.baseUrl}" } }
routes: { auto: { targets: [{ model: alpha/m }] } }`,
    )
  write('0')
  const boundary = pathToFileURL(join(import.meta.dirname, '../shared/boundary.ts'))
  const module = join(directory, 'fault.mjs')
  writeFileSync(
    module,
    `import { isMainThread } from 'node:worker_threads'
import { replaceListeners } from '${boundary}'
if (isMainThread) process.on('SIGUSR2', () => { ${body} })`,
  )
  const env = { NODE_OPTIONS: `--import ${pathToFileURL(module)}` }
  const { child, said, ended, url } = await startServer(t, ['serve', '-c', config], { env })
  write(new URL(url).port) // for `doctor`
  const call = () =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask('auto')),
    })
  return { child, said, ended, url, call, config, directory, provider }
}

test('exceptions outside of every listener do not end `serve`; the log, /metrics, Health and `doctor` report them', async (t) => {
  const { child, said, ended, url, call, config } = await start(
    t,
    `setTimeout(() => { throw new Error('thrown in a timer') })
     setTimeout(() => { throw null })
     Promise.reject(new Error('rejected by nobody'))
     Promise.reject('a text')`,
  )
  child.kill('SIGUSR2')
  const metric = async () =>
    /^waybill_internal_errors_total (\d+)/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]
  await until('all are counted', async () => (await metric()) === '4')
  assert.equal((await call()).status, 200)
  const { findings } = (await (await fetch(`${url}/api/health`)).json()) as any
  const text = /the gateway itself failed 4 times/
  assert.match(findings.find(({ verdict }: any) => verdict === 'BAD').text, text)
  const doctor = await runCli(['doctor', '-c', config])
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, new RegExp(`BAD +${text.source}`))
  for (const text of ['thrown in a timer', 'rejected by nobody', 'a text'])
    await until(`"${text}" is logged`, () => said.stdout.includes(text))
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
})

test('a fault of the queue of writes ends `serve` with exit code 1 and one line, once its open calls are on record (LIFE-09)', async (t) => {
  const late: Script = (response, received) => void setTimeout(() => answer()(response, received), 500)
  const { child, ended, call, directory, provider } = await start(
    t,
    `replaceListeners((listener) => {
       if (!/store.queue/.test(new Error().stack)) return listener
       return () => { throw new Error('by the test') }
     })`,
    late,
  )
  const open = call()
  await until('the call is open', () => provider.ledger.length === 1)
  child.kill('SIGUSR2')
  assert.equal((await open).status, 200)
  const { code, stderr, stdout } = await ended
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^waybill: stopped because of a fault: the queue of the request log failed: by the test; start it again\n$/,
  )
  assert.match(stdout, /the state of the record is unknown, so every call is refused until a restart/)
  const db = new Database(join(directory, 'data/waybill.db'), { readonly: true })
  t.after(() => db.close())
  const states = db.prepare('SELECT state FROM call_logs').pluck().all()
  assert.deepEqual(states, ['completed'])
})
