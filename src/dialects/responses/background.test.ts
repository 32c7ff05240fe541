// Background responses: the gateway polls them until they end, even across a restart, and then computes their
// price.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { createMockProviders } from '../../../mocks/server/create.ts'
import { temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { until } from '../../test/test-until.ts'

const KEY = 'wb-key-number-one'

async function start(
  t: TestContext,
  { data = temporaryDirectory(t), limit = '2h', mock }: { data?: string; limit?: string; mock?: Mock } = {},
) {
  const provider = mock ?? (await createMockProviders())
  if (!mock) t.after(() => provider.close())
  const gateway = await testGateway(t, {
    data,
    providers: {},
    env: { mock_key: provider.key('openai') },
    config: `  mock: { dialect: responses, base_url: "${provider.baseUrl('openai')}", key: $mock_key }
models: { mock/gpt-6-sol: { price: { input: 0, output: 1000 } } }
routes: { auto: { targets: [ { model: mock/gpt-6-sol } ] } }
responses: { background_limit: ${limit} }
keys: [{ name: one, role: admin, digest: "sha256:${hash('sha256', KEY)}", budget: { usd: 4 } }]`,
  })
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
  const records = async (): Promise<any[]> => {
    const headers = { authorization: `Bearer ${KEY}` }
    return (await gateway.get('/api/usage/request-logs', { headers })).json.data
  }
  /** Waits until the only call ends. */
  const ended = () =>
    until('the call ends', async () => {
      const all = await records()
      assert.equal(all.length, 1)
      return all[0].completed_at !== null && all[0]
    })
  return { ...gateway, data, mock: provider, client, records, ended }
}
type Mock = Awaited<ReturnType<typeof createMockProviders>>

const ASK = { model: 'auto', input: 'hello', background: true }

test('a background response keeps its reservation until it ends, and is then priced', async (t) => {
  const { client, records, ended } = await start(t)
  const { status } = await client.responses.create(ASK)
  assert.equal(status, 'queued')
  const [open] = await records()
  assert.deepEqual([open.completed_at, open.cost_usd], [null, null])
  await assert.rejects(client.responses.create(ASK), { code: 'budget_exceeded' })
  const { state, tokens, cost_usd, cost_missing } = await ended()
  assert.equal(state, 'completed')
  assert.ok(tokens.output > 0)
  assert.equal(cost_usd, tokens.output / 1_000)
  assert.deepEqual(cost_missing, [])
  assert.equal((await client.responses.create(ASK)).status, 'queued')
})

test('after a restart the gateway polls the background response again, and the reservation still counts', async (t) => {
  const first = await start(t)
  const { id } = await first.client.responses.create(ASK)
  await first.gateway.close()
  const second = await start(t, { data: first.data, mock: first.mock })
  const [open] = await second.records()
  assert.deepEqual([open.state, open.completed_at, open.response_id], ['routed', null, id])
  await assert.rejects(second.client.responses.create(ASK), { code: 'budget_exceeded' })
  const { state, cost_usd, tokens } = await second.ended()
  assert.deepEqual([state, cost_usd], ['completed', tokens.output / 1_000])
  assert.equal((await second.client.responses.create(ASK)).status, 'queued')
})

/** Starts a provider with the same answer to every request. */
async function startProvider(t: TestContext, answer: object) {
  const provider = { answer, base: '' }
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(provider.answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  provider.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return provider
}

test('an answer of another provider or key with the same id does not end a background response', async (t) => {
  const whole = { id: 'resp_1', object: 'response', model: 'm', output: [] }
  const ended = { ...whole, status: 'completed', usage: { input_tokens: 7, output_tokens: 7 } }
  const open = { ...whole, status: 'in_progress', background: true }
  const [alpha, beta] = [await startProvider(t, open), await startProvider(t, ended)]
  const keyOf = (name: string) =>
    `{ name: ${name}, role: client, digest: "sha256:${hash('sha256', `wb-key-of-${name}`)}" }`
  const { get } = await testGateway(t, {
    providers: {},
    config: `  alpha: { dialect: responses, base_url: "${alpha.base}" }
  beta: { dialect: responses, base_url: "${beta.base}" }
keys: [ ${keyOf('ann')}, ${keyOf('bob')} ]`,
  })
  const as = (name: string) => ({
    authorization: `Bearer wb-key-of-${name}`,
    'content-type': 'application/json',
  })
  const ask = (name: string, provider: string) => {
    const body = JSON.stringify({ model: `${provider}/m`, input: 'hello', background: true })
    return get('/v1/responses', { method: 'POST', headers: as(name), body })
  }
  const read = (name: string) => get('/v1/responses/resp_1', { headers: as(name) })
  await ask('ann', 'alpha')
  await ask('bob', 'beta')
  assert.equal((await read('bob')).json.status, 'completed')
  alpha.answer = ended
  await ask('bob', 'alpha')
  alpha.answer = open
  const { json: list } = await get('/api/usage/request-logs', { headers: as('ann') })
  assert.deepEqual(
    list.data.map(({ completed_at, tokens }: any) => [completed_at, tokens.output]),
    [[null, null]],
  )
  alpha.answer = ended
  assert.equal((await read('ann')).json.status, 'completed')
  const { json: after } = await get('/api/usage/request-logs', { headers: as('ann') })
  assert.deepEqual([after.data[0].state, after.data[0].tokens.output], ['completed', 7])
})

test('a client can cancel its background response', async (t) => {
  const { client, ended } = await start(t)
  const { id } = await client.responses.create(ASK)
  assert.equal((await client.responses.cancel(id)).status, 'cancelled')
  const { state, error_code } = await ended()
  assert.deepEqual([state, error_code], ['aborted', 'client_closed'])
})

test('a background response that reaches the time limit has an unknown cost', async (t) => {
  const { client, mock, ended } = await start(t, { limit: '1s' })
  await client.responses.create(ASK)
  await mock.close()
  const { state, error_code, cost_missing } = await ended()
  assert.deepEqual([state, error_code], ['failed', 'upstream_timeout'])
  assert.deepEqual(cost_missing, ['attempt'])
})
