// Closes a provider's WebSocket with every close code and at every stage. Uses real sockets and a provider that
// closes on purpose. In every case, each request that the provider received is on record exactly once.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { message, response, streamOf } from '../dialects/responses/test-samples.ts'
import { clock } from '../shared/clock.ts'
import { testGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { openSocket } from '../test/test-socket.ts'
import { pause, until } from '../test/test-until.ts'

let made = 0
function answer() {
  const [id, item] = [`resp_${++made}`, message('hello')]
  const delta = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hello' }
  return [
    { type: 'response.created', response: response('m', 'in_progress', { id }) },
    { type: 'response.output_item.added', output_index: 0, item },
    delta,
    { type: 'response.completed', response: response('m', 'completed', { id, output: [item] }) },
  ]
}

/** Starts a provider with a WebSocket that answers each message with `script`, and counts the requests. */
async function startProvider(t: TestContext) {
  const provider = {
    script: (ws: WebSocket) => sendAll(ws, answer()),
    /** Numbers of received requests, over a WebSocket and over HTTP. */
    overSocket: 0,
    overHttp: 0,
    connections: 0,
    isOpen: () => sockets.clients.size > 0,
    base: '',
  }
  const server = createServer(async (request: IncomingMessage, reply) => {
    await request.toArray()
    provider.overHttp++
    reply.writeHead(200, { 'content-type': 'text/event-stream' }).end(streamOf(...answer()))
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (ws) => {
    provider.connections++
    ws.on('error', () => {})
    ws.on('message', () => {
      provider.overSocket++
      provider.script(ws)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const ws of sockets.clients) ws.terminate()
    server.close()
    server.closeAllConnections()
  })
  provider.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return provider
}

const sendAll = (ws: WebSocket, events: readonly object[]) => {
  for (const [sequence_number, event] of events.entries())
    ws.send(JSON.stringify({ sequence_number, ...event }))
}

async function start(t: TestContext, base: string) {
  const gateway = await testGateway(t, {
    providers: {},
    env: { provider_key: 'sk-provider' },
    config: `  one: { dialect: responses, base_url: "${base}", key: $provider_key, websocket: on }
routes: { auto: { targets: [ { model: one/m } ] } }
resilience: { cooldown: 1ms, retries: 0 }`,
  })
  const socket = await openSocket(t, gateway.url)
  /** Makes a call. Returns its last event, true if its text arrived, and its closed record. */
  const call = async (): Promise<{ last: any; hasText: boolean; record: any }> => {
    const events = await socket.response({ type: 'response.create', model: 'auto', input: 'hello' })
    const { json } = await gateway.get('/api/usage/request-logs?limit=1')
    const hasText = events.some(({ delta }) => delta === 'hello')
    return { last: events.at(-1), hasText, record: await gateway.record(json.data[0].id) }
  }
  const records = async (): Promise<any[]> => {
    const { json } = await gateway.get('/api/usage/request-logs?limit=200')
    return Promise.all(json.data.map(({ id }: { id: string }) => gateway.record(id)))
  }
  return { ...gateway, call, records }
}

/**
 * Every code that an endpoint may send, except 1009, which says that a message was not read. null: the connection is cut,
 * which clients see as 1006.
 */
const OTHER_CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1010, 1011, 1012, 1013, 1014, 3000, 4000, 4999]
const close = (ws: WebSocket, code: number | null) => (code === null ? ws.terminate() : ws.close(code))

test('a socket that closes before, during or after a response causes an error or a new connection, and each request is recorded once', async (t) => {
  const provider = await startProvider(t)
  const { call, records } = await start(t, provider.base)
  let calls = 0
  for (const code of [null, 1009, ...sample(OTHER_CODES, 2)]) {
    const said = `closed with ${code ?? 1006}`
    provider.script = (ws) => close(ws, code)
    const before = await call()
    // 1009, too large for a message: the provider has read nothing, so the request may be sent over HTTP.
    assert.equal(before.last.status ?? 200, code === 1009 ? 200 : 502, `${said} before`)
    assert.equal(before.record.state, code === 1009 ? 'completed' : 'failed', `${said} before`)

    provider.script = (ws) => {
      sendAll(ws, answer().slice(0, 3))
      close(ws, code)
    }
    const during = await call()
    assert.ok(during.hasText, `${said} in the middle`)
    assert.equal(during.last.type, 'response.failed', `${said} in the middle`)
    assert.equal(during.record.error_code, 'upstream_unreachable', `${said} in the middle`)

    provider.script = (ws) => {
      sendAll(ws, answer())
      close(ws, code)
    }
    assert.equal((await call()).record.state, 'completed', `${said} at the end`)

    provider.script = (ws) => sendAll(ws, answer())
    const after = await call()
    assert.equal(after.last.type, 'response.completed', `${said} between two responses`)
    assert.equal(after.record.state, 'completed')
    calls += 4
  }
  const all = await records()
  assert.equal(all.length, calls)
  assert.equal(new Set(all.map(({ id }) => id)).size, calls)
  const attempts = all.flatMap(({ attempt_log }) => attempt_log)
  // The message closed with 1009 and its request over HTTP are one attempt, because the message was not read.
  assert.equal(attempts.length, provider.overSocket)
  assert.equal(provider.overHttp, 1)
})

test('a connection that closed while idle is not used again', async (t) => {
  const provider = await startProvider(t)
  const { call, records } = await start(t, provider.base)
  const codes = [null, ...sample(OTHER_CODES, 2)]
  for (const code of codes) {
    provider.script = (ws) => {
      sendAll(ws, answer())
      void pause(20).then(() => close(ws, code))
    }
    assert.equal((await call()).record.state, 'completed')
    await until('the connection is closed', () => !provider.isOpen())
  }
  assert.equal(provider.connections, codes.length)
  assert.equal((await records()).length, codes.length)
})

test('a connection that its provider closes, but does not end, is not used again and soon ends its response', async (t) => {
  const provider = await startProvider(t)
  const { call } = await start(t, provider.base)
  const goodbye = Buffer.from([0x88, 2, 0x03, 0xe8])
  /** Sends a frame that closes the connection, and keeps the connection below it. */
  const leaveOpen = (ws: WebSocket) => {
    const { _socket: socket } = ws as unknown as { _socket: Socket }
    const { destroy } = socket
    t.after(() => destroy.call(socket))
    Object.assign(socket, { end: () => socket, destroy: () => socket })
    socket.write(goodbye)
  }
  provider.script = (ws) => {
    sendAll(ws, answer())
    leaveOpen(ws)
  }
  for (const _ of [1, 2, 3]) {
    const begin = clock.monotonic()
    assert.equal((await call()).last.type, 'response.completed')
    assert.ok(clock.monotonic() - begin < 10_000)
    await pause(100) // the frame arrives after the answer
  }
  provider.script = leaveOpen
  const begin = clock.monotonic()
  assert.equal((await call()).last.status, 502)
  assert.ok(clock.monotonic() - begin < 20_000)
})

test('a proxy that cuts each connection after a while costs one response, but never a second inference', async (t) => {
  const provider = await startProvider(t)
  const { port } = new URL(provider.base)
  // A proxy without WebSocket support. It cuts every connection after 300 ms, even a busy one.
  const proxy = createTcpServer((client) => {
    const upstream = connect(Number(port), '127.0.0.1')
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.pipe(upstream).pipe(client)
    void pause(300).then(() => {
      client.destroy()
      upstream.destroy()
    })
  }).listen(0, '127.0.0.1')
  t.after(() => proxy.close())
  await once(proxy, 'listening')
  const { call, records } = await start(t, `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1`)
  provider.script = (ws) => {
    const events = answer()
    sendAll(ws, events.slice(0, 3))
    void pause(40).then(() => sendAll(ws, events.slice(3)))
  }
  const ends: string[] = []
  for (let n = 0; n < 30; n++) ends.push((await call()).last.type)
  const completed = ends.filter((type) => type === 'response.completed').length
  assert.ok(completed >= 15 && completed < 30, `${completed} of 30 were completed`)
  const all = await records()
  assert.equal(all.length, 30)
  assert.equal(all.filter(({ state }) => state === 'completed').length, completed)
  const attempts = all.flatMap(({ attempt_log }) => attempt_log)
  assert.equal(attempts.length, 30)
  assert.ok(provider.overSocket <= 30, `${provider.overSocket} messages for 30 calls`)
})

const text = (event: object) => JSON.stringify(event)
const cut = (event: object) => text(event).slice(0, -3)

test('a message of a provider that cannot be read ends its own response, and nothing else', async (t) => {
  const provider = await startProvider(t)
  const { call, records } = await start(t, provider.base)
  const [created, , delta, completed] = answer() as [object, object, object, object]
  const item = { type: 'response.output_item.done', output_index: 0, item: message('hello') }
  const odd = ['hello', '[1]', 'null', '"x"', '7', '', '{', '{}', '{"type":7}', '\u0000', '{"type":"a\\nb"}']
  const refusal = (more: object) => text({ type: 'error', error: { code: 'x', message: 'no' }, ...more })
  const scripts: string[][] = [
    ...odd.map((first) => [first]),
    ...odd.map((later) => [text(created), later, text(completed)]),
    [cut(created)],
    [cut({ type: 'error', error: { message: 'no' } })],
    [text({ type: 'error' })],
    [text({ type: 'error', error: 'no' }), text(completed)],
    [
      refusal({
        status: 429,
        headers: { 'retry-after': '1\r\nx-evil: 1', 'x y': '1', __proto__: null, ok: {} },
      }),
    ],
    [refusal({ status: 429, headers: ['a'] })],
    [refusal({ status: 429, headers: { x: { toString: 1 } } })],
    [refusal({ status: { toString: 1, valueOf: 1 } })],
    [refusal({ error: { code: { toString: 1 }, message: { toString: 1 } } })],
    [refusal({ status: '1e9', headers: 'x' })],
    [refusal({ status: 429.5, headers: { 'content-length': '7', 'transfer-encoding': 'chunked' } })],
    [text(created), cut(item), text(completed)],
    [text(created), text(delta), cut(completed)],
    [text(created), `${text(completed)}{}`],
    ...[4_294_967_294, 5e8, -1, 1.5, null, 'x'].map((output_index) => [
      text(created),
      text({ ...item, output_index }),
      text(completed),
    ]),
  ]
  for (const messages of sample(scripts, 2)) {
    const script = (ws: WebSocket) => {
      for (const each of messages) ws.send(each)
      // For what is not an end. The connection may already serve the next call.
      void pause(20).then(() => provider.script === script && ws.close())
    }
    provider.script = script
    const { last } = await call()
    assert.match(last.type, /^(error|response\.(failed|completed))$/, messages.join())
    assert.doesNotMatch(JSON.stringify(last), /evil|"internal"/)
    provider.script = (ws) => sendAll(ws, answer())
    assert.equal((await call()).last.type, 'response.completed', messages.join())
  }
  assert.deepEqual(
    (await records()).filter(({ error_code }) => error_code === 'internal'),
    [],
  )
})

test('a handshake that is followed by bytes that are no frames ends at once', async (t) => {
  const server = createServer().on('upgrade', (request, socket) => {
    const key = hash(
      'sha1',
      `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
      'base64',
    )
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${key}\r\ncontent-encoding: gzip\r\n\r\n`,
    )
    socket.write(Buffer.alloc(1_000, 0xff))
    t.after(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { call } = await start(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
  const { last, record } = await call()
  assert.equal(last.type, 'error')
  assert.equal(record.error_code, 'upstream_unreachable')
})
