// Tests the mock over real sockets: its ledger, its scripted answers and its refusals. Over 250 lines,
// because it is a list of independent tests.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { connect } from 'node:net'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { clock } from '../../src/shared/clock.ts'
import { manualClock } from '../../src/shared/test-clock.ts'
import { pause, until } from '../../src/test/test-until.ts'
import { writeNonce } from '../ledger.ts'
import { createWorld } from './core.ts'
import { createMockProviders } from './create.ts'
import { answerRequest } from './intercept.ts'
import { ask, askRaw, chatBody, drain, mockFor } from './test-mock.ts'

const NONCE = '0123456789abcdef'
const prompt = `Say this: ${writeNonce(NONCE)}, please.`

test('a ledger entry shows the request and its answer', async (t) => {
  const mock = await mockFor(t)
  const before = clock.monotonic()
  const response = await ask(mock, chatBody('gpt-4o-mini', { temperature: 1 }, prompt))
  const body = await response.text()
  await mock.settled()
  const [entry, ...others] = mock.entries()
  assert.deepEqual(others, [])
  const { at, headers, answer: told, ...rest } = entry!
  assert.deepEqual(rest, {
    n: 1,
    kind: 'inference',
    provider: 'openai',
    method: 'POST',
    path: '/openai/v1/chat/completions',
    query: '',
    endpoint: 'chat/completions',
    model: 'gpt-4o-mini',
    stream: false,
    nonce: NONCE,
    credential: 'match',
    canaries: [],
    problems: [],
    body: chatBody('gpt-4o-mini', { temperature: 1 }, prompt),
    body_sha256: hash('sha256', JSON.stringify(chatBody('gpt-4o-mini', { temperature: 1 }, prompt))),
    peer_left_at: null,
  })
  assert.equal(headers.authorization, '***')
  assert.equal(headers['content-type'], 'application/json')
  const { first_byte_at: first, last_byte_at: last, ...outcome } = told
  assert.deepEqual(outcome, {
    from: 'openai/chat-plain',
    status: 200,
    complete: true,
    bytes: Buffer.byteLength(body),
    body,
    cut_at: null,
  })
  assert.ok(before <= at && at <= first! && first! <= last! && last! <= clock.monotonic())
})

test('inferences, token counts, metadata requests and bare connections are counted separately', async (t) => {
  const mock = await mockFor(t)
  const bearer = { authorization: `Bearer ${mock.key('openai')}` }
  await (await fetch(`${mock.baseUrl('openai')}/models`, { headers: bearer })).text()
  await (await ask(mock, chatBody('m'))).text()
  await (await fetch(`${mock.baseUrl('openai')}/nowhere`, { method: 'POST', headers: bearer })).text()
  const counting = { model: 'm', messages: [{ role: 'user', content: 'count me' }] }
  await fetch(`${mock.baseUrl('anthropic')}/messages/count_tokens`, {
    method: 'POST',
    headers: { 'x-api-key': mock.key('anthropic'), 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(counting),
  })
  assert.deepEqual(
    mock.entries().map(({ kind }) => kind),
    ['metadata', 'inference', 'inference', 'token_count'],
  )
  const connections = mock.connections
  const bare = connect(Number(new URL(mock.url).port), '127.0.0.1')
  t.after(() => bare.destroy())
  await until('a connection', () => mock.connections > connections)
  assert.equal(mock.connections, connections + 1)
  assert.equal(mock.entries().length, 4)
})

test('the first segment or the endpoint of a path determines its provider', async (t) => {
  const mock = await mockFor(t)
  const paths: [string, string, string][] = [
    ['/groq/openai/v1/models', 'groq', 'models'],
    ['/deepseek/models', 'deepseek', 'models'],
    ['/v1/models', 'openai', 'models'],
    ['/v1/messages', 'anthropic', 'messages'],
    ['/v1beta/models/gemini-2.5-flash:generateContent', 'gemini', 'models/gemini-2.5-flash:generateContent'],
    ['/api/v1/chat/completions', 'openrouter', 'chat/completions'],
    ['/nowhere', 'openai', 'nowhere'],
  ]
  for (const [path] of paths)
    await fetch(mock.url + path, { method: path.endsWith('models') ? 'GET' : 'POST' })
  assert.deepEqual(
    mock.entries().map((entry) => [entry.path, entry.provider, entry.endpoint]),
    paths,
  )
})

test('an unknown path is reported in the ledger, and refused as the provider would refuse it', async (t) => {
  const mock = await mockFor(t)
  const response = await fetch(`${mock.baseUrl('openai')}/nowhere`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mock.key('openai')}` },
  })
  assert.equal(response.status, 404)
  const { error } = (await response.json()) as { error: { type: string; message: string } }
  assert.equal(error.type, 'invalid_request_error')
  assert.match(
    error.message,
    /Unknown request URL: POST https:\/\/api\.openai\.com\/v1\/nowhere\. The nearest is/,
  )
  assert.deepEqual(mock.entries()[0]!.problems, ['no such endpoint'])
})

test('a wrong or missing key is reported in the ledger, and refused in the provider’s words', async (t) => {
  const mock = await mockFor(t)
  const wrong = 'a-key-of-somebody-else'
  assert.equal((await ask(mock, chatBody('m'), { key: wrong })).status, 401)
  assert.equal((await ask(mock, chatBody('m'), { provider: 'xai', key: wrong })).status, 400)
  const none = await fetch(`${mock.baseUrl('groq')}/chat/completions`, { method: 'POST', body: '{}' })
  assert.equal(none.status, 401)
  assert.deepEqual(
    mock.entries().map(({ credential }) => credential),
    ['mismatch', 'mismatch', 'absent'],
  )
  assert.doesNotMatch(JSON.stringify(mock.entries()), /a-key-of-somebody-else/)
})

test('an invalid request is reported in the ledger, and refused as the provider would refuse it', async (t) => {
  const mock = await mockFor(t)
  const cases: [unknown, RegExp][] = [
    ['{', /not JSON/],
    [{ model: 'm' }, /^messages: /],
    [chatBody('m', { temperature: 3 }), /^temperature: /],
    [chatBody('m', { messages: [{ role: 'friend', content: 'hi' }] }), /^messages\[0\]\.role: /],
    [chatBody('m', { stream: 'yes' }), /^stream: /],
  ]
  for (const [body, problem] of cases) {
    const response = await ask(mock, body)
    assert.equal(response.status, 400, String(problem))
    assert.match(mock.entries().at(-1)!.problems.join('\n'), problem)
    assert.equal(((await response.json()) as any).error.type, 'invalid_request_error')
  }
})

test('an unknown field is reported in the ledger, and refused only by a strict scenario or script', async (t) => {
  const mock = await mockFor(t)
  const probe = { x_waybill_probe: 1 }
  assert.equal((await ask(mock, chatBody('m', probe))).status, 200)
  assert.deepEqual(mock.entries()[0]!.problems, ['unknown field: x_waybill_probe'])
  const strict = await ask(mock, chatBody('scenario-strict', probe))
  assert.equal(strict.status, 400)
  assert.match(await strict.text(), /Unrecognized request argument supplied: x_waybill_probe/)
  mock.script(NONCE, [{ strict: true, provider: 'groq' }, {}])
  const scripted = await ask(mock, chatBody('m', probe, prompt), { provider: 'groq' })
  assert.equal(scripted.status, 400)
  assert.match(await scripted.text(), /property 'x_waybill_probe' is unsupported/)
  assert.equal((await ask(mock, chatBody('m', probe, prompt))).status, 200)
  assert.equal((await ask(mock, chatBody('scenario-strict', probe), { provider: 'deepseek' })).status, 200)
})

test('a script answers the attempts of a call in order, by provider and model', async (t) => {
  const mock = await mockFor(t)
  mock.script(NONCE, [
    { provider: 'groq', status: 503 },
    { model: 'm-1', status: 429, headers: { 'Retry-After': '7' }, times: 2 },
    { body: { said: 'so' } },
  ])
  const statusOf = async (model: string, provider = 'openai') =>
    (await ask(mock, chatBody(model, {}, prompt), { provider })).status
  assert.deepEqual(
    [await statusOf('m-1'), await statusOf('m-2'), await statusOf('m-3', 'groq')],
    [429, 200, 503],
  )
  const second = await ask(mock, chatBody('m-1', {}, prompt))
  assert.deepEqual([second.status, second.headers.get('retry-after')], [429, '7'])
  assert.match(await second.text(), /Scripted 429/)
  const last = await ask(mock, chatBody('m-1', {}, prompt))
  assert.deepEqual(await last.json(), { said: 'so' })
  assert.deepEqual([await statusOf('m-1'), await statusOf('m-3', 'groq')], [200, 200])
  assert.equal((await ask(mock, chatBody('m-1'))).status, 200)
})

test('scripted answers marked for the same target are sent only to calls for the first target', async (t) => {
  const mock = await mockFor(t)
  for (const [first, second] of [
    ['openai', 'groq'],
    ['groq', 'openai'],
  ] as const) {
    mock.script(NONCE, [{ status: 500, body: {}, same_target: true }, { scenario: 'plain' }])
    const statuses = []
    for (const provider of [first, second, first, second])
      statuses.push((await ask(mock, chatBody('m', {}, prompt), { provider })).status)
    assert.deepEqual(statuses, [500, 200, 500, 200], `${first} was asked first`)
  }
})

test('a script can define a stream event by event, and a gate holds the stream until it is released (FLOW-03)', async (t) => {
  const mock = await mockFor(t)
  mock.script(NONCE, [
    {
      events: [
        { data: { n: 1 } },
        { gate: 'second' },
        { raw: ': a comment\n\n' },
        { wait: 5 },
        { base64: Buffer.from([0xff, 0x0a]).toString('base64') },
        { data: '[DONE]' },
      ],
    },
  ])
  const response = await ask(mock, chatBody('m', { stream: true }, prompt))
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body!.getReader()
  assert.equal(Buffer.from((await reader.read()).value!).toString(), 'data: {"n":1}\n\n')
  const next = reader.read()
  assert.equal(await Promise.race([next, pause(50).then(() => 'held')]), 'held')
  assert.equal(mock.entries()[0]!.answer.complete, false)
  const released = clock.monotonic()
  mock.release('second')
  const rest = [Buffer.from((await next).value!)]
  for (let read = await reader.read(); !read.done; read = await reader.read())
    rest.push(Buffer.from(read.value))
  assert.equal(Buffer.concat(rest).toString('latin1'), ': a comment\n\n\u00ff\ndata: [DONE]\n\n')
  await mock.settled()
  const { answer: told } = mock.entries()[0]!
  assert.ok(told.first_byte_at! < released && released < told.last_byte_at!)
  assert.deepEqual([told.complete, told.body], [true, null])
})

test('an empty event sends only the response headers', async (t) => {
  const mock = await mockFor(t)
  mock.script(NONCE, [{ events: [{ raw: '' }, { gate: 'later' }, { data: 'x' }] }])
  const response = await ask(mock, chatBody('m', { stream: true }, prompt))
  assert.equal(response.status, 200)
  mock.release('later')
  assert.equal(await response.text(), 'data: x\n\n')
})

test('planted secrets are detected wherever they arrive, and are never printed (KEEP-02)', async (t) => {
  const client = 'gw-client-key "of" the caller'
  const mock = await mockFor(t, { canaries: { client } })
  mock.watchFor('prompt', 'a planted prompt')
  assert.throws(() => mock.watchFor('short', 'abc'), /shorter than 8/)
  const key = mock.key('openai')
  await ask(mock, chatBody('m', {}, `a planted prompt, ${client}, and ${key}`))
  await fetch(`${mock.baseUrl('openai')}/models?key=${encodeURIComponent(client)}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  await fetch(`${mock.baseUrl('openai')}/models`, {
    headers: { authorization: `Bearer ${key}`, 'x-forwarded-key': client },
  })
  mock.script(NONCE, [{ status: 401, body: { error: { message: `not ${key}`, planted: client } } }])
  await (await ask(mock, chatBody('m', {}, prompt))).text()
  await mock.settled()
  assert.deepEqual(
    mock.entries().map(({ canaries }) => canaries),
    [['client', 'prompt'], ['client'], ['client'], []],
  )
  const page = await (await fetch(`${mock.controlUrl}/ledger`)).text()
  for (const told of [page, JSON.stringify(mock.entries())])
    for (const secret of [key, client, JSON.stringify(client).slice(1, -1), 'a planted prompt'])
      assert.ok(!told.includes(secret), secret)
  assert.deepEqual(mock.entries()[3]!.answer.body, '{"error":{"message":"not ***","planted":"***"}}')
})

test('the mock notices at once that the client has left (FLOW-05)', async (t) => {
  const mock = await mockFor(t, { clock: manualClock() })
  for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
    const socket = askRaw(mock, chatBody('scenario-silent-midway', { stream: true }))
    await new Promise((first) => socket.once('data', first))
    const at = clock.monotonic()
    socket.on('error', () => {})
    socket[leave]()
    await mock.settled()
    const entry = mock.entries().at(-1)!
    assert.equal(entry.peer_left_at, at, leave)
    assert.equal(entry.answer.cut_at, null)
    assert.deepEqual([entry.answer.complete, entry.answer.status], [false, 200])
  }
})

test('if the mock ends a connection, the ledger does not say that the client left', async (t) => {
  const mock = await mockFor(t)
  for (const name of ['cut-after-0', 'cut-after-3', 'cut-in-utf8', 'reset', 'reset-at-once', 'garbage'])
    for (const stream of [true, false]) await drain(askRaw(mock, chatBody(`scenario-${name}`, { stream })))
  await mock.settled()
  assert.equal(mock.entries().length, 12)
  for (const { model, answer, peer_left_at } of mock.entries()) {
    assert.equal(peer_left_at, null, `${model}: the peer is said to have left`)
    assert.equal(answer.complete, false, String(model))
    assert.ok(answer.cut_at !== null, `${model}: nothing says who ended it`)
  }
})

test('the ledger shows clients that leave before the answer begins or before their request is complete', async (t) => {
  const mock = await mockFor(t)
  const silent = askRaw(mock, chatBody('scenario-silent', {}, prompt))
  await mock.seen(NONCE)
  silent.destroy()
  await mock.settled()
  const broken = connect(Number(new URL(mock.url).port), '127.0.0.1')
  broken.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"model"')
  broken.end()
  await until('two requests', () => mock.entries().length >= 2)
  await mock.settled()
  for (const entry of mock.entries()) {
    assert.ok(entry.peer_left_at)
    assert.deepEqual(
      [entry.answer.status, entry.answer.first_byte_at, entry.answer.complete],
      [null, null, false],
    )
  }
  assert.match(mock.entries()[1]!.problems.join(), /broke off/)
})

test('a client that reads slowly slows down the mock (FLOW-10)', async (t) => {
  const mock = await mockFor(t)
  const socket = askRaw(mock, chatBody('scenario-flood', { stream: true }, prompt))
  await mock.seen(NONCE)
  let before = -1
  let held = 0
  for (let same = 0; same < 5; ) {
    held = mock.entries()[0]!.answer.bytes
    same = held === before ? same + 1 : 0
    before = held
    await pause(40)
  }
  assert.ok(held > 0 && held < 32 * 1024 * 1024, `${held} bytes were taken by nobody`)
  const { bytes } = await new Promise<{ bytes: number }>((done) => {
    let count = 0
    socket.on('data', (chunk) => {
      count += chunk.length
      if (count > 64 * 1024 * 1024) socket.end()
    })
    socket.on('close', () => done({ bytes: count }))
  })
  await mock.settled()
  const entry = mock.entries()[0]!
  assert.ok(bytes > 64 * 1024 * 1024)
  assert.deepEqual([entry.answer.body, entry.answer.bytes > 64 * 1024 * 1024], [null, true])
})

test('a request gets the same bytes inside the process and over the port', async (t) => {
  const mock = await mockFor(t)
  const world = createWorld()
  const asks: [string, unknown][] = [
    ...[
      'gpt-4o-mini',
      'scenario-tools',
      'scenario-429',
      'scenario-drip',
      'scenario-gzip',
      'scenario-nothing',
    ].flatMap((model): [string, unknown][] => [
      [model, chatBody(model)],
      [model, chatBody(model, { stream: true, stream_options: { include_usage: true } })],
    ]),
    ['invalid', { model: 3 }],
  ]
  for (const provider of ['openai', 'openrouter'])
    for (const [name, body] of asks) {
      const { origin, basePaths } = world.providers.find((one) => one.name === provider)!
      const init = {
        method: 'POST',
        headers: { authorization: `Bearer ${mock.key(provider)}`, 'accept-encoding': 'identity' },
        body: JSON.stringify(body),
      }
      const [inside, outside] = await Promise.all([
        answerRequest(world, new Request(`${origin}${basePaths[0]}/chat/completions`, init)),
        fetch(`${mock.baseUrl(provider)}/chat/completions`, init),
      ])
      assert.equal(inside.status, outside.status, name)
      assert.equal(inside.headers.get('content-type'), outside.headers.get('content-type'))
      const bytes = Buffer.from(await inside.arrayBuffer())
      const unpacked = inside.headers.has('content-encoding') ? gunzipSync(bytes) : bytes
      assert.deepEqual(unpacked, Buffer.from(await outside.arrayBuffer()), name)
    }
  await mock.settled()
  const stripped = (stage: { entries(): any[] }) =>
    stage
      .entries()
      .map(({ at, headers, path, answer: { first_byte_at, last_byte_at, ...told }, ...rest }) => ({
        ...rest,
        told,
      }))
  assert.deepEqual(stripped(world.stage), stripped(mock))
})

test('clear() removes entries, scripts and gates, and releases held answers, but numbering continues', async (t) => {
  const mock = await mockFor(t)
  mock.script(NONCE, [{ events: [{ gate: 'g' }, { data: 'x' }] }])
  const held = ask(mock, chatBody('m', { stream: true }, prompt))
  await mock.seen(NONCE)
  mock.clear()
  assert.equal(await (await held).text(), 'data: x\n\n')
  assert.deepEqual(mock.entries(), [])
  await ask(mock, chatBody('m', {}, prompt))
  assert.deepEqual(
    mock.entries().map(({ n, answer: told }) => [n, told.from]),
    [[2, 'openai/chat-plain']],
  )
  assert.deepEqual(mock.entries(2), [])
})

test('waiting for a nonce that never arrives ends with a clear error', async (t) => {
  const mock = await mockFor(t)
  await assert.rejects(
    mock.seen(NONCE, 20),
    /no request with the nonce 0123456789abcdef arrived within 20 ms/,
  )
})

test('a port in use causes an error, and the mock leaves nothing open', async (t) => {
  const mock = await mockFor(t)
  const port = Number(new URL(mock.url).port)
  await assert.rejects(createMockProviders({ port }), /port \d+: the port is already in use; /)
})

test('the mock serves many requests on one connection', async (t) => {
  const mock = await mockFor(t)
  const socket = askRaw(mock, chatBody('gpt-4o-mini'))
  t.after(() => socket.destroy())
  const seen: Buffer[] = []
  socket.on('data', (chunk: Buffer) => seen.push(chunk))
  await mock.settled()
  await until('a request and a piece', () => mock.entries().length >= 1 && seen.length > 0)
  socket.write('GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-mock-key-of-openai\r\n\r\n')
  await until('two requests', () => mock.entries().length >= 2)
  socket.end()
  await drain(socket)
  assert.match(Buffer.concat(seen).toString(), /"object": "list"/)
  assert.equal(mock.connections, 1)
})

test('hostile requests neither crash the mock nor corrupt its ledger', async (t) => {
  const mock = await mockFor(t)
  const deep = `{"model":"m","messages":[{"role":"user","content":"x"}],"metadata":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  assert.equal((await ask(mock, deep)).status, 400)
  assert.equal((await ask(mock, `{"a":${deep}}`)).status, 400)
  const bodies = [
    '\u0000\u0001',
    '"text"',
    '[[[',
    '{"model":{"__proto__":1}}',
    '{"messages":[null]}',
    '1e999',
  ]
  for (const body of bodies) assert.equal((await ask(mock, body)).status, 400, body)
  const { port } = new URL(mock.url)
  const heads = [
    'GET /%E0%A4%A HTTP/1.1\r\nhost: x',
    'OPTIONS * HTTP/1.1\r\nhost: x',
    'GET http://elsewhere.example/v1/models?key=x HTTP/1.1\r\nhost: x',
    'GET //// HTTP/1.1\r\nhost: x',
    'GET /openai HTTP/1.1\r\nhost: x',
    'GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ',
    'no HTTP at all',
  ]
  for (const head of heads) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`${head}\r\nconnection: close\r\n\r\n`)
    const { bytes } = await drain(socket)
    assert.match(bytes.toString('latin1'), /^HTTP\/1\.1 4\d\d /, head)
  }
  const page = await fetch(`${mock.controlUrl}/ledger`)
  assert.equal(page.status, 200)
  const { entries } = (await page.json()) as { entries: unknown[] }
  assert.equal(entries.length, 2 + bodies.length + heads.length - 1)
  assert.equal((await ask(mock, chatBody('m'))).status, 200)
})

test('the output in a script is sent in the dialect of the request, whole or streamed', async (t) => {
  const mock = await mockFor(t)
  const call = { id: 'call_7', name: 'read', arguments: { path: 'a.txt' } }
  mock.script(NONCE, [{ say: { reasoning: 'Look.', text: 'Let me see.', calls: [call] } }])
  const whole: any = await (await ask(mock, chatBody('m', {}, prompt))).json()
  assert.equal(whole.choices[0].finish_reason, 'tool_calls')
  assert.deepEqual(whole.choices[0].message.tool_calls, [
    { id: 'call_7', type: 'function', function: { name: 'read', arguments: '{"path":"a.txt"}' } },
  ])
  const streamed = await (await ask(mock, chatBody('m', { stream: true }, prompt))).text()
  assert.match(streamed, /"content":"Let me see\."[\s\S]+"finish_reason":"tool_calls"[\s\S]+data: \[DONE\]/)
  const messages = await fetch(`${mock.baseUrl('anthropic')}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': mock.key('anthropic'), 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: prompt }] }),
  })
  const { content, stop_reason }: any = await messages.json()
  assert.deepEqual(content.at(-1), { type: 'tool_use', id: 'call_7', name: 'read', input: { path: 'a.txt' } })
  assert.deepEqual([content[0].thinking, stop_reason], ['Look.', 'tool_use'])
})
