// Responses over a provider's WebSocket, with real sockets: mock providers, the gateway, and a client.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createMockProviders } from '../../mocks/server/create.ts'
import { response, streamOf } from '../dialects/responses/test-samples.ts'
import { testGateway } from '../test/test-gateway.ts'
import { openSocket } from '../test/test-socket.ts'

async function start(t: TestContext, { websocket = 'on', base = '' } = {}) {
  const mock = await createMockProviders()
  t.after(() => mock.close())
  const provider = (name: string, base: string) =>
    `  ${name}: { dialect: responses, base_url: "${base}", key: $mock_key, websocket: ${websocket} }`
  const gateway = await testGateway(t, {
    providers: {},
    env: { mock_key: mock.key('openai') },
    config: `${provider('mock', base || mock.baseUrl('openai'))}
routes: { auto: { targets: [ { model: mock/gpt-5.4 } ] } }`,
  })
  const send = async (body: object) => {
    const answer = await gateway.get('/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', input: 'hello', ...body }),
    })
    return { ...answer, record: await gateway.record(answer.headers.get('x-gateway-request-id')) }
  }
  const last = async () => gateway.record((await gateway.get('/api/usage/request-logs')).json.data[0].id)
  return { ...gateway, mock, send, last }
}

const STREAM = streamOf(
  { type: 'response.created', response: response('m', 'in_progress') },
  { type: 'response.completed', response: response('m', 'completed') },
)

const create = (more: object = {}) => ({ type: 'response.create', model: 'auto', input: 'hello', ...more })
const transports = ({ attempt_log }: any) => attempt_log.map((each: any) => each.transport)
const typesIn = (text: string) => [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)

test("a stream uses the provider's socket, and the record shows this", async (t) => {
  const { mock, send } = await start(t)
  const over = await send({ stream: true })
  assert.equal(over.record.transport, 'http')
  assert.deepEqual(transports(over.record), ['websocket'])
  assert.equal(over.record.tokens.source, 'reported')
  const whole = await send({})
  assert.deepEqual(transports(whole.record), ['http'])
  const { text } = await (await start(t, { websocket: 'off' })).send({ stream: true })
  assert.deepEqual(typesIn(over.text), typesIn(text))
  assert.equal(mock.entries().length, 2)
  assert.deepEqual(
    mock.entries().flatMap(({ problems }) => problems),
    [],
  )
})

test('in a conversation on a socket, only the new part is sent to the provider', async (t) => {
  const { mock, url, last } = await start(t)
  const socket = await openSocket(t, url)
  let previous: string | null = null
  for (const input of ['one', 'two', 'three']) {
    const events = await socket.response(create({ store: false, input, previous_response_id: previous }))
    assert.equal(events.at(-1).type, 'response.completed')
    previous = events.at(-1).response.id
  }
  const bodies = mock.entries().map(({ body }: any) => body)
  assert.deepEqual(
    bodies.map(({ input }) => input.length),
    ['one'.length, 1, 1],
  )
  assert.ok(bodies.slice(1).every(({ previous_response_id }) => /^resp_/.test(previous_response_id)))
  assert.equal(mock.connections, 1)
  const record = await last()
  assert.equal(record.transport, 'websocket')
  assert.deepEqual(transports(record), ['websocket'])
})

test('a conversation that the provider has forgotten is sent again in full, invisibly to the client', async (t) => {
  const { mock, url } = await start(t)
  const socket = await openSocket(t, url)
  const first = await socket.response(create({ store: false }))
  mock.clear()
  const next = await socket.response(
    create({ store: false, previous_response_id: first.at(-1).response.id, input: 'go on' }),
  )
  assert.equal(next.at(-1).type, 'response.completed')
  const [refused, whole] = mock.entries() as any[]
  assert.equal(refused.answer.status, 400)
  assert.equal(whole.body.previous_response_id, undefined)
  assert.equal(whole.body.input.length, 3)
})

test('a provider that supports no sockets, or refuses every socket, is reached over HTTP', async (t) => {
  const asked: string[] = []
  const plain = createServer((request, response) => {
    asked.push(request.method!)
    if (request.method === 'POST') response.setHeader('content-type', 'text/event-stream').end(STREAM)
    else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  t.after(() => plain.close())
  await once(plain, 'listening')
  const base = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/v1`
  const { send } = await start(t, { base })
  for (const _ of [1, 2]) {
    const { status, record, text } = await send({ stream: true })
    assert.equal(status, 200)
    assert.equal(text, STREAM)
    assert.deepEqual(transports(record), ['http'])
  }
  assert.deepEqual(asked, ['GET', 'POST', 'POST'], 'a refused handshake is not tried again for a while')
})

test('a refusal keeps its status, and a truncated stream ends with a failure', async (t) => {
  const { url, send, last } = await start(t)
  const socket = await openSocket(t, url)
  const [refusal] = await socket.response(create({ model: 'mock/scenario-429-no-retry-after' }))
  assert.equal(refusal.status, 429)
  assert.deepEqual(transports(await last()), ['websocket'])
  const cut = await socket.response(create({ model: 'mock/scenario-cut-after-3' }))
  assert.equal(cut.at(-1).type, 'response.failed')
  assert.equal((await last()).error_code, 'upstream_unreachable')
  assert.equal((await send({ stream: true })).status, 200)
})
