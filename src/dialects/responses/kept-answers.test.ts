// Requests through the gateway for responses that a mock provider stores, over real sockets.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { createMockProviders } from '../../../mocks/server/create.ts'
import { useClock } from '../../shared/clock.ts'
import { manualClock } from '../../shared/test-clock.ts'
import { testGateway } from '../../test/test-gateway.ts'

const KEYS = { one: 'wb-key-number-one', other: 'wb-key-number-two' }
const digest = (key: string) => `"sha256:${hash('sha256', key)}"`

async function start(t: TestContext, data?: string) {
  const mock = await createMockProviders()
  t.after(() => mock.close())
  const gateway = await testGateway(t, {
    providers: {},
    env: { mock_key: mock.key('openai') },
    ...(data !== undefined && { data }),
    config: `  mock: { dialect: responses, base_url: "${mock.baseUrl('openai')}", key: $mock_key }
routes: { auto: { targets: [ { model: mock/gpt-5.4 } ] } }
keys: [{ name: one, digest: ${digest(KEYS.one)} }, { name: other, digest: ${digest(KEYS.other)} }]`,
  })
  const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
  const spent = () => mock.entries().filter(({ kind }) => kind === 'inference').length
  return { ...gateway, mock, client: clientOf(KEYS.one), other: clientOf(KEYS.other), spent }
}

const ASK = { model: 'auto', input: 'hello' }

test('a stored response is read, listed and deleted at its provider, without an inference or a record (PURE-03)', async (t) => {
  const { client, mock, spent, get } = await start(t)
  const { id } = await client.responses.create(ASK)
  assert.equal((await client.responses.retrieve(id)).id, id)
  assert.equal((await client.responses.inputItems.list(id, { limit: 5 })).data.length, 1)
  assert.equal(mock.entries().at(-1)!.query, 'limit=5')
  await client.responses.delete(id)
  await assert.rejects(client.responses.retrieve(id), { status: 404 })
  assert.equal(spent(), 1)
  const headers = { authorization: `Bearer ${KEYS.one}` }
  assert.equal((await get('/api/usage/request-logs', { headers })).json.data.length, 1)
})

test('a background response can be polled until it ends, or cancelled', async (t) => {
  t.after(useClock(manualClock())) // the gateway reads a job itself after a second
  const { client, spent } = await start(t)
  const job = await client.responses.create({ ...ASK, background: true })
  const statuses = [job.status]
  for (const _ of [1, 2]) statuses.push((await client.responses.retrieve(job.id)).status)
  assert.deepEqual(statuses, ['queued', 'in_progress', 'completed'])
  const second = await client.responses.create({ ...ASK, background: true })
  assert.equal((await client.responses.cancel(second.id)).status, 'cancelled')
  assert.equal(spent(), 2)
})

test('no provider is called for another key’s response, for an unrecorded response, or for another path', async (t) => {
  const { client, other, mock, url } = await start(t)
  const { id } = await client.responses.create(ASK)
  const before = mock.entries().length
  await assert.rejects(other.responses.retrieve(id), { status: 404 })
  await assert.rejects(other.responses.delete(id), { status: 404 })
  await assert.rejects(client.responses.retrieve('resp_unknown'), { status: 404 })
  const ask = async (method: string, path: string) => {
    const headers = { authorization: `Bearer ${KEYS.one}` }
    return (await fetch(`${url}/v1/responses/${path}`, { method, headers })).status
  }
  for (const [method, path] of [
    ['GET', `${id}/cancel`],
    ['POST', id],
    ['DELETE', `${id}/input_items`],
    ['GET', `${id}/..%2F..%2Fmodels`],
    ['GET', `${'x'.repeat(600)}`],
  ] as const)
    assert.equal(await ask(method, path), 404, `${method} ${path}`)
  assert.equal(await ask('PUT', id), 405)
  assert.equal(await ask('GET', `${id}?stream=true`), 400)
  assert.equal(mock.entries().length, before)
})

test('a provider that does not answer causes a 502, and no answer contains its key', async (t) => {
  const { client, mock, url } = await start(t)
  const { id } = await client.responses.create(ASK)
  await mock.setReachable(false)
  const answer = await fetch(`${url}/v1/responses/${id}`, {
    headers: { authorization: `Bearer ${KEYS.one}` },
  })
  const text = await answer.text()
  assert.equal(answer.status, 502)
  assert.ok(!text.includes(mock.key('openai')))
})
