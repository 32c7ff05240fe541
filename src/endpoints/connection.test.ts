// Unusual connections of clients: many requests at the same time, a half-closed socket, no Host, an answer
// that is never read.

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { ask, sharedGateways, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const sharedGateway = sharedGateways()

const read = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
const BODY = JSON.stringify(ask('auto'))
const CALL = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

function open(t: TestContext, { url }: TestGateway): Socket {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  return socket
}

/** Collects everything that arrives until the other side closes. */
async function all(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8')
  for await (const chunk of socket) text += chunk
  return text
}

const statuses = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, s]) => s!)

test('requests that arrive together are answered one after the other, in order', async (t) => {
  let atOnce = 0
  let most = 0
  const slow: Script = async (response, received) => {
    most = Math.max(most, ++atOnce)
    await pause(30)
    atOnce--
    answer(`answer to ${received.json.user}`)(response, received)
  }
  const gateway = await sharedGateway(t, { providers: { alpha: slow } })
  const call = (user: string) => {
    const body = JSON.stringify(ask('auto', { user }))
    return CALL.replace(BODY, body).replace(`length: ${BODY.length}`, `length: ${body.length}`)
  }
  const socket = open(t, gateway)
  socket.end(call('one') + read('/healthz') + call('two') + call('three'))
  const text = await all(socket)
  assert.deepEqual(statuses(text), ['200', '200', '200', '200'])
  assert.deepEqual(
    [...text.matchAll(/answer to (\w+)|"status":"(ok)"/g)].map(([, user, ok]) => user ?? ok),
    ['one', 'ok', 'two', 'three'],
  )
  assert.equal(most, 1)
})

test('a connection with too many waiting requests is closed, and its calls end', async (t) => {
  const gateway = await sharedGateway(t, { providers: { alpha: () => {} } })
  const alpha = gateway.upstream.alpha!
  const { abandoned } = alpha
  const socket = open(t, gateway)
  socket.write(CALL)
  await until('a request', gateway.received)
  socket.write(read('/healthz').repeat(15))
  await pause(100)
  assert.equal(alpha.abandoned, abandoned, 'a few may wait')
  socket.write(read('/healthz').repeat(1_000))
  assert.equal(await all(socket), '')
  await until('the provider is left', () => alpha.abandoned > abandoned)
  assert.equal((await gateway.get('/healthz')).status, 200)
})

for (const [name, bytes, expected] of [
  ['a read', read('/v1/models'), ['200']],
  ['a call', CALL, ['200']],
  ['two calls', CALL + CALL, ['200', '200']],
  ['a path that is not there', read('/nothing'), ['404']],
] as const)
  test(`a client that closes its sending side after ${name} still receives its answer`, async (t) => {
    const slow: Script = (response, received) => pause(100).then(() => answer()(response, received))
    const gateway = await sharedGateway(t, { providers: { alpha: slow } })
    const socket = open(t, gateway)
    socket.end(bytes)
    assert.deepEqual(statuses(await all(socket)), expected)
  })

for (const [name, bytes, status] of [
  ['a read without Host', 'GET /v1/models HTTP/1.1\r\n\r\n', 400],
  ['a probe without Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
  ['a call without Host', CALL.replace('host: localhost\r\n', ''), 400],
  ['HTTP/1.0 without Host', 'GET /v1/models HTTP/1.0\r\n\r\n', 403],
] as const)
  test(`${name} is refused with ${status} in the usual error shape (FAIL-01)`, async (t) => {
    const gateway = await sharedGateway(t)
    const socket = open(t, gateway)
    socket.end(bytes)
    const [head, body] = (await all(socket)).split('\r\n\r\n') as [string, string]
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `))
    const { error, request_id } = JSON.parse(body)
    assert.equal(error.code, status === 400 ? 'invalid_request' : 'host_not_allowed')
    assert.match(error.message, /Host/)
    assert.ok(request_id)
    assert.equal(gateway.received(), 0)
  })

test('a client that does not read its answer is disconnected after the idle time, and other clients are served', async (t) => {
  const gateway = await testGateway(t, {
    config: 'resilience: { idle: 300ms }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }',
  })
  // With this many characters, the names of the models make a list that exceeds any socket buffer.
  for (let calls = 0; calls < 40; calls++)
    await gateway.chat(ask(`alpha/${'m'.repeat(240)}`, { prompt_cache_key: 's'.repeat(250) }))
  const socket = open(t, gateway)
  socket.pause()
  let closed = false
  socket.on('close', () => {
    closed = true
  })
  for (let n = 0; n < 200 && !closed; n++) {
    socket.write(read('/api/usage/request-logs?limit=200').repeat(20))
    await pause(10)
  }
  await until('the connection is closed', async () => {
    assert.equal((await gateway.get('/healthz')).status, 200)
    socket.write(read('/healthz'))
    return closed
  })
})
