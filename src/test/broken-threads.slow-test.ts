// An exception in a listener, a timer or a promise of a thread of the gateway: the request in progress fails, or the
// thread is started again. The next calls are answered, and nothing is spent unrecorded.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { startServer } from './test-cli.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { NO_POSTGRES, startPostgres } from './test-postgres.ts'
import { until } from './test-until.ts'

const FAILURES = ['throws', 'throws null', 'late', 'rejects'] as const

async function broken(
  t: TestContext,
  plan: readonly [thread: string, event: string, call: number],
  failure: string,
  fleet = '',
  env = {},
  logged = /(?:)/,
) {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const data = temporaryDirectory(t)
  const [file, marker] = [join(data, 'waybill.yaml'), join(data, 'broken')]
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${data}/data
${fleet}
providers: { alpha: { dialect: openai, base_url: "${provider.baseUrl}" } }
routes: { auto: { targets: [ { model: alpha/m } ] } }`,
  )
  const { url, child, said } = await startServer(t, ['serve', '--config', file], {
    env: {
      ...env,
      NODE_OPTIONS: `--import=${new URL('./test-broken-thread.ts', import.meta.url)}`,
      BROKEN: JSON.stringify([...plan, failure, marker]),
    },
  })
  const ask = async () => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'x' }] }),
    })
    await response.text()
    return response.status
  }
  const read = async () => (await fetch(`${url}/api/usage/request-logs?limit=200`)).status
  await until('the listener has failed', async () => {
    for (const status of [await ask(), await read()]) assert.ok(status === 200 || status === 503, `${status}`)
    return existsSync(marker)
  })
  await until('calls are answered', async () => (await ask()) === 200)
  await until('the record is read', async () => (await read()) === 200)
  await Promise.all(Array.from({ length: 20 }, async () => assert.equal(await ask(), 200)))
  await until('the fault is logged', () => logged.test(said.stdout))
  assert.equal(child.exitCode, null, said.stdout)
  child.kill('SIGTERM')
  await until('the gateway stops', () => child.exitCode !== null)
  assert.equal(child.exitCode, 0, said.stdout)
  const db = new Database(`${data}/data/waybill.db`, { readonly: true })
  const { attempts, open } = db
    .prepare('SELECT sum(attempts) AS attempts, sum(completed_at IS NULL) AS open FROM call_logs')
    .get() as { attempts: number; open: number }
  db.close()
  assert.equal(open, 0)
  assert.equal(attempts, provider.ledger.length)
}

for (const thread of ['writer', 'reader'])
  for (const failure of FAILURES.slice(0, 2))
    test(`a message listener of the ${thread} thread ${failure}: calls go on, and the record is right (LIFE-09)`, async (t) => {
      await broken(t, [thread, 'message', thread === 'writer' ? 8 : 3], failure) // the writer gets some at the start
    })

/** Own work of the thread of a fleet, and its messages. */
const EVENTS = { timer: ['throws', 'late', 'rejects'], promise: ['throws'], message: ['throws', 'rejects'] }

for (const [event, failures] of Object.entries(EVENTS))
  for (const failure of failures)
    test(`a ${event} of the fleet thread ${failure}: calls go on and are shipped (LIFE-09)`, {
      skip: NO_POSTGRES,
    }, async (t) => {
      const postgres = await startPostgres()
      t.after(() => postgres.end())
      await postgres.start()
      const url = await postgres.database('fleet')
      await broken(
        t,
        ['fleet', event, 3],
        failure,
        'fleet: { url: $FLEET_URL, instance: one }',
        { FLEET_URL: url },
        // Which promise is the third depends on time, and the first one's fault is that of another, which is logged.
        event === 'timer' ? /the fleet thread ended/ : undefined,
      )
    })
