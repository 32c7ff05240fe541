// Broken requests and broken providers, one in each row. Each row checks the status, the error shape, the
// number of requests at the provider, and that the next call still works. Over 250 lines, because it is a
// table.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  answer,
  chunk,
  DONE,
  event,
  type Script,
  stream,
  streamed,
  USAGE,
} from '../../mocks/test-upstream.ts'
import { ask, sharedGateways, type TestGateway, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'

const sharedGateway = sharedGateways()

const JSON_TYPE = { 'content-type': 'application/json' }

interface Refused {
  readonly name: string
  readonly body: string | Buffer<ArrayBuffer>
  readonly headers?: Record<string, string>
  readonly path?: string
  readonly status: number
  readonly code: string
}

const REFUSED: readonly Refused[] = [
  { name: 'no body', body: '', status: 400, code: 'invalid_json' },
  { name: 'half a body', body: '{"model": "auto", "mess', status: 400, code: 'invalid_json' },
  { name: 'not UTF-8', body: Buffer.from([0x22, 0xff, 0xfe, 0x22]), status: 400, code: 'invalid_json' },
  { name: 'an array', body: '[]', status: 400, code: 'invalid_request' },
  { name: 'null', body: 'null', status: 400, code: 'invalid_request' },
  { name: 'no model', body: JSON.stringify({ messages: [] }), status: 400, code: 'invalid_request' },
  { name: 'a number as model', body: JSON.stringify(ask(7 as never)), status: 400, code: 'invalid_request' },
  { name: 'an empty model', body: JSON.stringify(ask('')), status: 400, code: 'invalid_request' },
  {
    name: 'a model of 10,000 characters',
    body: JSON.stringify(ask('x'.repeat(10_000))),
    status: 400,
    code: 'invalid_request',
  },
  { name: 'no messages', body: JSON.stringify({ model: 'auto' }), status: 400, code: 'invalid_request' },
  {
    name: 'messages as text',
    body: JSON.stringify({ model: 'auto', messages: 'hi' }),
    status: 400,
    code: 'invalid_request',
  },
  {
    name: 'stream as text',
    body: JSON.stringify(ask('auto', { stream: 'yes' })),
    status: 400,
    code: 'invalid_request',
  },
  {
    name: 'stream_options as text',
    body: JSON.stringify(ask('auto', { stream_options: 'all' })),
    status: 400,
    code: 'invalid_request',
  },
  { name: 'an unknown model', body: JSON.stringify(ask('nowhere')), status: 404, code: 'model_not_found' },
  {
    name: 'an unknown provider',
    body: JSON.stringify(ask('nobody/model')),
    status: 404,
    code: 'model_not_found',
  },
  {
    name: 'a provider without a model',
    body: JSON.stringify(ask('alpha/')),
    status: 404,
    code: 'model_not_found',
  },
  {
    name: 'a name every object has',
    body: JSON.stringify(ask('constructor/x')),
    status: 404,
    code: 'model_not_found',
  },
  {
    name: 'another content type',
    body: 'model=auto',
    headers: { 'content-type': 'text/plain' },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'an unknown coding',
    body: gzipSync('{}'),
    headers: { 'content-encoding': 'compress' },
    status: 415,
    code: 'unsupported_media_type',
  },
  { name: '30 MB, announced', body: Buffer.alloc(30_000_000, 0x20), status: 413, code: 'body_too_large' },
  {
    name: 'a key in the URL',
    body: JSON.stringify(ask('auto')),
    path: '/v1/chat/completions?api_key=sk-x',
    status: 400,
    code: 'invalid_request',
  },
  {
    name: 'a foreign Origin',
    body: JSON.stringify(ask('auto')),
    headers: { origin: 'https://evil.example' },
    status: 403,
    code: 'host_not_allowed',
  },
]

test('a refused request reaches no provider, leaves no record, and is answered in the usual error shape (PURE-07, ROUTE-03, FAIL-01, FAIL-02, FAIL-03)', async (t) => {
  const gateway = await sharedGateway(t)
  for (const { name, body, headers, path = '/v1/chat/completions', status, code } of REFUSED)
    await t.test(name, async () => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        body,
        headers: { ...JSON_TYPE, ...headers },
      })
      const json: any = await response.json()
      assert.equal(response.status, status)
      assertShape(json, code)
    })
  assert.equal(gateway.received(), 0)
  assert.deepEqual((await gateway.get('/api/usage/request-logs')).json.data, [])
  await stillServes(gateway)
})

test('a chunked body of 30 MB without an announced size is refused with 413 before all of it has arrived (FAIL-03)', async (t) => {
  const gateway = await sharedGateway(t)
  let pulled = 0
  const body = new ReadableStream({
    pull(controller) {
      pulled++
      if (pulled > 30) controller.close()
      else controller.enqueue(Buffer.alloc(1_000_000, 0x20))
    },
  })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: JSON_TYPE,
    body,
    duplex: 'half',
  })
  assert.equal(response.status, 413)
  assertShape(await response.json(), 'body_too_large')
  assert.equal(gateway.received(), 0)
  await stillServes(gateway)
})

const GARBAGE = [
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['an unknown method', 'BREW /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n', 400],
  ['20 kB of headers', `GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  [
    'two lengths',
    'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
    400,
  ],
] as const

test('even bytes that are not a request are answered in the usual error shape (FAIL-01)', async (t) => {
  const gateway = await sharedGateway(t)
  for (const [name, bytes, status] of GARBAGE)
    await t.test(name, async () => {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
      socket.end(bytes)
      let text = ''
      for await (const part of socket) text += part
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `))
      assertShape(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))), 'invalid_request')
      await stillServes(gateway)
    })
})

test('a hostile model or session name cannot break a header or the record (TELL-06)', async (t) => {
  const gateway = await testGateway(t, {
    config: 'routes: { auto: { targets: [ { model: alpha/model-a } ] } }\ndefaults: { chat: auto }',
  })
  const hostile = ['a\r\nx-injected: 1', 'esc\u001b[31m', 'lone \ud800', 'm?x#y']
  for (const [asked, target] of [
    ...['ünï 100% \u{1f600}', '"quotes"; x=1', 'bidi \u202e gnirts'].map(
      (model) => [`alpha/${model}`, model] as const,
    ),
    ...hostile.map((model) => [model, 'model-a'] as const),
  ]) {
    const { status, headers } = await gateway.chat(ask(asked), { 'x-session-id': 's;"1"%' })
    assert.equal(status, 200)
    assert.equal(headers.get('x-injected'), null)
    assert.equal(decodeURIComponent(headers.get('x-gateway-model')!), target)
    assert.equal(decodeURIComponent(headers.get('x-gateway-session-id')!), 's;"1"%')
    assert.equal(gateway.upstream.alpha!.ledger.at(-1)!.json.model, target)
    const record = await gateway.record(headers.get('x-gateway-request-id'))
    assert.equal(record.requested_model, asked.toWellFormed())
  }
  for (const model of hostile) {
    const { status, headers } = await gateway.chat(ask(`alpha/${model}`))
    assert.deepEqual([status, headers.get('x-injected')], [400, null])
  }
})

interface Broken {
  readonly name: string
  readonly script: Script
  readonly stream?: boolean
  readonly status: number
  readonly code?: string
  /** Recorded outcome of the attempt. */
  readonly outcome: string
}

const raw =
  (bytes: string): Script =>
  (response) => {
    response.socket!.end(bytes)
  }
const plain =
  (status: number, type: string, body: string | Buffer, headers = {}): Script =>
  (response) => {
    response.writeHead(status, { 'content-type': type, ...headers }).end(body)
  }

const whole = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'unpacked' }, finish_reason: 'stop' }],
  usage: USAGE,
})

const REDIRECTED = JSON.stringify({
  id: 'r',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'elsewhere' }, finish_reason: 'stop' }],
})

const BROKEN: readonly Broken[] = [
  { name: 'is silent', script: () => {}, status: 504, code: 'upstream_timeout', outcome: 'timed_out' },
  {
    name: 'is silent in a stream',
    script: () => {},
    stream: true,
    status: 504,
    code: 'upstream_timeout',
    outcome: 'timed_out',
  },
  {
    name: 'sends only comments',
    script: stream(': a\n\n', 100, ': b\n\n', 60_000),
    stream: true,
    status: 504,
    code: 'upstream_timeout',
    outcome: 'timed_out',
  },
  {
    name: 'hangs up',
    script: (response) => response.destroy(),
    status: 502,
    code: 'upstream_unreachable',
    outcome: 'unknown',
  },
  {
    name: 'hangs up in its answer',
    script: raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{'),
    status: 502,
    code: 'upstream_unreachable',
    outcome: 'failed',
  },
  {
    name: 'speaks no HTTP',
    script: raw('220 smtp ready\r\n'),
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'answers in HTML',
    script: plain(200, 'text/html', '<h1>Login</h1>'),
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'answers a stream in HTML',
    script: plain(200, 'text/html', '<h1>Login</h1>'),
    stream: true,
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'redirects',
    script: plain(302, 'text/html', '', { location: 'http://127.0.0.1:1/' }),
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'redirects, with an answer in the body',
    script: plain(307, 'application/json', REDIRECTED, { location: 'http://127.0.0.1:1/' }),
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'sends an empty 200',
    script: plain(200, 'application/json', ''),
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'sends an empty stream',
    script: stream(),
    stream: true,
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'sends an event that is not JSON',
    script: stream('data: hello\n\n', DONE),
    stream: true,
    status: 502,
    code: 'upstream_error',
    outcome: 'failed',
  },
  {
    name: 'sends a 200 that says nothing',
    script: plain(200, 'application/json', '{}'),
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'ends its stream before it began',
    script: stream(DONE),
    stream: true,
    status: 502,
    code: 'upstream_invalid',
    outcome: 'failed',
  },
  {
    name: 'sends an error with a 200',
    script: plain(200, 'application/json', '{"error":{"message":"slow down","code":429}}'),
    status: 429,
    code: '429',
    outcome: 'failed',
  },
  {
    name: 'fails in HTML',
    script: plain(500, 'text/html', '<h1>oops</h1>'),
    status: 500,
    code: 'upstream_error',
    outcome: 'failed',
  },
  {
    name: 'refuses in plain text',
    script: plain(404, 'text/plain', 'no such thing'),
    status: 404,
    code: 'upstream_error',
    outcome: 'failed',
  },
  {
    name: 'compresses its error',
    script: plain(
      400,
      'application/json',
      gzipSync('{"error":{"message":"packed","type":"t","param":null,"code":"c"}}'),
      { 'content-encoding': 'gzip' },
    ),
    status: 400,
    code: 'c',
    outcome: 'failed',
  },
  {
    name: 'compresses its answer',
    script: plain(200, 'application/json', gzipSync(whole), { 'content-encoding': 'gzip' }),
    status: 200,
    outcome: 'answered',
  },
  {
    name: 'compresses its stream',
    script: plain(
      200,
      'text/event-stream',
      gzipSync(chunk({ content: 'unpacked' }, { finish_reason: 'stop' }) + DONE),
      { 'content-encoding': 'gzip' },
    ),
    stream: true,
    status: 200,
    outcome: 'answered',
  },
  {
    name: 'sends an event of 1 MB',
    script: streamed('m'.repeat(2 ** 20)),
    stream: true,
    status: 200,
    outcome: 'answered',
  },
  {
    name: 'answers a stream with a whole answer',
    script: answer(),
    stream: true,
    status: 200,
    outcome: 'answered',
  },
]

const limits = (start: string, idle = '30s') =>
  `resilience: { stream_first_event: ${start}, answer: ${start}, idle: ${idle}, retries: 0 }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }`

test('a provider that sends a broken answer receives only one request, and the record is closed (FAIL-05)', async (t) => {
  const impatient = await testGateway(t, { config: limits('1s') })
  const patient = await testGateway(t, { config: limits('30s') })
  for (const { name, script, stream = false, status, code, outcome } of BROKEN)
    await t.test(`a provider that ${name} causes ${status}${code ? ` ${code}` : ''}`, async () => {
      const gateway = outcome === 'timed_out' ? impatient : patient
      gateway.upstream.alpha!.script = script
      const before = gateway.received()
      const got = await gateway.chat(ask('auto', { stream }))
      assert.equal(got.status, status, got.text)
      if (code && !/^\d+$/.test(code)) assertShape(got.json, code, { relayed: code === 'c' })
      if (name.startsWith('compresses its') && status === 200) assert.match(got.text, /unpacked/)
      assert.equal(gateway.received() - before, 1)
      const record = await gateway.record(got.headers.get('x-gateway-request-id'))
      assert.equal(record.state, status === 200 ? 'completed' : 'failed')
      assert.equal(record.error_code, code ?? null)
      assert.equal(record.attempt_log[0].outcome, outcome)
      await stillServes(gateway)
    })
})

test('if a provider is down, the client receives 502 upstream_unreachable, and the record says that nothing was sent (FAIL-05)', async (t) => {
  const gateway = await testGateway(t, { config: limits('30s') })
  await gateway.upstream.alpha!.close()
  const got = await gateway.chat(ask('auto'))
  assert.equal(got.status, 502)
  assertShape(got.json, 'upstream_unreachable')
  const record = await gateway.record(got.headers.get('x-gateway-request-id'))
  assert.deepEqual([record.state, record.attempts, record.attempt_log[0].outcome], ['failed', 0, 'not_sent'])
  assert.equal((await gateway.get('/healthz')).status, 200)
})

test('after an unreadable answer, the next target is tried', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: plain(200, 'text/html', '<h1>Login</h1>'), beta: answer() },
    config: TWO_TARGETS,
  })
  const { headers } = await gateway.chat(ask('auto'))
  assert.equal(headers.get('x-gateway-provider'), 'beta')
})

test('a stream that falls silent after its first event ends in a timeout that the client can see', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: stream(chunk({ content: 'a' }), 60_000) },
    config: limits('30s', '1s'),
  })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(ask('auto', { stream: true })),
  })
  let text = ''
  await assert.rejects(async () => {
    for await (const part of response.body!) text += Buffer.from(part).toString()
  })
  assert.match(text, /upstream_timeout/)
  const record = await gateway.record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual(
    [record.state, record.error_code, record.attempt_log[0].outcome],
    ['failed', 'upstream_timeout', 'timed_out'],
  )
})

test('an error event that is cut off before its blank line still counts as the provider’s error (FLOW-09)', async (t) => {
  const last = event({ error: { message: 'quota', code: 'insufficient_quota' } }).trimEnd()
  const gateway = await testGateway(t, { providers: { alpha: stream(chunk({ content: 'a' }), last) } })
  const { headers, text } = await gateway.chat(ask('auto', { stream: true }))
  assert.match(text, /insufficient_quota/)
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).error_code, 'insufficient_quota')
})

test('garbage after a request does not disturb the answer that is still streaming', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: stream(chunk({ content: 'a' }), 100, chunk({ content: 'b' }), 60_000) },
  })
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  const body = JSON.stringify(ask('auto', { stream: true }))
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  let text = ''
  socket.on('data', (part) => {
    if (text === '') socket.write('garbage\r\n\r\n')
    text += part
  })
  await once(socket, 'close')
  assert.match(text, /^HTTP\/1\.1 200 /)
  assert.doesNotMatch(text, /HTTP\/1\.1 400/)
})

test('a complete last event counts even if its blank line is missing', async (t) => {
  const gateway = await testGateway(t, {
    providers: {
      alpha: stream(
        chunk({ content: 'a' }),
        event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }).trimEnd(),
      ),
    },
  })
  const { headers, text } = await gateway.chat(ask('auto', { stream: true }))
  assert.match(text, /finish_reason":"stop"/)
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'completed')
})

function assertShape(json: any, code: string, { relayed = false } = {}): void {
  assert.deepEqual(Object.keys(json.error).sort(), ['code', 'message', 'param', 'type'])
  assert.equal(json.error.code, code)
  assert.ok(json.error.message.length > 0)
  if (!relayed) assert.match(json.request_id, /^[0-9a-f-]{36}$/)
}

async function stillServes(gateway: TestGateway): Promise<void> {
  gateway.upstream.alpha!.script = answer('still here')
  const { status, text } = await gateway.chat(ask('alpha/model-a'))
  assert.equal(status, 200)
  assert.match(text, /still here/)
}
