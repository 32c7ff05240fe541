// Providers that stop at any point of an exchange. Each exchange ends in time, with an error and a closed
// record, whatever its method.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { every, stray } from '../shared/boundary.ts'
import { useClock } from '../shared/clock.ts'
import { manualClock } from '../shared/test-clock.ts'
import { pause, until } from '../test/test-until.ts'
import { gatewayTo } from './test-provider.ts'

const LIMITS = 'resilience: { connect: 1s, answer: 1s, idle: 1s, stream_first_event: 1s, retries: 0 }'
/** Far more than the limits, because the machine may be busy, and far less than the defaults. */
const MAX_MS = 30_000

type Behaviour = (request: IncomingMessage, response: ServerResponse) => unknown

async function startProvider(t: TestContext, behaviour: Behaviour): Promise<string> {
  const server = createServer(behaviour)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const startGateway = (t: TestContext, origin: string, limits = LIMITS) =>
  gatewayTo(
    t,
    {
      one: { dialect: 'openai', origin },
      two: { dialect: 'messages', origin },
      three: { dialect: 'gemini', origin },
    },
    `passthrough: [audio, files, batches]\n${limits}`,
  )

type Gateway = Awaited<ReturnType<typeof startGateway>>

const newest = (gateway: Gateway): Promise<any> =>
  until('the call has ended', async () => {
    const [record] = (await gateway.get('/api/usage/request-logs')).json.data
    return record?.completed_at && record
  })

const silent: Behaviour = (request) => void request.resume()

/** Sends a piece of the answer every 200 ms, for ever. */
const forever = (response: ServerResponse, piece: string) => {
  const timer = every(200, () => response.write(piece), stray)
  response.on('close', () => timer.close())
}

/** Requests of every kind. A body of 200,000 bytes is relayed in parts, a shorter one at once. */
const REQUESTS: readonly (readonly [string, string, RequestInit])[] = [
  ['GET', '/v1/files', {}],
  ['GET', '/v1/files/file-1/content', {}],
  ['DELETE', '/v1/files/file-1', {}],
  ['GET', '/v1/files', { headers: { 'anthropic-version': '2023-06-01' } }],
  ['GET', '/v1beta/files', { headers: { 'x-goog-api-client': 'a' } }],
  ['GET', '/v1/batches/batch_1', {}],
  ['POST', '/v1/batches/batch_1/cancel', {}],
  ['DELETE', '/v1/messages/batches/msgbatch_1', {}],
  ['GET', '/v1/messages/batches/msgbatch_1/results', {}],
  ['POST', '/v1/files', { body: 'x' }],
  ['POST', '/v1/audio/speech', { body: 'x'.repeat(200_000) }],
  ['PUT', '/upload/v1beta/files', { body: 'x'.repeat(200_000) }],
]

test('a request that a provider never answers ends in 504 with a closed record, whatever its method', async (t) => {
  const gateway = await startGateway(t, await startProvider(t, silent))
  await Promise.all(
    REQUESTS.map(async ([method, path, init]) => {
      const answer = await gateway.get(path, { ...init, method, signal: AbortSignal.timeout(MAX_MS) })
      assert.equal(answer.status, 504, `${method} ${path}`)
      const record = await gateway.record(answer.headers.get('x-gateway-request-id'))
      const { state, status, error_code, attempt_log } = record
      assert.deepEqual([state, status, error_code], ['failed', 504, 'upstream_timeout'], path)
      assert.equal(attempt_log[0].outcome, 'timed_out')
    }),
  )
})

test('an answer that stops in the middle, or never ends, ends the call with a closed record', async (t) => {
  const cases: readonly (readonly [string, Behaviour, string, number | null])[] = [
    ['a list stops', (_, response) => response.writeHead(200).write('{"data":['), '/v1/files', 504],
    ['a file stops', (_, response) => response.writeHead(200).write('x'), '/v1/files/file-1/content', null],
    ['an error stops', (_, response) => response.writeHead(500).write('{'), '/v1/files', 504],
    ['a list never ends', (_, response) => forever(response.writeHead(200), ' '), '/v1/files', 504],
    [
      'an error never ends',
      (_, response) => forever(response.writeHead(400), ' '),
      '/v1/files/file-1/content',
      504,
    ],
    [
      'interim answers never end',
      (_, response) => {
        const timer = every(200, () => response.writeEarlyHints({ link: '</a>; rel=preload' }), stray)
        response.on('close', () => timer.close())
      },
      '/v1/files',
      504,
    ],
  ]
  const gateway = await startGateway(
    t,
    await startProvider(t, (request, response) => {
      const number = Number(/case=(\d+)/.exec(request.url!)![1])
      cases[number]![1](request, response)
    }),
  )
  await Promise.all(
    cases.map(async ([name, , path, expected], number) => {
      const signal = AbortSignal.timeout(MAX_MS)
      const answer = await fetch(`${gateway.url}${path}?case=${number}`, { signal })
      const failure = await answer.text().then(
        () => null,
        (error: Error) => error,
      )
      if (expected === null) assert.ok(failure && failure.name !== 'TimeoutError', name)
      else assert.deepEqual([answer.status, failure], [expected, null], name)
      const { state, status, error_code } = await gateway.record(answer.headers.get('x-gateway-request-id'))
      assert.deepEqual([state, status, error_code], ['failed', expected ?? 200, 'upstream_timeout'], name)
    }),
  )
})

test('the pages of a list, of which the client may see nothing, are one answer', async (t) => {
  const origin = await startProvider(t, async (request, response) => {
    const page = Number(/after=(\d+)/.exec(request.url!)?.[1] ?? 0) + 1
    await pause(300)
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"data":[{"id":"file-of-another"}],"has_more":true,"last_id":"${page}"}`)
  })
  const digest = `sha256:${createHash('sha256').update('a-key-of-the-test').digest('hex')}`
  const gateway = await startGateway(
    t,
    origin,
    `${LIMITS}\nunknown_objects: refuse\nkeys: [ { name: team, digest: "${digest}" } ]`,
  )
  const headers = { authorization: 'Bearer a-key-of-the-test' }
  const answer = await gateway.get('/v1/files', { headers, signal: AbortSignal.timeout(MAX_MS) })
  assert.equal(answer.status, 504)
  const record = await gateway.record(answer.headers.get('x-gateway-request-id'), headers)
  assert.deepEqual([record.state, record.error_code], ['failed', 'upstream_timeout'])
})

/** Sends the beginning of an upload, and returns the socket with everything that it receives. */
function beginUpload(gateway: Gateway, bytes: number, length: number) {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  const received: string[] = []
  socket
    .on('error', () => {})
    .on('data', (piece) => received.push(String(piece)))
    .write(
      `POST /v1/audio/translations HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(bytes)}`,
    )
  return { socket, received }
}

test('an upload that a provider stops reading ends in 504', async (t) => {
  const gateway = await startGateway(t, await startProvider(t, (request) => void request.pause()))
  const { socket, received } = beginUpload(gateway, 32 * 2 ** 20, 32 * 2 ** 20)
  const record = await newest(gateway)
  assert.deepEqual([record.state, record.error_code], ['failed', 'upstream_timeout'])
  await until('the client has its answer', () => received.join('').includes('HTTP/1.1 504'))
  socket.destroy()
})

test('an upload whose client stops sending ends in 408, before and after its model has arrived', async (t) => {
  const gateway = await startGateway(t, await startProvider(t, silent))
  const early = beginUpload(gateway, 10, 1_000_000)
  await until('the client has its answer', () => early.received.join('').includes('HTTP/1.1 408'))
  const late = beginUpload(gateway, 300_000, 1_000_000)
  await until('the client has its answer', () => late.received.join('').includes('HTTP/1.1 408'))
  const record = await newest(gateway)
  assert.deepEqual([record.state, record.status, record.error_code], ['failed', 408, 'request_timeout'])
  early.socket.destroy()
  late.socket.destroy()
})

test('an answer that began during the upload and stops after it ends the call', async (t) => {
  const gateway = await startGateway(
    t,
    await startProvider(t, (request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'audio/wav' }).write('RIFF')
    }),
  )
  const { socket, received } = beginUpload(gateway, 300_000, 400_000)
  await until('the answer has begun', () => received.join('').includes('RIFF'))
  socket.write('x'.repeat(100_000))
  const record = await newest(gateway)
  assert.deepEqual([record.state, record.error_code], ['failed', 'upstream_timeout'])
  socket.destroy()
})

test('an upload and an answer that move slowly are not cut off', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  let [arrived, received] = [0, '']
  const gateway = await startGateway(
    t,
    await startProvider(t, async (request, response) => {
      for await (const piece of request) arrived += piece.length
      response.writeHead(200, { 'content-type': 'audio/wav' })
      for (let n = 1; n <= 8; n++) {
        response.write('wav ')
        await until('the piece has passed', () => received.length === 4 * n)
        await manual.advance(1_000)
      }
      response.end('end')
    }),
    'resilience: { answer: 1500ms, idle: 1500ms }',
  )
  async function* body() {
    for (let n = 1; n <= 8; n++) {
      yield Buffer.alloc(2 ** 16, 'x')
      await until('the piece has passed', () => arrived >= n * 2 ** 16)
      await manual.advance(1_000)
    }
  }
  const init = { method: 'POST', body: body(), duplex: 'half' }
  const answer = await fetch(`${gateway.url}/v1/audio/translations`, init as unknown as RequestInit)
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) received += piece
  assert.deepEqual([answer.status, received], [200, `${'wav '.repeat(8)}end`])
})

test('a connection that a provider accepts but never completes ends within resilience.connect', async (t) => {
  const server = createTcpServer((socket) => void socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const gateway = await startGateway(t, origin)
  await Promise.all(
    ['GET', 'POST'].map(async (method) => {
      const answer = await gateway.get('/v1/files', { method, signal: AbortSignal.timeout(MAX_MS) })
      assert.ok(answer.status === 502 || answer.status === 504, `${method} ${answer.status}`)
      const record = await gateway.record(answer.headers.get('x-gateway-request-id'))
      assert.equal(record.attempt_log[0].outcome, 'not_sent')
    }),
  )
})
