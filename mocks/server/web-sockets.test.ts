// Tests the mock's WebSockets and stored responses over a real socket.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { WebSocket } from 'ws'
import { createMockProviders } from './create.ts'

async function start(t: TestContext) {
  const mock = await createMockProviders()
  t.after(() => mock.close())
  const client = new OpenAI({ baseURL: mock.baseUrl('openai'), apiKey: mock.key('openai'), maxRetries: 0 })
  return { mock, client }
}

async function open(t: TestContext, base: string, key: string) {
  const ws = new WebSocket(`${base.replace(/^http/, 'ws')}/responses`, {
    headers: { authorization: `Bearer ${key}` },
  })
  await once(ws, 'open')
  t.after(() => ws.terminate())
  return async (create: object): Promise<any[]> => {
    const events: any[] = []
    const { promise, resolve } = Promise.withResolvers<any[]>()
    const take = (data: unknown) => {
      events.push(JSON.parse(String(data)))
      if (/^(error|response\.(completed|incomplete|failed))$/.test(events.at(-1).type)) resolve(events)
    }
    ws.on('message', take).once('close', () => resolve(events))
    ws.send(JSON.stringify({ type: 'response.create', ...create }))
    return promise.finally(() => ws.off('message', take))
  }
}

const ASK = { model: 'gpt-5.4', input: 'hello' }

test('scenarios, refusals and the ledger work the same over a WebSocket as over HTTP', async (t) => {
  const { mock, client } = await start(t)
  const ask = await open(t, mock.baseUrl('openai'), mock.key('openai'))
  const events = await ask(ASK)
  const over: string[] = []
  for await (const { type } of await client.responses.create({ ...ASK, stream: true })) over.push(type)
  assert.deepEqual(
    events.map(({ type }) => type),
    over,
  )
  const [busy] = await ask({ ...ASK, model: 'scenario-429' })
  assert.deepEqual([busy.type, busy.status, busy.headers['retry-after']], ['error', 429, '2'])
  const [invalid] = await ask({ ...ASK, temperature: 'hot' })
  assert.deepEqual([invalid.status, invalid.error.param], [400, 'temperature'])
  const cut = await ask({ ...ASK, model: 'scenario-cut-after-2' })
  assert.deepEqual(
    cut.map(({ type }) => type),
    over.slice(0, 2),
  )
  assert.deepEqual(
    mock.entries().map(({ answer }) => answer.status),
    [200, 200, 429, 400, 200],
  )
  const wrongKey = await open(t, mock.baseUrl('openai'), 'sk-wrong')
  assert.equal((await wrongKey(ASK))[0].status, 401)
})

test('an unstored response can be continued only on its own WebSocket, and a stored response by anyone with the key', async (t) => {
  const { mock, client } = await start(t)
  const [one, other] = [
    await open(t, mock.baseUrl('openai'), mock.key('openai')),
    await open(t, mock.baseUrl('openai'), mock.key('openai')),
  ]
  const unkept = (await one({ ...ASK, store: false })).at(-1).response.id
  const kept = (await one(ASK)).at(-1).response.id
  const continued = async (ask: typeof one, previous_response_id: string) =>
    (await ask({ ...ASK, previous_response_id })).at(-1).error?.code ?? 'answered'
  assert.equal(await continued(one, unkept), 'answered')
  assert.equal(await continued(other, unkept), 'previous_response_not_found')
  assert.equal(await continued(other, kept), 'answered')
  await assert.rejects(client.responses.create({ ...ASK, previous_response_id: unkept }), { status: 400 })
  await assert.rejects(client.responses.retrieve(unkept), { status: 404 })
})

test('a stored response can be read, listed and deleted, and a background response ends after two reads', async (t) => {
  const { mock, client } = await start(t)
  const { id } = await client.responses.create(ASK)
  assert.equal((await client.responses.retrieve(id)).status, 'completed')
  assert.equal((await client.responses.inputItems.list(id)).data.length, 1)
  await client.responses.delete(id)
  await assert.rejects(client.responses.retrieve(id), { status: 404 })

  const job = await client.responses.create({ ...ASK, background: true })
  const statuses = [job.status]
  for (const _ of [1, 2]) statuses.push((await client.responses.retrieve(job.id)).status)
  assert.deepEqual(statuses, ['queued', 'in_progress', 'completed'])
  const other = await client.responses.create({ ...ASK, background: true })
  assert.equal((await client.responses.cancel(other.id)).status, 'cancelled')
  assert.equal((await client.responses.retrieve(other.id)).status, 'cancelled')
  const spent = mock.entries().filter(({ kind }) => kind === 'inference')
  assert.equal(spent.length, 3)
})
