// Requests about stored answers, counting requests and calls to providers that stop: each of them ends in time.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { message, response } from '../dialects/responses/test-samples.ts'
import { every, stray } from '../shared/boundary.ts'
import { testGateway } from '../test/test-gateway.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
/** Far more than the limits, because the machine may be busy. */
const MAX_MS = 30_000

async function listening(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const start = (t: TestContext, origin: string, more = '') =>
  testGateway(t, {
    providers: {},
    env: { KEY: 'sk-of-the-operator' },
    config: `  one: { dialect: [responses, messages], base_url: "${origin}/v1", key: $KEY, ${more} }
routes: { auto: { targets: [ { model: one/m } ] } }
resilience: { connect: 1s, stream_first_event: 1s, answer: 1s, idle: 1s, retries: 1 }`,
  })

test('a request about a stored answer that the provider never answers, or never ends, ends in 504', async (t) => {
  const silent: IncomingMessage[] = []
  const server = createServer((request, answer) => {
    if (request.method === 'POST' && request.url === '/v1/responses')
      answer
        .writeHead(200, JSON_TYPE)
        .end(
          JSON.stringify(response('m', 'completed', { id: 'resp_a', store: true, output: [message('x')] })),
        )
    else if (request.url!.includes('input_items')) {
      answer.writeHead(200, JSON_TYPE)
      const timer = every(100, () => answer.write(' '), stray)
      answer.on('close', () => timer.close())
    } else silent.push(request)
  })
  t.after(() => server.closeAllConnections())
  const gateway = await start(t, `http://${await listening(t, server)}`)
  const made = await gateway.get('/v1/responses', {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ model: 'auto', input: 'x' }),
  })
  assert.equal(made.status, 200)
  const asked = [
    ['GET', 'resp_a'],
    ['GET', 'resp_a/input_items'],
    ['POST', 'resp_a/cancel'],
    ['DELETE', 'resp_a'],
  ] as const
  await Promise.all(
    asked.map(async ([method, path]) => {
      const signal = AbortSignal.timeout(MAX_MS)
      const { status, json } = await gateway.get(`/v1/responses/${path}`, { method, signal })
      assert.deepEqual([status, json.error.code], [504, 'upstream_timeout'], `${method} ${path}`)
    }),
  )
  assert.equal(silent.length, 3)
  const counted = await gateway.get('/v1/messages/count_tokens', {
    ...{ method: 'POST', headers: JSON_TYPE, signal: AbortSignal.timeout(MAX_MS) },
    body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'hello' }] }),
  })
  assert.deepEqual([counted.status, counted.headers.get('x-gateway-token-count')], [200, 'estimated'])
})

/** Starts a provider that accepts connections, and calls `opened` for each. */
async function startTcp(t: TestContext, opened: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    opened(socket)
  })
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  return listening(t, server)
}

const asked = (stream: boolean): RequestInit => ({
  method: 'POST',
  headers: JSON_TYPE,
  body: JSON.stringify({ model: 'auto', input: 'x', stream }),
  signal: AbortSignal.timeout(MAX_MS),
})

test('a target whose time is over before it is connected is not tried again', async (t) => {
  const at = await startTcp(t, () => {})
  const gateway = await testGateway(t, {
    providers: {},
    env: { KEY: 'sk-of-the-operator' },
    config: `  one: { dialect: responses, base_url: "https://${at}/v1", key: $KEY }
routes: { auto: { targets: [ { model: one/m } ] } }
resilience: { connect: 20s, stream_first_event: 1s, answer: 1s, retries: 1 }`,
  })
  for (const stream of [true, false]) {
    const answer = await gateway.get('/v1/responses', asked(stream))
    assert.equal(answer.status, 504)
    const record = await gateway.record(answer.headers.get('x-gateway-request-id'))
    assert.deepEqual([record.state, record.attempts, record.attempt_log.length], ['failed', 0, 1])
  }
})

test('a handshake for a socket that is never completed takes resilience.connect once, then calls use HTTP', async (t) => {
  for (const isDribbling of [false, true]) {
    const handshakes: Socket[] = []
    const body = `data: ${JSON.stringify({ type: 'response.completed', response: response('m', 'completed') })}\n\n`
    const at = await startTcp(t, (socket) => {
      socket.on('data', (bytes) => {
        if (!/^GET /.test(String(bytes)))
          return socket.end(
            `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${body}`,
          )
        handshakes.push(socket)
        if (!isDribbling) return
        socket.write('HTTP/1.1 101 Switching Protocols\r\nx-slow: ')
        const timer = every(100, () => socket.write('x'), stray)
        socket.on('close', () => timer.close())
      })
    })
    const gateway = await testGateway(t, {
      providers: {},
      env: { KEY: 'sk-of-the-operator' },
      config: `  one: { dialect: responses, base_url: "http://${at}/v1", key: $KEY, websocket: on }
routes: { auto: { targets: [ { model: one/m } ] } }
resilience: { connect: 1s, stream_first_event: 20s, retries: 1 }`,
    })
    for (let n = 0; n < 3; n++) {
      const answer = await gateway.get('/v1/responses', asked(true))
      assert.equal(answer.status, 200)
      const record = await gateway.record(answer.headers.get('x-gateway-request-id'))
      assert.deepEqual(
        record.attempt_log.map((each: any) => each.transport),
        ['http'],
      )
    }
    assert.equal(handshakes.length, 1)
  }
})
