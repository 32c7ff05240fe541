// Background responses that no provider can run. The gateway runs them and stores their answers.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { cpSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { Script } from '../../../mocks/test-upstream.ts'
import { MEMORY } from '../../shared/memory.ts'
import { type Setup, sharedGateways, type TestGateway, temporaryDirectory } from '../../test/test-gateway.ts'
import { until } from '../../test/test-until.ts'
import { samples as chat } from '../chat/test-samples.ts'

const sharedGateway = sharedGateways()

const ROUTE = 'routes: { auto: { targets: [ { model: beta/m } ] } }'
const CONFIG = `responses: { store: { enabled: true } }\n${ROUTE}`
const JSON_TYPE = { 'content-type': 'application/json' }
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }

/** Returns a script that answers once `release` is called. */
function held(): { script: Script; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const script: Script = (res) =>
    void promise.then(() => res.writeHead(200, JSON_TYPE).end(chat.answer('m', USAGE)))
  return { script, release: resolve }
}

/** beta speaks chat. */
const start = (t: TestContext, beta: Script, setup: Setup = {}) =>
  sharedGateway(t, {
    dialects: { beta: ['chat'] },
    providers: { beta },
    config: CONFIG,
    env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
    ...setup,
  })

const ask = ({ get }: TestGateway, more: object = {}, headers: Record<string, string> = {}) =>
  get('/v1/responses', {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify({ model: 'auto', input: 'where to?', background: true, ...more }),
  })

/** Reads a response until its status is none of `states`. */
const leaves = ({ get }: TestGateway, id: string, ...states: string[]): Promise<any> =>
  until(`${id} is no longer ${states.join(' or ')}`, async () => {
    const { json } = await get(`/v1/responses/${id}`)
    return !states.includes(json.status) && json
  })

test('a background response is queued, then in progress, then completed; it is recorded as one call and can be continued', async (t) => {
  const { script, release } = held()
  const gateway = await start(t, script)
  const first = await ask(gateway, { metadata: { of: 'the test' } })
  const { id } = first.json
  assert.deepEqual(
    [first.status, first.json.status, first.json.background, first.json.metadata, first.json.output],
    [200, 'queued', true, { of: 'the test' }, []],
  )
  assert.equal((await leaves(gateway, id, 'queued')).status, 'in_progress')
  const early = await ask(gateway, { background: false, previous_response_id: id })
  assert.deepEqual([early.status, early.json.error.code], [400, 'previous_response_not_found'])
  assert.equal(gateway.received(), 1)

  release()
  const done = await leaves(gateway, id, 'queued', 'in_progress')
  assert.deepEqual([done.id, done.status, done.background, done.output.length], [id, 'completed', true, 1])
  const { state, tokens, transport } = await gateway.record(first.headers.get('x-gateway-request-id'))
  assert.deepEqual([state, tokens.output, transport], ['completed', 4, 'http'])
  const next = await ask(gateway, { background: false, input: 'and then?', previous_response_id: id })
  assert.equal(next.status, 200)
  assert.equal((gateway.upstream.beta!.ledger.at(-1)!.json as any).messages.length, 3)
  const { json: listed } = await gateway.get('/api/usage/request-logs')
  assert.equal(listed.data.length, 2)
})

test('a cancelled background response is recorded as aborted and cannot be continued', async (t) => {
  const gateway = await start(t, held().script)
  const { json, headers } = await ask(gateway)
  assert.equal((await leaves(gateway, json.id, 'queued')).status, 'in_progress')
  const cancelled = await gateway.get(`/v1/responses/${json.id}/cancel`, { method: 'POST' })
  assert.deepEqual([cancelled.status, cancelled.json.status], [200, 'cancelled'])
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'aborted')
  await until('the provider is left', () => gateway.upstream.beta!.abandoned === 1)
  assert.equal((await leaves(gateway, json.id)).status, 'cancelled')
  assert.equal((await ask(gateway, { previous_response_id: json.id })).status, 400)
  const again = await gateway.get(`/v1/responses/${json.id}/cancel`, { method: 'POST' })
  assert.equal(again.status, 400)

  const other = await ask(gateway)
  const path = `/v1/responses/${other.json.id}`
  assert.equal((await gateway.get(path, { method: 'DELETE' })).json.deleted, true)
  assert.equal((await gateway.get(path)).status, 404)
})

test('a failed call produces a failed response with the provider’s message, and holds no memory', async (t) => {
  const before = MEMORY.bytes
  const gateway = await start(t, (res) =>
    res.writeHead(400, JSON_TYPE).end('{"error":{"message":"no such thing","code":"odd_request"}}'),
  )
  const { json, headers } = await ask(gateway)
  const failed = await leaves(gateway, json.id, 'queued', 'in_progress')
  assert.equal(failed.status, 'failed')
  assert.match(failed.error.message, /no such thing/)
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'failed')
  await until('no memory is held', () => MEMORY.bytes === before)
})

test('if the gateway stops or is killed during the call, the response fails with a reason that names the record', async (t) => {
  const data = temporaryDirectory(t)
  const gateway = await start(t, held().script, { data })
  const { json, headers } = await ask(gateway)
  const callId = headers.get('x-gateway-request-id')!
  await leaves(gateway, json.id, 'queued')
  // A gateway killed at this moment would leave exactly these files.
  const killed = temporaryDirectory(t)
  cpSync(data, killed, { recursive: true })
  await gateway.gateway.close(50)
  for (const [directory, state] of [
    [data, 'aborted'],
    [killed, 'interrupted'],
  ] as const) {
    const again = await start(t, held().script, { data: directory })
    const failed = await leaves(again, json.id)
    assert.deepEqual([failed.status, failed.error.code], ['failed', 'interrupted'], state)
    assert.ok(failed.error.message.includes(callId))
    assert.equal((await again.record(callId)).state, state)
    assert.equal(again.received(), 0, 'it is not sent a second time')
    await again.gateway.close(50)
  }
})

test('a stopping gateway waits for a background response to end', async (t) => {
  const data = temporaryDirectory(t)
  const { script, release } = held()
  const gateway = await start(t, script, { data })
  const { json } = await ask(gateway)
  await leaves(gateway, json.id, 'queued')
  const closed = gateway.gateway.close(5_000)
  release()
  await closed
  assert.equal((await leaves(await start(t, script, { data }), json.id)).status, 'completed')
})

test('a background response that is streamed, or not stored, is refused without an inference, and no other key can read a stored response', async (t) => {
  const without = await start(t, held().script, { config: ROUTE })
  assert.equal((await ask(without)).json.error.code, 'dialect_not_spoken')
  assert.equal(without.received(), 0)
  const keys = ['k1', 'k2'].map((key) => ({ authorization: `Bearer ${key}` }))
  const { script, release } = held()
  const gateway = await start(t, script, {
    config: `${CONFIG}
keys: [ { name: one, role: admin, digest: "sha256:${hash('sha256', 'k1')}" }, { name: two, digest: "sha256:${hash('sha256', 'k2')}" } ]`,
  })
  assert.equal((await ask(gateway, { stream: true }, keys[0])).json.error.param, 'stream')
  assert.equal((await ask(gateway, { store: false }, keys[0])).json.error.code, 'dialect_not_spoken')
  assert.equal(gateway.received(), 0)
  const { json } = await ask(gateway, {}, keys[0])
  const there = `/v1/responses/${json.id}`
  assert.equal((await gateway.get(there, { headers: keys[1]! })).status, 404)
  assert.equal((await gateway.get(`${there}/cancel`, { method: 'POST', headers: keys[1]! })).status, 404)
  assert.equal((await gateway.get(there, { headers: keys[0]! })).status, 200)
  release()
})
