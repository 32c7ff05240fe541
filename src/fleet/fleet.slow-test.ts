// Several gateways with one PostgreSQL and a separate journal for each gateway, over real sockets.

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { answer, fail, type Script } from '../../mocks/test-upstream.ts'
import { samples as messages } from '../dialects/messages/test-samples.ts'
import { samples as responses } from '../dialects/responses/test-samples.ts'
import { checkSharedSums } from '../store/postgres/test-shared-log.ts'
import { ask, type TestGateway, temporaryDirectory } from '../test/test-gateway.ts'
import { judgeIdle } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import { fleetTests, instance, listed, openShared, skip } from './test-fleet.ts'

const { freshDatabase } = fleetTests()

test('a call and its sums can be read immediately at its own instance, and within a second at other instances (FLEET-06, FLEET-07)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const [one, two] = [await instance(t, url), await instance(t, url, { name: 'two' })]
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    const { headers, status } = await (n % 2 ? one : two).chat(ask('auto'), { 'x-session-id': 'both' })
    assert.equal(status, 200)
    const id = headers.get('x-gateway-request-id')!
    ids.unshift(id)
    assert.deepEqual((await listed(n % 2 ? one : two))[0], id)
  }
  const began = performance.now()
  await until(
    'the other has it',
    async () => (await listed(one)).length === 6 && (await listed(two)).length === 6,
  )
  judgeIdle(t, 'the other has it after, ms', performance.now() - began, 1_000)
  assert.deepEqual(await listed(one), ids)
  assert.deepEqual((await listed(one, '&scope=instance')).length, 3)
  for (const each of [one, two]) {
    const { json } = await each.get('/api/usage/history?window=24h&by=provider')
    assert.equal(json.totals.calls, 6)
    assert.equal((await each.get('/api/usage/history?window=24h&scope=instance')).json.totals.calls, 3)
    assert.equal((await each.get('/api/analytics/auto-routing')).json.total_calls, 6)
    const { json: session } = await each.get('/api/sessions/both')
    assert.equal(session.calls, 6)
    assert.equal((await each.get('/api/sessions')).json.data[0].calls, 6)
    const { json: call } = await each.get(`/api/usage/request-logs/${ids[0]}`)
    assert.equal(call.attempt_log.length, 1)
    assert.equal(call.attempt_log[0].outcome, 'answered')
  }
  assert.match((await one.get('/api/statusline?session_id=both')).text, /model-a/)
  assert.match((await one.get('/metrics')).text, /waybill_fleet_instances\{instance="one"\} [12]/)
  assert.equal((await one.get('/readyz')).json.fleet.shared_log, 'ready')
  await checkSharedSums(openShared(t, url))
})

/** Checks that a gateway does not start, or, if the shared log answered too late for that, refuses calls once it has joined. */
async function assertRefused(starting: Promise<TestGateway>, why: RegExp): Promise<void> {
  const started = await starting.catch((error) => {
    assert.match(String(error), why)
    return null
  })
  if (!started) return
  await until('it may not take part', async () =>
    why.test((await started.get('/readyz')).json.error?.message),
  )
  await started.gateway.close()
}

test('a second live gateway with the same identity (a copied directory or a repeated name) is refused (FLEET-11)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const data = temporaryDirectory(t)
  const one = await instance(t, url, { data })
  assert.equal((await one.chat(ask('auto'))).status, 200)
  const copy = temporaryDirectory(t)
  cpSync(data, copy, { recursive: true })
  await assertRefused(instance(t, url, { data: copy, name: 'other' }), /copy of this data directory/)
  await assertRefused(instance(t, url), /another gateway already uses the name "one"/)
  await one.gateway.close()
  const again = await instance(t, url, { data })
  assert.equal((await listed(again)).length, 1)
})

test('a cooldown applies at every gateway within 2 s, and the later end time takes precedence (FLEET-10)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const config =
    'resilience: { cooldown: 20s }\nroutes: { auto: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }'
  const providers = { alpha: fail(500), beta: answer() }
  const one = await instance(t, url, { config, providers })
  const two = await instance(t, url, { name: 'two', config, providers })
  const until1 = async (gateway: TestGateway) =>
    (await gateway.get('/api/cloud/model/resolve?model=auto')).json.candidates[0].reason as string | null
  assert.equal((await one.chat(ask('auto'))).status, 200)
  const began = performance.now()
  await until('the other passes it over', async () => (await until1(two)) !== null)
  judgeIdle(t, 'the other passes it over after, ms', performance.now() - began, 2_000)
  const ends = [await until1(one), await until1(two)].map((text) =>
    Date.parse(text!.replace(/^.*until /, '')),
  )
  assert.ok(Math.abs(ends[0]! - ends[1]!) < 1_000, `${ends}`)
  assert.equal(two.upstream.alpha!.ledger.length, 0, 'nobody tried it to find out')
  assert.equal((await two.chat(ask('auto'))).headers.get('x-gateway-provider'), 'beta')
})

test('the shared log’s address appears in no log, error or answer to a read (FLEET-17)', {
  skip,
}, async (t) => {
  const lines: string[] = []
  const note = (fields: object, said: string) => void lines.push(JSON.stringify(fields) + said)
  const log = { debug: note, info: note, warn: note, error: note }
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  t.after(() => silent.close())
  const { port } = await new Promise<{ port: number }>((done) =>
    silent.once('listening', () => done(silent.address() as never)),
  )
  const addresses = [
    `postgresql://ann:hunter2@127.0.0.1:${port}/log`,
    'postgresql://ann:hunter2@127.0.0.1:1/log',
  ]
  const texts = await Promise.all(
    addresses.map(async (address) => {
      const one = await instance(t, address, { options: { log } as never, durability: 'shared' })
      const { status, text } = await one.chat(ask('auto'))
      assert.equal(status, 503)
      const reads = ['/readyz', '/api/usage/request-logs', '/metrics']
      return [text, ...(await Promise.all(reads.map(async (path) => (await one.get(path)).text)))]
    }),
  )
  assert.doesNotMatch([...texts.flat(), ...lines].join('\n'), /hunter2|postgresql:/)
  assert.ok(lines.some((line) => line.includes('the shared log does not accept calls')))
})

test('state that a call through one gateway creates at a provider is found by calls through every gateway (STATE-01, STATE-03, RSP-06)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const says =
    (name: string): Script =>
    (res, { path }) =>
      res.writeHead(200, { 'content-type': 'application/json' }).end(
        path.includes('/messages')
          ? JSON.stringify({
              ...JSON.parse(messages.answer('m', {})),
              id: `msg_${name}`,
              container: { id: `container_${name}` },
            })
          : JSON.stringify({ ...JSON.parse(responses.answer('m', {})), id: `resp_${name}` }),
      )
  const speaks = ['messages', 'responses']
  const setup = {
    config: 'routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] } }',
    providers: { alpha: says('alpha'), beta: says('beta') },
    dialects: { alpha: speaks, beta: speaks },
  }
  const one = await instance(t, url, setup)
  const two = await instance(t, url, { ...setup, name: 'two' })
  const post = async ({ get }: TestGateway, path: string, body: object) => {
    const text = JSON.stringify({ model: 'auto', messages: [], input: 'x', ...body })
    const headers = { 'content-type': 'application/json' }
    const { status, headers: told } = await get(path, { method: 'POST', headers, body: text })
    return [status, told.get('x-gateway-provider')]
  }
  await post(one, '/v1/messages', { model: 'beta/m', thread: { type: 'create' } })
  await post(one, '/v1/responses', { model: 'beta/m' })
  await until('the other has them', async () => (await listed(two)).length === 2)
  const goesOn = { type: 'continue', previous_message_id: 'msg_beta' }
  assert.deepEqual(await post(two, '/v1/messages', { thread: goesOn }), [200, 'beta'])
  assert.deepEqual(await post(two, '/v1/messages', { container: 'container_beta' }), [200, 'beta'])
  assert.deepEqual(await post(two, '/v1/responses', { previous_response_id: 'resp_beta' }), [200, 'beta'])
  assert.deepEqual(await post(two, '/v1/messages', { container: 'container_of_nobody' }), [400, null])
})
