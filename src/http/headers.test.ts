// Headers that protect clients. No answer is interpreted as another type, no request names two hosts, and no
// provider's headers make an answer too large to read.
import assert from 'node:assert/strict'
import { request as ask } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { answer, chunk, DONE, type Script, stream } from '../../mocks/test-upstream.ts'
import { csvCell } from '../endpoints/export.ts'
import { escaped } from '../terminal/clean.ts'
import { sharedGateways, testGateway } from '../test/test-gateway.ts'

const sharedGateway = sharedGateways()

/** Sends these bytes and returns everything received. */
const send = (url: string, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port, hostname } = new URL(url)
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
      .on('error', reject)
      .on('data', (data) => {
        text += data
      })
      .on('close', () => resolve(text))
  })

test('every answer tells the browser not to guess its content type (PAGE-02)', async (t) => {
  const { url, get, chat } = await testGateway(t, {
    providers: {
      alpha: (response, received) => (received.json.stream ? streamed : answer())(response, received),
    },
    config: 'routes: { auto: { targets: [ { model: alpha/m } ] } }\ncache: { enabled: true }',
  })
  const body = { model: 'auto', messages: [] }
  const answers = [
    ['a call', await chat(body)],
    ['from the cache', await chat(body)],
    ['a stream', await chat({ ...body, stream: true })],
    ['an unknown model', await chat({ ...body, model: 'x' })],
    ['no JSON', await chat('{')],
  ] as [string, Awaited<ReturnType<typeof chat>>][]
  for (const path of [
    '/v1/models',
    '/metrics',
    '/openapi.json',
    '/healthz',
    '/readyz',
    '/api/usage/export',
    '/nothing',
    '/',
  ])
    answers.push([path, await get(path)])
  answers.push(['HEAD', await get('/v1/models', { method: 'HEAD' })])
  answers.push(['OPTIONS', await get('/v1/models', { method: 'OPTIONS' })])
  answers.push(['DELETE', await get('/v1/models', { method: 'DELETE' })])
  answers.push(['hello', await get('/api/hello')])
  answers.push(['live', await get('/api/usage/live', { method: 'HEAD' })])
  for (const [what, { headers }] of answers)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', what)
  assert.match(await send(url, 'no HTTP\r\n\r\n'), /\r\nx-content-type-options: nosniff\r\n/)
})

const streamed: Script = stream(chunk({ content: 'a' }, { finish_reason: 'stop' }), DONE)

test('a request with two Host headers or a foreign one is refused, and one with the gateway’s own is answered (KEEP-06)', async (t) => {
  const { url, received } = await sharedGateway(t)
  const { host } = new URL(url)
  const body = JSON.stringify({ model: 'auto', messages: [] })
  const request = (line: string, ...hosts: string[]) =>
    send(
      url,
      `${line} HTTP/1.1\r\n${hosts.join('\r\n')}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
  const [ours, evil] = [`Host: ${host}`, 'host: evil.example']
  for (const line of [
    'POST /v1/chat/completions',
    'POST /v1/messages',
    'GET /v1/models',
    'GET /healthz',
    'GET /nothing',
  ])
    for (const hosts of [
      [ours, evil],
      [evil, ours],
      [ours, ours],
      [ours, `HOST: ${host}`, ours],
    ])
      assert.match(
        await request(line, ...hosts),
        /^HTTP\/1.1 400 [\s\S]*more than one Host/,
        `${line} ${hosts}`,
      )
  assert.match(await request('GET /v1/models', evil), /^HTTP\/1.1 403 [\s\S]*host_not_allowed/)
  assert.equal(received(), 0)
  assert.match(
    await request('POST /v1/chat/completions', ours, 'x-forwarded-host: evil.example'),
    /^HTTP\/1.1 200 /,
  )
})

/** Sends a call with Node's own client, which reads 16 KiB of headers. */
const call = (
  t: TestContext,
  url: string,
  more: object,
): Promise<{ status: number; headers: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    const asked = ask(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-session-id': 'é'.repeat(80) },
    })
    t.after(() => asked.destroy())
    asked.on('error', reject)
    asked.on('response', (response) => {
      response
        .on('error', reject)
        .on('end', () => resolve({ status: response.statusCode!, headers: response.headers }))
      response.resume()
    })
    asked.end(JSON.stringify({ model: `alpha/${'語'.repeat(200)}`, messages: [], ...more }))
  })

test('an answer with large provider headers stays readable and includes the small headers (TELL-01)', async (t) => {
  const large: Record<string, string> = {
    'x-request-id': 'r'.repeat(7_000),
    'x-ratelimit-a': 'a'.repeat(7_000),
  }
  const small = { 'retry-after': '7', 'x-ratelimit-z': 'z' }
  const { url, upstream } = await sharedGateway(t)
  for (const [status, more] of [
    [200, {}],
    [200, { stream: true }],
    [400, {}],
  ] as const) {
    upstream.alpha!.script = (response, received) => {
      for (const [name, value] of Object.entries({ ...large, ...small })) response.setHeader(name, value)
      if (status !== 200) response.writeHead(status).end('{"error":{"message":"no"}}')
      else if (received.json.stream) streamed(response, received)
      else answer()(response, received)
    }
    const { headers, ...answered } = await call(t, url, more)
    assert.equal(answered.status, status)
    assert.equal(headers['retry-after'], '7')
    assert.equal(headers['x-ratelimit-z'], 'z')
    assert.equal(headers['x-request-id'], large['x-request-id'])
    assert.equal(headers['x-ratelimit-a'], undefined)
  }
  upstream.alpha!.script = (response, received) => {
    response.setHeader('x-request-id', 'r'.repeat(15_000))
    answer()(response, received)
  }
  const { status, headers } = await call(t, url, {})
  assert.deepEqual([status, headers['x-request-id']], [200, headers['x-gateway-request-id']])
})

test('no cell in an export becomes a formula, whatever text precedes it and however wide its characters are (PAGE-08)', () => {
  const before = [
    '',
    ' ',
    '   ',
    '\u00a0',
    '\u200b',
    '\ufeff',
    '\u3000',
    '\u2028',
    '\n',
    '\r\n',
    '\u0000',
    '\u202e',
    '\u2060\t ',
    '\u00ad',
  ]
  for (const start of before)
    for (const sign of '=+-@＝＋－＠﹦﹢﹣﹫') {
      const cell = csvCell(`${start}${sign}1+1`)
      assert.match(cell, /^"?'/, JSON.stringify(start + sign))
      assert.ok(cell.includes(`${escaped(start)}${sign}`), 'the text stays')
    }
  for (const text of ['a=1', 'gpt-5', ' a', '\u00a0x', '', 'é', '{"a":1}', '１'])
    assert.doesNotMatch(csvCell(text), /^"?'/, text)
  assert.equal(csvCell(-1), '-1')
})

/** Control, C1, bidi and invisible characters. */
const STEERING = '\u007f\u0085\u009b2J\u00ad\u200b\u202e\u2028\u2066\ufeff\u{e0041}'

test('relayed headers of a provider have visible ASCII only, and other bytes are percent-encoded (TELL-06)', async (t) => {
  const raw = Buffer.from('a\x9b2J\x85b\tc\xe9%41', 'latin1')
  const { url } = await testGateway(t, {
    providers: {
      alpha: (response, received) => {
        for (const name of ['x-request-id', 'x-ratelimit-limit', 'retry-after', 'x-should-retry'])
          response.setHeader(name, raw.toString('latin1'))
        return received.json.stream
          ? streamed(response, received)
          : received.json.n === 3
            ? response
                .writeHead(400, { 'content-type': 'application/json; a=\u009b' })
                .end('{"error":{"message":"m"}}')
            : answer()(response, received)
      },
    },
    config: 'routes: { auto: { targets: [ { model: alpha/m } ] } }',
  })
  for (const more of ['', ',"stream":true', ',"n":3']) {
    const body = `{"model":"auto","messages":[]${more}}`
    const text = await send(
      url,
      `POST /v1/chat/completions HTTP/1.1\r\nhost: ${new URL(url).host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
    const [head = ''] = text.split('\r\n\r\n')
    assert.match(head, /x-request-id: a(%C2)?%9B2J(%C2)?%85b%09c(%C3%A9|%E9)%41/, head)
    assert.doesNotMatch(head.replaceAll('\r\n', ''), /[^\x20-\x7e]/, head)
  }
})

test('no read, error or export has a control or bidi character of a client, and JSON keeps them all (TELL-06)', async (t) => {
  const { chat, get } = await testGateway(t, {
    providers: { alpha: answer() },
    config: 'routes: { auto: { targets: [ { model: alpha/m } ] } }',
  })
  const model = 'alpha/m\u202e\u200b\u2066\ufeff' // a model's name may have no control characters
  await chat({ model, messages: [] })
  const refused = await chat({ model: `none${STEERING}`, messages: [] })
  const safe = (text: string, what: string) =>
    assert.equal(text.replaceAll(/[\r\n]/g, '').match(/[\p{C}\p{Zl}\p{Zp}]/u), null, `${what}: ${text}`)
  safe(refused.text, 'an error')
  assert.ok(refused.json.error.message.includes('\u202e'))
  for (const path of [
    '/api/usage/request-logs',
    '/api/usage/summary',
    '/api/usage/refused-calls',
    '/api/routes',
    '/api/health',
    '/api/usage/export',
    '/api/usage/export?form=json',
    `/api/routes/resolve?model=${encodeURIComponent(model)}`,
    `/v1/models/${encodeURIComponent(model)}`,
    `/nothing/${encodeURIComponent(STEERING)}`,
  ])
    safe((await get(path)).text, path)
  const { data } = (await get('/api/usage/request-logs')).json
  assert.deepEqual(
    data.map((each: { requested_model: string }) => each.requested_model),
    [model],
  )
})
