// Endpoints that are relayed without interpretation, over real sockets. The provider stores every byte.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { IS_FULL } from '../test/test-size.ts'
import { pause, until } from '../test/test-until.ts'
import { gatewayTo, recordOf, replyWith, secretOf, sharedGatewayTo, startProvider } from './test-provider.ts'

const json = { 'content-type': 'application/json' }
const AUDIO = 'passthrough: [audio]'
const EDITS = 'passthrough: [image-edits]'

const relaying = sharedGatewayTo('passthrough: [audio, files, completions]')

const form = (parts: readonly (readonly [string, string])[], boundary = 'b0undary') =>
  `${parts
    .map(([head, body]) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`)
    .join('')}--${boundary}--\r\n`
const FORM = { 'content-type': 'multipart/form-data; boundary=b0undary' }

test('a disabled endpoint is answered like any unknown path', async (t) => {
  const provider = await startProvider(t, replyWith({}))
  const gateway = await gatewayTo(t, { one: { dialect: 'openai', origin: provider.origin } }, AUDIO)
  for (const [method, path] of [
    ['POST', '/v1/moderations'],
    ['GET', '/v1/files'],
    ['DELETE', '/v1/files/file-1'],
    ['PUT', '/v1/files'],
  ] as const) {
    const closed = await gateway.get(path, { method })
    const unknown = await gateway.get('/v1/nowhere', { method })
    const { request_id: _, ...said } = closed.json
    const { request_id: __, ...expected } = unknown.json
    assert.deepEqual([closed.status, said], [404, expected], `${method} ${path}`)
  }
  assert.equal(provider.arrived.length, 0)
})

test('a request keeps every byte except the name of a configured model', async (t) => {
  const { provider, gateway } = await relaying(
    t,
    replyWith({ model: 'tts-1', usage: { input_tokens: 3, output_tokens: 5 } }),
  )
  const bodies = [
    [
      '{ "voice":"a\\u0062", "model" : "one/tts-1",\n "n":1.50 }',
      '{ "voice":"a\\u0062", "model" : "tts-1",\n "n":1.50 }',
    ],
    ['{"model":"tts-unknown","input":"ü"}', '{"model":"tts-unknown","input":"ü"}'],
    ['{"input":"no model"}', '{"input":"no model"}'],
    ['{"input": not JSON at all', '{"input": not JSON at all'],
  ] as const
  for (const [sent, expected] of bodies) {
    const answer = await gateway.get('/v1/audio/speech', { method: 'POST', headers: json, body: sent })
    assert.equal(answer.status, 200)
    assert.equal(provider.arrived.at(-1)!.body.toString(), expected)
    assert.equal(provider.arrived.at(-1)!.url, '/v1/audio/speech')
  }
  const record = await recordOf(
    gateway,
    await gateway.get('/v1/audio/speech', { method: 'POST', headers: json, body: bodies[0][0] }),
  )
  assert.deepEqual(
    [record.method, record.endpoint, record.requested_model, record.resolved_model, record.response_model],
    ['POST', '/v1/audio/speech', 'one/tts-1', 'tts-1', 'tts-1'],
  )
  assert.deepEqual([record.state, record.tokens.input, record.tokens.output], ['completed', 3, 5])
  assert.equal(record.attempt_log[0].outcome, 'answered')
  assert.deepEqual(record.cost_missing, ['price'])
})

test('a form keeps every byte except the name of a configured model, in any part', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({ text: 'silence' }))
  const file = ['name="file"; filename="a.wav"', '\0\x01RIFF\r\n--other\r\n'] as const
  for (const [sent, expected] of [
    [form([file, ['name="model"', 'one/whisper-1']]), form([file, ['name="model"', 'whisper-1']])],
    [form([['name=model', 'one/whisper-1'], file]), form([['name=model', 'whisper-1'], file])],
    [form([['name="model"', 'whisper-1'], file]), form([['name="model"', 'whisper-1'], file])],
    [form([['filename="model"; name="x"', 'one/y']]), form([['filename="model"; name="x"', 'one/y']])],
    ['--b0undary\r\nunfinished', '--b0undary\r\nunfinished'],
  ] as const) {
    const answer = await gateway.get('/v1/audio/transcriptions', {
      method: 'POST',
      headers: FORM,
      body: sent,
    })
    assert.equal(answer.status, 200)
    assert.equal(provider.arrived.at(-1)!.body.toString(), expected)
  }
  const record = await recordOf(
    gateway,
    await gateway.get('/v1/audio/transcriptions', { method: 'POST', headers: FORM, body: form([file]) }),
  )
  assert.deepEqual([record.requested_model, record.resolved_provider], ['', 'one'])
  assert.deepEqual(record.cost_missing, ['usage'])
  assert.equal(record.decision.cause, 'default provider of audio')
})

test('a form with ten thousand parts keeps every byte, and a model in one of the first parts is found', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({ text: '' }))
  const parts = Array.from({ length: 10_000 }, (_, n) => [`name="p${n}"`, String(n)] as const)
  const withModel = (model: string) =>
    form([...parts.slice(0, 100), ['name="model"', model], ...parts.slice(100)])
  const body = withModel('one/whisper-1')
  const answer = await gateway.get('/v1/audio/transcriptions', { method: 'POST', headers: FORM, body })
  assert.equal(answer.status, 200)
  assert.equal(provider.arrived[0]!.body.toString(), withModel('whisper-1'))
})

test('a model in the last part, beyond the head, is ignored, and the call is sent to the default provider', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({ text: '' }))
  const body = form([
    ['name="file"; filename="a"', 'x'.repeat(300_000)],
    ['name="model"', 'one/whisper-1'],
  ])
  const answer = await gateway.get('/v1/audio/transcriptions', { method: 'POST', headers: FORM, body })
  assert.equal(provider.arrived[0]!.body.toString(), body)
  assert.equal((await recordOf(gateway, answer)).requested_model, '')
})

test('a request that names its model twice is refused, and nothing is sent', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({}))
  const twice = form([
    ['name="model"', 'a'],
    ['name="model"', 'b'],
  ])
  const answers = [
    await gateway.get('/v1/audio/speech', {
      method: 'POST',
      headers: json,
      body: '{"model":"a","mod\\u0065l":"b"}',
    }),
    await gateway.get('/v1/audio/translations', { method: 'POST', headers: FORM, body: twice }),
  ]
  for (const { status, json } of answers) assert.deepEqual([status, json.error.param], [400, 'model'])
  assert.equal(provider.arrived.length, 0)
})

test('the call is recorded before its request is sent (PASS-01)', async (t) => {
  let states: string[] = []
  const { gateway } = await relaying(t, async (response, arrived) => {
    const { json } = await gateway.get('/api/usage/request-logs?limit=1')
    states = json.data.map(({ state, completed_at }: any) => `${state} ${completed_at}`)
    return replyWith({})(response, arrived)
  })
  await gateway.get('/v1/audio/speech', { method: 'POST', headers: json, body: '{}' })
  assert.deepEqual(states, ['routed null'])
})

test('the client’s credential is not passed on, and each provider receives its own key', async (t) => {
  const provider = await startProvider(t, replyWith({}))
  const gateway = await gatewayTo(
    t,
    {
      one: { dialect: 'openai', origin: provider.origin },
      two: { dialect: 'messages', origin: provider.origin },
      three: { dialect: 'gemini', origin: provider.origin },
    },
    'passthrough: [audio, files]',
  )
  const secret = 'client-secret-0123456789'
  const asked = [
    ['/v1/audio/speech', { authorization: `Bearer ${secret}`, cookie: secret }, 'authorization'],
    ['/v1/files', { 'x-api-key': secret, 'anthropic-version': '2023-06-01' }, 'x-api-key'],
    [`/v1beta/files?key=${secret}&pageSize=3`, {}, 'x-goog-api-key'],
    ['/v1beta/files', { 'x-goog-api-key': secret, 'x-gateway-key': secret }, 'x-goog-api-key'],
  ] as const
  for (const [path, headers, header] of asked) {
    const method = path.includes('audio') ? 'POST' : 'GET'
    const { status } = await gateway.get(path, { method, headers: headers as Record<string, string> })
    assert.equal(status, 200, path)
    const { url, headers: sent } = provider.arrived.at(-1)!
    assert.ok(!JSON.stringify([url, sent]).includes(secret), path)
    const key = secretOf({ authorization: 'one', 'x-api-key': 'two', 'x-goog-api-key': 'three' }[header])
    assert.equal(String(sent[header]).replace('Bearer ', ''), key)
  }
  assert.equal(provider.arrived[2]!.url, '/v1beta/files?pageSize=3')
})

/** Pieces of 64 kB of a large body: more than all buffers between client and provider hold. */
const PIECES = IS_FULL ? 512 : 128

test('large bodies pass through in both directions, byte for byte (PASS-02)', async (t) => {
  const piece = Buffer.alloc(2 ** 16, 'wav ')
  const down = createHash('sha256')
  const { provider, gateway } = await relaying(t, async (response) => {
    response.writeHead(200, { 'content-type': 'audio/wav' })
    for (let n = 0; n < PIECES; n++) {
      piece.writeUInt32LE(n)
      const copy = Buffer.from(piece)
      down.update(copy)
      if (!response.write(copy)) await new Promise((drain) => response.once('drain', () => drain(null)))
    }
    response.end()
  })
  const up = createHash('sha256')
  async function* body() {
    for (let n = 0; n < PIECES; n++) {
      const copy = Buffer.alloc(2 ** 16, `${n} `)
      up.update(copy)
      yield copy
    }
  }
  const answer = await fetch(`${gateway.url}/v1/audio/translations`, {
    ...{ method: 'POST', headers: FORM, body: body() as never, duplex: 'half' },
  } as RequestInit)
  const got = createHash('sha256')
    .update(Buffer.from(await answer.arrayBuffer()))
    .digest('hex')
  assert.equal(provider.arrived[0]!.bytes, PIECES * 2 ** 16)
  assert.equal(provider.arrived[0]!.sha256, up.digest('hex'))
  assert.equal(got, down.digest('hex'))
  assert.equal((await recordOf(gateway, answer)).state, 'completed')
})

test("a provider's error reaches the client without the operator's key, and is on record", async (t) => {
  const said = { error: { code: 'bad', message: `the key ${secretOf('one')} is unknown` } }
  const { gateway } = await relaying(t, replyWith(said, 401))
  const answer = await gateway.get('/v1/audio/speech', { method: 'POST', headers: json, body: '{}' })
  assert.deepEqual(
    [answer.status, answer.json.error],
    [401, { code: 'bad', message: 'the key *** is unknown' }],
  )
  const record = await recordOf(gateway, answer)
  assert.deepEqual([record.state, record.status, record.error_code], ['failed', 401, 'bad'])
  assert.deepEqual([record.cost_usd, record.cost_missing], [0, []])
})

test('after an unreachable target, the next target is tried, and both attempts are recorded', async (t) => {
  const provider = await startProvider(t, replyWith({}))
  const gateway = await gatewayTo(
    t,
    {
      gone: { dialect: 'openai', origin: 'http://127.0.0.1:1' },
      one: { dialect: 'openai', origin: provider.origin },
    },
    `${AUDIO}\nroutes: { voice: { targets: [ { model: gone/a }, { model: one/b } ] } }`,
  )
  const body = `{"model":"voice","input":"${'x'.repeat(200_000)}"}`
  const answer = await gateway.get('/v1/audio/speech', { method: 'POST', headers: json, body })
  assert.equal(answer.status, 200)
  assert.equal(provider.arrived[0]!.body.toString(), body.replace('"voice"', '"b"'))
  const record = await recordOf(gateway, answer)
  assert.deepEqual([record.attempts, record.fallbacks, record.route], [1, 1, 'voice'])
  assert.deepEqual(
    record.attempt_log.map(({ outcome, provider }: any) => [provider, outcome]),
    [
      ['gone', 'not_sent'],
      ['one', 'answered'],
    ],
  )
})

test('a call to an unreachable provider fails with 502, is recorded, and causes no inference', async (t) => {
  const gateway = await gatewayTo(t, { gone: { dialect: 'openai', origin: 'http://127.0.0.1:1' } }, AUDIO)
  const answer = await gateway.get('/v1/audio/speech', { method: 'POST', headers: json, body: '{}' })
  assert.deepEqual([answer.status, answer.json.error.code], [502, 'upstream_unreachable'])
  const record = await recordOf(gateway, answer)
  assert.deepEqual([record.attempts, record.attempt_log[0].outcome], [0, 'not_sent'])
})

/** Starts a provider that answers before reading the body and then stops reading. */
async function startEarly(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    request.once('data', () => {
      request.pause()
      response.writeHead(413, { 'content-type': 'application/json' })
      response.end('{"error":{"code":"too_large","message":"too large"}}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Sends a request by hand, and returns its socket. */
const rawRequest = (url: string, text: string) => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {}).write(text)
  return socket
}

const newest = (gateway: { get(path: string): Promise<{ json: any }> }) =>
  until('the newest call has ended', async () => {
    const [record] = (await gateway.get('/api/usage/request-logs')).json.data
    return record?.completed_at && record
  })

test('a call whose upload stops, or whose client disconnects during the answer, is recorded as aborted', async (t) => {
  const { provider, gateway } = await relaying(t, (response) => {
    response.writeHead(200, { 'content-type': 'audio/wav' }).write('RIFF')
  })
  const head = (length: number) =>
    `POST /v1/audio/translations HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`
  const stopping = rawRequest(gateway.url, head(1_000_000) + 'x'.repeat(300_000))
  await until('a request', () => provider.begun.count)
  stopping.destroy()
  const stopped = await newest(gateway)
  assert.deepEqual([stopped.state, stopped.status, stopped.error_code], ['aborted', 499, 'client_closed'])
  assert.equal(provider.arrived.length, 0)

  const leaving = rawRequest(gateway.url, `${head(2)}{}`)
  await new Promise((data) => leaving.once('data', data))
  leaving.destroy()
  const left = await newest(gateway)
  assert.deepEqual([left.state, left.attempts], ['aborted', 1])
  assert.notEqual(left.id, stopped.id)
})

test('a read whose client disconnects before the answer is recorded as aborted', async (t) => {
  const { provider, gateway } = await relaying(t, () => {})
  const leave = new AbortController()
  const left = assert.rejects(fetch(`${gateway.url}/v1/files`, { signal: leave.signal }))
  await until('the read has arrived', () => provider.begun.count > 0)
  leave.abort()
  await left
  const record: any = await until('the call is aborted', async () => {
    const [newest] = (await gateway.get('/api/usage/request-logs')).json.data
    return newest?.state === 'aborted' && newest
  })
  assert.equal(record.endpoint, '/v1/files')
})

test('an upload that ends before its model could be read leaves no record and reaches no provider', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({}))
  const records = async () => (await gateway.get('/api/usage/request-logs?limit=200')).json.data.length
  const before = await records()
  const socket = rawRequest(
    gateway.url,
    'POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{"mo',
  )
  await pause(50)
  socket.destroy()
  await pause(50)
  assert.equal(await records(), before)
  assert.equal(provider.begun.count, 0)
})

test('a client that waits for 100 Continue receives it', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({ text: 'ok' }))
  const socket = rawRequest(
    gateway.url,
    'POST /v1/audio/translations HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n',
  )
  const [first] = await new Promise<Buffer[]>((data) => socket.once('data', (bytes) => data([bytes])))
  assert.match(String(first), /^HTTP\/1.1 100 Continue/)
  socket.write('data')
  const rest = await new Promise<Buffer>((data) => socket.once('data', data))
  assert.match(String(rest), /^HTTP\/1.1 200 OK/)
  assert.equal(provider.arrived[0]!.headers.expect, undefined)
})

test('a provider’s refusal in the middle of an upload is relayed immediately', async (t) => {
  const provider = await startEarly(t)
  const gateway = await gatewayTo(t, { one: { dialect: 'openai', origin: provider } }, AUDIO)
  const body = Buffer.alloc(8 * 2 ** 20)
  const answer = await gateway.get('/v1/audio/translations', { method: 'POST', body: body as never })
  assert.deepEqual([answer.status, answer.json.error.code], [413, 'too_large'])
  assert.equal((await recordOf(gateway, answer)).error_code, 'too_large')
})

test('a range request reaches the provider, and its answer reaches the client', async (t) => {
  const { provider, gateway } = await relaying(t, (response) =>
    response.writeHead(206, { 'content-range': 'bytes 1-2/4', 'content-type': 'text/plain' }).end('bc'),
  )
  const answer = await gateway.get('/v1/files/file-1/content', { headers: { range: 'bytes=1-2' } })
  assert.deepEqual(
    [answer.status, answer.text, answer.headers.get('content-range'), provider.arrived[0]!.headers.range],
    [206, 'bc', 'bytes 1-2/4', 'bytes=1-2'],
  )
  const record = await recordOf(gateway, answer)
  assert.deepEqual(
    [record.method, record.endpoint, record.object_id, record.cost_usd, record.cost_missing],
    ['GET', '/v1/files/{id}/content', 'file-1', 0, []],
  )
})

test('a key with a budget may make calls of bounded cost, and is refused with 403 for calls of unbounded cost (PASS-05)', async (t) => {
  const provider = await startProvider(
    t,
    replyWith({ model: 'm', usage: { prompt_tokens: 10, completion_tokens: 20 } }),
  )
  const key = 'budget-key-0123456789'
  const digest = `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await gatewayTo(
    t,
    { one: { dialect: 'openai', origin: provider.origin } },
    `passthrough: [audio, completions, files]
models: { one/m: { price: { input: 1, output: 2 } } }
keys: [ { name: team, digest: "${digest}", budget: { usd: 1 } } ]`,
  )
  const headers = { ...json, authorization: `Bearer ${key}` }
  const post = (path: string, body: string) => gateway.get(path, { method: 'POST', headers, body })
  const unbounded = await post('/v1/audio/speech', '{"model":"one/m"}')
  assert.deepEqual([unbounded.status, unbounded.json.error.code], [403, 'price_unknown'])
  const unpriced = await post('/v1/completions', '{"model":"one/other","prompt":"a"}')
  assert.deepEqual([unpriced.status, unpriced.json.error.code], [403, 'price_unknown'])
  assert.equal(provider.arrived.length, 0)
  const bounded = await post('/v1/completions', '{"model":"one/m","prompt":"a","max_tokens":20}')
  const record = await recordOf(gateway, bounded, key)
  assert.deepEqual([record.cost_usd, record.cost_missing, record.key_name], [0.00005, [], 'team'])
  assert.equal((await gateway.get('/v1/files', { headers })).status, 200) // costs nothing
})

test('an escape does not hide the limit of an open call from the budget of its key (PASS-05)', async (t) => {
  const answered = Promise.withResolvers<void>()
  const reply = replyWith({ model: 'm', usage: { prompt_tokens: 1, completion_tokens: 1 } })
  const provider = await startProvider(t, async (response, arrived) => {
    if (arrived.body.includes('1000000')) await answered.promise
    await reply(response, arrived)
  })
  const key = 'budget-key-0123456789'
  const digest = `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await gatewayTo(
    t,
    { one: { dialect: 'openai', origin: provider.origin } },
    `passthrough: [completions]
models: { one/m: { price: { input: 1, output: 2 } } }
keys: [ { name: team, digest: "${digest}", budget: { usd: 1 } } ]`,
  )
  const headers = { ...json, authorization: `Bearer ${key}` }
  const post = (limit: string) =>
    gateway.get('/v1/completions', {
      ...{ method: 'POST', headers },
      body: `{"x":1,${limit},"model":"one/m","prompt":"a"}`,
    })
  // V8 would take the next call's name for this one; see `plain-names.ts`.
  assert.equal((await post('"max_token\\\\":1')).status, 200)
  const open = post('"max_token\\u0073":1000000')
  await until('the call is open', async () => provider.arrived.length === 2)
  const next = await post('"max_tokens":1')
  answered.resolve()
  assert.equal((await open).status, 200)
  assert.deepEqual([next.status, next.json.error?.code], [429, 'budget_exceeded'])
})

test('usage at the end of a stream is recorded', async (t) => {
  const { gateway } = await relaying(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"text":"a"}]}\n\n')
    response.end(
      'data: {"model":"m","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}\n\ndata: [DONE]\n\n',
    )
  })
  const body = '{"model":"one/m","prompt":"a","stream":true}'
  const answer = await gateway.get('/v1/completions', { method: 'POST', headers: json, body })
  assert.match(answer.text, /\[DONE\]/)
  const record = await recordOf(gateway, answer)
  assert.deepEqual([record.stream, record.tokens.input, record.tokens.output], [true, 7, 1])
})

/** Base64 of a picture of about 3 MiB. */
const PICTURE = randomBytes(2.25 * 2 ** 20).toString('base64')
/** Usage as OpenAI reports it for a streamed picture, which does not split the output. */
const PICTURE_USAGE = {
  ...{ total_tokens: 4_366, input_tokens: 206, output_tokens: 4_160 },
  input_tokens_details: { text_tokens: 12, image_tokens: 194 },
}
/** Cost by the prices of gpt-image-1.5 for a million tokens: text 5, pictures in 8, pictures out 32. */
const PICTURE_COST = (12 * 5 + 194 * 8 + 4_160 * 32) / 1e6
const EDIT = form([
  ['name="model"', 'openai/gpt-image-1.5'],
  ['name="stream"', 'true'],
  ['name="image"; filename="a.png"', 'png'],
])

test('a streamed image edit passes through byte for byte, event by event, and is priced by the usage that follows megabytes of data', async (t) => {
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: PICTURE, ...more })}\n\n`
  const events = [
    event('image_edit.partial_image', { partial_image_index: 0 }),
    event('image_edit.completed', { usage: PICTURE_USAGE }),
  ]
  const read = Promise.withResolvers<void>()
  const provider = await startProvider(t, async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events[0])
    await read.promise
    response.end(events[1])
  })
  const gateway = await gatewayTo(t, { openai: { dialect: 'openai', origin: provider.origin } }, EDITS)
  const answer = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers: FORM, body: EDIT })
  let text = ''
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.length === events[0]!.length) read.resolve()
  }
  assert.ok(text === events.join(''), 'every byte')
  const { stream, tokens, cost_usd, cost_missing } = await recordOf(gateway, answer)
  assert.deepEqual([stream, tokens.input, tokens.output], [true, 206, 4_160])
  assert.deepEqual([cost_usd, cost_missing], [PICTURE_COST, []])
})

test('a multi-megabyte answer is priced by its usage, whether the usage comes before or after the image', async (t) => {
  const data = [{ b64_json: PICTURE }]
  const answers = [
    { usage: PICTURE_USAGE, data },
    { data, usage: PICTURE_USAGE },
  ]
  const provider = await startProvider(t, (response, arrived) =>
    replyWith(answers.shift())(response, arrived),
  )
  const gateway = await gatewayTo(t, { openai: { dialect: 'openai', origin: provider.origin } }, EDITS)
  for (const expected of answers.slice()) {
    const answer = await gateway.get('/v1/images/edits', { method: 'POST', headers: FORM, body: EDIT })
    assert.ok(answer.text === JSON.stringify(expected), 'every byte')
    assert.equal((await recordOf(gateway, answer)).cost_usd, PICTURE_COST)
  }
})

test('edits at a price per picture are priced by the finished pictures, whole or streamed, without any usage', async (t) => {
  const done = 'event: image_edit.completed\ndata: {"type":"image_edit.completed","b64_json":"AAAA"}\n\n'
  const partial = done.replaceAll('completed', 'partial_image')
  const bodies = [
    [
      'application/json',
      JSON.stringify({ data: [{ url: 'https://pictures.example/1' }, { b64_json: 'AAAA' }] }),
    ],
    ['text/event-stream', `${partial}${partial}${done}${done}`],
  ]
  const provider = await startProvider(t, (response) => {
    const [type, body] = bodies.shift()!
    response.writeHead(200, { 'content-type': type }).end(body)
  })
  const price = 'models: { openai/gpt-image-1.5: { price: { image: 0.02 } } }'
  const gateway = await gatewayTo(
    t,
    { openai: { dialect: 'openai', origin: provider.origin } },
    `${EDITS}\n${price}`,
  )
  for (let n = 0; n < 2; n++) {
    const answer = await gateway.get('/v1/images/edits', { method: 'POST', headers: FORM, body: EDIT })
    const { state, cost_usd, cost_missing } = await recordOf(gateway, answer)
    assert.deepEqual(
      { state, cost_usd, cost_missing },
      { state: 'completed', cost_usd: 0.04, cost_missing: [] },
    )
  }
})

test('a relayed stream that ends with an error is on record as failed, and one that recovers is not', async (t) => {
  const error = 'data: {"error":{"message":"busy","type":"server_error","code":"overloaded"}}\n\n'
  const text = 'data: {"choices":[{"text":"a"}]}\n\n'
  const streams = [`${text}${error}`, `${text}${error}data: [DONE]\n\n`, `${error}${text}`]
  const { gateway } = await relaying(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(streams.shift())
  })
  const ends: unknown[] = []
  for (let n = 0; n < 3; n++) {
    const body = '{"model":"one/m","prompt":"a","stream":true}'
    const record = await recordOf(
      gateway,
      await gateway.get('/v1/completions', { method: 'POST', headers: json, body }),
    )
    ends.push([record.state, record.status, record.error_code, record.attempt_log[0].outcome])
  }
  const failed = ['failed', 200, 'overloaded', 'failed']
  assert.deepEqual(ends, [failed, failed, ['completed', 200, null, 'answered']])
})

test('a provider key that is echoed in a relayed 200 is masked wherever the gateway reads the body (KEEP-02)', async (t) => {
  const key = secretOf('one')
  const escaped = [...key].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
  let body = ''
  let pieces = 1
  const provider = await startProvider(t, async (response) => {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
    const size = Math.ceil(body.length / pieces)
    for (let at = 0; at < body.length; at += size) {
      response.write(body.slice(at, at + size))
      await pause(5)
    }
    response.end()
  })
  const gateway = await gatewayTo(
    t,
    {
      one: { dialect: 'openai', origin: provider.origin },
      two: { dialect: 'messages', origin: provider.origin },
    },
    'passthrough: [audio, moderations, rerank, completions, image-edits, files, batches]',
  )
  const ask = async (method: string, path: string, text: string, cut = 1) => {
    body = text
    pieces = cut
    const answer = await gateway.get(path, {
      method,
      headers: path.includes('messages') ? { ...json, 'anthropic-version': '2023-06-01' } : json,
      ...(method === 'POST' && { body: '{"input_file_id":"file-1"}' }),
    })
    assert.equal(answer.status, 200, path)
    return answer.text
  }
  for (const [method, path] of [
    ['GET', '/v1/files'],
    ['POST', '/v1/files'],
    ['GET', '/v1/files/file-1'],
    ['DELETE', '/v1/files/file-1'],
    ['POST', '/v1/batches'],
    ['GET', '/v1/batches/batch_1'],
    ['POST', '/v1/audio/speech'],
    ['POST', '/v1/audio/transcriptions'],
    ['POST', '/v1/moderations'],
    ['POST', '/v1/rerank'],
    ['POST', '/v1/completions'],
    ['POST', '/v1/images/edits'],
  ] as const)
    for (const [said, cut] of [
      [key, 1],
      [encodeURIComponent(key), 1],
      [escaped, 1],
      [key, 4],
    ] as const) {
      const text = `{"id":"a","x":"${'x'.repeat(20)}${said}"}`
      const shown = await ask(method, path, text, cut)
      assert.equal(shown, `{"id":"a","x":"${'x'.repeat(20)}***"}`, `${method} ${path}`)
    }
  // What passes unread is unchanged: files, and answers that are long.
  assert.equal(await ask('GET', '/v1/files/file-1/content', key), key)
  const long = `{"x":"${'x'.repeat(100_000)}${key}"}`
  assert.ok((await ask('POST', '/v1/audio/speech', long)) === long)
  const { json: calls } = await gateway.get('/api/usage/request-logs?limit=100')
  assert.ok(!JSON.stringify(calls).includes(key))
})

test('a list that cannot be read is not relayed to a client key, and an administrator gets its bytes', async (t) => {
  const list = '\ufeff{"data":[{"id":"file-of-another"}]}'
  const provider = await startProvider(t, replyWith(list))
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await gatewayTo(
    t,
    { one: { dialect: 'openai', origin: provider.origin } },
    `passthrough: [files]
keys: [ { name: a, digest: "${digest('a-key-of-the-test')}" }, { name: b, role: admin, digest: "${digest('b-key-of-the-test')}" } ]`,
  )
  const listOf = (key: string) => gateway.get('/v1/files', { headers: { authorization: `Bearer ${key}` } })
  const refused = await listOf('a-key-of-the-test')
  assert.deepEqual([refused.status, refused.json.error.code], [502, 'upstream_invalid'])
  assert.equal((await listOf('b-key-of-the-test')).status, 200)
})

test('a form that servers read in different ways is refused, and nothing is sent', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({ text: '' }))
  const model = form([['name="model"', 'a']])
  const part = (head: string, value = 'a') => `--b0undary\r\n${head}\r\n\r\n${value}\r\n--b0undary--\r\n`
  const disposition = 'Content-Disposition: form-data'
  const type = FORM['content-type']
  const cases: readonly (readonly [string, string])[] = [
    [`${type}; boundary=other`, model],
    [`multipart/form-data; boundary=other; Boundary="b0undary"`, model],
    [`multipart/form-data; boundary*=utf-8''b0undary`, model],
    [`multipart/form-data; boundary=b0undary; boundary*0=x`, model],
    ['multipart/form-data; boundary="b0\\undary"', model],
    ['multipart/form-data; boundary="b0undary" boundary=x', model],
    [type, form([["name*=utf-8''model", 'a']])],
    [type, form([['name="file"; name="model"', 'a']])],
    [type, form([['name="mod\\el"', 'a']])],
    [type, part(`${disposition};\r\n name="model"`)],
    [type, part(`${disposition}; name="x"\r\n${disposition}; name="model"`)],
    [type, part(`${disposition}; name="model"\r\nContent-Transfer-Encoding: base64`)],
    [type, model.replaceAll('\r\n', '\n')],
    [type, form([['name="model"', 'a\r\n--b0undaryX\r\nb']])],
    ['application/x-www-form-urlencoded', 'model=one%2Fwhisper-1'],
    ['application/json; charset=utf-16le', '{"model":"a"}'],
    ['application/json', '\ufeff{"model":"a"}'],
    ['application/json', Buffer.from('{"model":"a"}', 'utf16le').toString('latin1')],
  ]
  for (const [type, body] of cases) {
    const init = { method: 'POST', headers: { 'content-type': type }, body }
    const { status } = await gateway.get('/v1/audio/transcriptions', init)
    assert.ok(status === 400 || status === 415, `${type} ${JSON.stringify(body)}: ${status}`)
  }
  assert.equal(provider.arrived.length, 0)
})

test('unusual spellings of a form that all servers read alike are read, and keep their bytes', async (t) => {
  const { provider, gateway } = await relaying(t, replyWith({ text: '' }))
  const part = (head: string) => `--b0undary\r\n${head}\r\n\r\none/a\r\n--b0undary--\r\n`
  for (const [type, body] of [
    [
      'Multipart/Form-Data; charset=utf-8; Boundary="b0undary"',
      part('content-disposition:form-data;name=model'),
    ],
    [
      'multipart/form-data;boundary=b0undary;',
      part('Content-Disposition: form-data; filename=my file; NAME="model"'),
    ],
    [
      FORM['content-type'],
      `preamble\r\n${part('Content-Type: text/plain\r\nContent-Disposition: form-data; name = "model"')}`,
    ],
    [
      FORM['content-type'],
      part('Content-Disposition: form-data; name="model"').replace('--b0undary\r\n', '--b0undary \t\r\n'),
    ],
  ] as const) {
    const init = { method: 'POST', headers: { 'content-type': type }, body }
    const answer = await gateway.get('/v1/audio/transcriptions', init)
    assert.equal(answer.status, 200, body)
    assert.equal(provider.arrived.at(-1)!.body.toString(), body.replace('one/a', 'a'))
    assert.equal((await recordOf(gateway, answer)).requested_model, 'one/a')
  }
})

test('a relayed answer cannot run in the origin of the gateway’s page, whatever its type', async (t) => {
  let type = ''
  let status = 200
  const provider = await startProvider(t, (response) =>
    response
      .writeHead(status, { 'content-type': type, 'content-security-policy': 'script-src *' })
      .end('<script>1</script>'),
  )
  const gateway = await gatewayTo(
    t,
    { one: { dialect: 'openai', origin: provider.origin } },
    'passthrough: [audio, files]',
  )
  const types = ['text/html', 'image/svg+xml', 'text/xml', 'application/xhtml+xml', 'text/javascript']
  for (type of types)
    for (status of [200, 206, 404])
      for (const [method, path] of [
        ['GET', '/v1/files/file-1/content'],
        ['GET', '/v1/files/file-1'],
        ['POST', '/v1/audio/speech'],
      ] as const) {
        const { headers } = await gateway.get(path, { method })
        assert.equal(headers.get('content-security-policy'), 'sandbox', `${method} ${path} ${type}`)
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
      }
})

test('an answer in chunks of one byte is read some thousand chunks at once, while another key has a call open', async (t) => {
  const size = 60_000
  const provider = await startProvider(t, ({ socket }, { body }) => {
    if (String(body) === 'b') return // the call of the other key stays open
    socket!.write('HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\ntransfer-encoding: chunked\r\n\r\n')
    socket!.write(`${'1\r\nx\r\n'.repeat(size)}0\r\n\r\n`)
  })
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await gatewayTo(
    t,
    { one: { dialect: 'openai', origin: provider.origin } },
    `passthrough: [audio]
keys: [ { name: a, digest: "${digest('a-key-of-the-test')}" }, { name: b, digest: "${digest('b-key-of-the-test')}" } ]`,
  )
  const speak = (key: string, signal: AbortSignal) =>
    fetch(`${gateway.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}-key-of-the-test` },
      body: key,
      signal,
    })
  const other = new AbortController()
  const open = speak('b', other.signal).catch(() => {})
  await until('the other key has a call open', () => provider.begun.count === 1)
  // The gateway writes what it has read at once as one chunk.
  const chunks: number[] = []
  for await (const chunk of (await speak('a', t.signal)).body!) chunks.push(chunk.length)
  other.abort()
  await open
  assert.equal(
    chunks.reduce((sum, length) => sum + length, 0),
    size,
  )
  assert.ok(Math.max(...chunks) <= 4_096, `${Math.max(...chunks)} at once`)
})
