// Responses over a WebSocket, with a real client, a real gateway, and mock providers over HTTP.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { WebSocket } from 'ws'
import type { Script } from '../../../mocks/test-upstream.ts'
import { type Setup, sharedGateways } from '../../test/test-gateway.ts'
import { openSocket } from '../../test/test-socket.ts'
import { pause, until } from '../../test/test-until.ts'
import { message, response, streamOf } from './test-samples.ts'

const sharedGateway = sharedGateways()

const ONE = 'routes: { auto: { targets: [ { model: alpha/m } ] } }'

const start = (t: TestContext, setup: Setup = {}) =>
  sharedGateway(t, { config: ONE, dialects: { alpha: ['responses'] }, ...setup })

let made = 0
const STREAM = { 'content-type': 'text/event-stream' }
const events = (id: string, more: object = {}) => {
  const item = message('hello')
  return [
    { type: 'response.created', response: response('m', 'in_progress', { id, ...more }) },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_text.delta', output_index: 0, delta: 'hello' },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: response('m', 'completed', { id, output: [item], ...more }) },
  ]
}
const answers: Script = (res, { json }) =>
  res.writeHead(200, STREAM).end(streamOf(...events(`resp_${++made}`, { store: json.store !== false })))

const create = (more: object = {}) => ({
  type: 'response.create',
  model: 'auto',
  input: 'where to?',
  ...more,
})
const post = (more: object = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'auto', input: 'where to?', stream: true, ...more }),
})
const idIn = (messages: any[]): string => messages.at(-1).response.id
const errorOf = ({ type, status, error }: any) => [type, status, error.code]

test('a socket carries the same events as HTTP, and both calls are recorded', async (t) => {
  const script: Script = (res) => res.writeHead(200, STREAM).end(streamOf(...events('resp_same')))
  const { url, get, record, upstream } = await start(t, { providers: { alpha: script } })
  const socket = await openSocket(t, url)
  const messages = await socket.response(create())
  const { text } = await get('/v1/responses', post())
  assert.deepEqual(
    messages,
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!)),
  )
  const [over, http] = upstream.alpha!.ledger
  assert.deepEqual(over!.json, http!.json)
  const { json } = await get('/api/usage/request-logs')
  assert.equal(json.data.length, 2)
  for (const { id } of json.data) assert.equal((await record(id)).status, 200)
})

test('the message arrives byte for byte, and the headers inside the message arrive as headers', async (t) => {
  const { url, upstream } = await start(t, { providers: { alpha: answers } })
  const socket = await openSocket(t, url, {
    headers: { 'openai-beta': 'responses_websockets=2026-02-06, other=1', 'thread-id': 'th_1' },
  })
  const metadata =
    '{"ws_request_header_x_openai_internal_codex_responses_lite":"true","x-codex-turn-state":"s1"}'
  await socket.response(
    `{"type":"response.create","model":"auto", "temperature":1.0,"input":"caf\\u00e9","client_metadata":${metadata}}`,
  )
  const { text, headers } = upstream.alpha!.ledger[0]!
  assert.equal(
    text,
    `{"model":"m", "temperature":1.0,"input":"caf\\u00e9","client_metadata":${metadata},"stream":true}`,
  )
  assert.equal(headers['openai-beta'], 'other=1')
  assert.equal(headers['thread-id'], 'th_1')
  assert.equal(headers['x-openai-internal-codex-responses-lite'], 'true')
  assert.equal(headers['x-codex-turn-state'], 's1')
})

test('a message cannot set a header of the connection, of the body or of the key, and none ends the gateway', async (t) => {
  const { url, get, upstream } = await start(t, { providers: { alpha: answers } })
  const names =
    'trailer host authorization x_gateway_key x_api_key x_goog_api_key content_length content_type content_encoding transfer_encoding connection upgrade expect keep_alive te origin cookie sec_fetch_site proxy_authorization x_forwarded_proto accept_encoding __proto__ constructor'
  for (const value of ['x', '1', 'chunked', '100-continue', 'Bearer sk-other']) {
    const socket = await openSocket(t, url)
    const metadata = Object.fromEntries(names.split(' ').map((name) => [`ws_request_header_${name}`, value]))
    const messages = await socket.response(create({ client_metadata: metadata }))
    assert.equal(messages.at(-1).type, 'response.completed', value)
    socket.ws.terminate()
  }
  for (const { headers } of upstream.alpha!.ledger) {
    assert.equal(headers.authorization, 'Bearer sk-alpha-secret')
    assert.doesNotMatch(JSON.stringify(headers), /sk-other|chunked|100-continue|"x"/)
  }
  for (const client_metadata of [
    null,
    [],
    'x',
    7,
    { ws_request_header_: 'x' },
    { 'x-codex-turn-state': {} },
  ]) {
    const socket = await openSocket(t, url)
    assert.equal((await socket.response(create({ client_metadata }))).at(-1).type, 'response.completed')
  }
  const many = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, n) => [`ws_request_header_x_codex_${n}`, 'x'.repeat(100)]),
  )
  const [refused] = await (await openSocket(t, url)).response(create({ client_metadata: many }))
  assert.equal(refused.type, 'error')
  assert.equal((await get('/healthz')).status, 200)
})

test('an unstored response can be continued only on its own socket, with the whole conversation', async (t) => {
  const { url, upstream, received } = await start(t, { providers: { alpha: answers } })
  const socket = await openSocket(t, url)
  const first = idIn(await socket.response(create({ store: false })))
  const second = await socket.response(
    create({ store: false, previous_response_id: first, input: [{ role: 'user', content: 'and then?' }] }),
  )
  const sent = upstream.alpha!.ledger[1]!.json
  assert.equal(sent.previous_response_id, undefined)
  assert.deepEqual(sent.input, [
    { type: 'message', role: 'user', content: 'where to?' },
    message('hello'),
    { role: 'user', content: 'and then?' },
  ])
  await socket.response(create({ store: false, previous_response_id: idIn(second), input: 'so?' }))
  assert.equal((upstream.alpha!.ledger[2]!.json.input as unknown[]).length, 5)

  const other = await openSocket(t, url)
  const [refusal] = await other.response(create({ store: false, previous_response_id: first }))
  assert.deepEqual(errorOf(refusal), ['error', 400, 'previous_response_not_found'])
  assert.equal(received(), 3)
})

test('an answer that its provider does not store, unasked, is continued with the whole conversation', async (t) => {
  const unkept: Script = (res) =>
    res.writeHead(200, STREAM).end(streamOf(...events(`resp_${++made}`, { store: false })))
  const { url, upstream } = await start(t, { providers: { alpha: unkept } })
  const socket = await openSocket(t, url)
  const first = idIn(await socket.response(create()))
  await socket.response(create({ previous_response_id: first, input: 'and then?' }))
  const { json } = upstream.alpha!.ledger.at(-1)!
  assert.deepEqual([json.previous_response_id, (json.input as unknown[]).length], [undefined, 3])
})

test('a warm-up causes no request and can be continued', async (t) => {
  const { url, upstream, received } = await start(t, { providers: { alpha: answers } })
  const socket = await openSocket(t, url)
  const warm = await socket.response(create({ generate: false, store: false, instructions: 'be brief' }))
  assert.equal(received(), 0)
  assert.deepEqual(
    warm.map(({ type }) => type),
    ['response.created', 'response.in_progress', 'response.completed'],
  )
  await socket.response(create({ previous_response_id: idIn(warm), input: [] }))
  assert.deepEqual(upstream.alpha!.ledger[0]!.json, {
    model: 'm',
    input: [{ type: 'message', role: 'user', content: 'where to?' }],
    stream: true,
  })
})

test('responses of one lane run one after another, and responses of two lanes run at the same time', async (t) => {
  const open: (() => void)[] = []
  const script: Script = (res, { json }) => {
    res.writeHead(200, STREAM)
    const all = events(String(json.input))
    res.write(streamOf(all[0]!))
    open.push(() => res.end(streamOf(...all.slice(1))))
  }
  const { url, received } = await start(t, { providers: { alpha: script } })
  const socket = await openSocket(t, url)
  socket.send(create({ stream_id: 'a', input: 'a1' }))
  socket.send(create({ stream_id: 'a', input: 'a2' }))
  socket.send(create({ stream_id: 'b', input: 'b1' }))
  const begun = [await socket.next(), await socket.next()]
  assert.deepEqual(begun.map(({ stream_id, response }) => [stream_id, response.id]).sort(), [
    ['a', 'a1'],
    ['b', 'b1'],
  ])
  assert.equal(received(), 2)
  for (const end of open) end()
  const ends = [await socket.response(), await socket.response()].flat()
  assert.deepEqual(
    ends
      .filter(({ type }) => type === 'response.completed')
      .map(({ stream_id }) => stream_id)
      .sort(),
    ['a', 'b'],
  )
  const next = ends.find(({ response }) => response?.id === 'a2') ?? (await socket.next())
  assert.equal(next.stream_id, 'a')
  open[2]!()
  assert.equal(idIn(await socket.response()), 'a2')
})

test('a provider cannot put its events into a lane, and every message is JSON', async (t) => {
  const [created, , , , completed] = events('resp_lanes').map((each) => JSON.stringify(each)) as string[]
  const named = ['"stream_id":"b"', '"stream\\u005fid":"b"', '"stream_id":"b","stream_id":"c"']
  const sent = [
    created!,
    '{}',
    ...named.map((name) => `{${name},"type":"odd"}`),
    ...named.map((name) => `{${name}}`),
  ]
  const script: Script = (res) =>
    res.writeHead(200, STREAM).end([...sent, completed!].map((each) => `data: ${each}\n\n`).join(''))
  const { url } = await start(t, { providers: { alpha: script } })
  for (const lane of ['a', undefined]) {
    const { ws, send } = await openSocket(t, url)
    const texts: string[] = []
    ws.on('message', (data) => texts.push(String(data)))
    send(create({ stream_id: lane }))
    await until('the response has ended', () => texts.at(-1)?.includes('response.completed'))
    assert.equal(texts.length, sent.length + 1)
    for (const text of texts) {
      assert.equal(JSON.parse(text).stream_id, lane, text)
      assert.equal(text.match(/stream(_|\\u005f)id/g)?.length ?? 0, lane === undefined ? 0 : 1, text)
    }
  }
})

test('an error is one message with status, code and headers, and the socket stays open', async (t) => {
  let calls = 0
  const script: Script = (res, received) => {
    if (++calls > 1) return answers(res, received)
    const error = { message: 'busy', type: 'rate_limit_error', code: 'rate_limit_exceeded', param: null }
    res
      .writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' })
      .end(JSON.stringify({ error }))
  }
  const { url } = await start(t, {
    providers: { alpha: script },
    config: `${ONE}\nresilience: { cooldown: 0ms }`,
  })
  const socket = await openSocket(t, url)
  const [busy] = await socket.response(create())
  assert.deepEqual(errorOf(busy), ['error', 429, 'rate_limit_exceeded'])
  assert.equal(busy.headers['retry-after'], '7')
  const [unknown] = await socket.response(create({ model: 'nobody/has' }))
  assert.deepEqual(errorOf(unknown), ['error', 404, 'model_not_found'])
  assert.equal((await socket.response(create())).at(-1).type, 'response.completed')
})

test('a bad message causes no request, and is refused or closes the socket with a suitable code', async (t) => {
  const { url, received } = await start(t, { providers: { alpha: answers }, server: 'body_limit: 1MiB' })
  const socket = await openSocket(t, url)
  const refusals: [unknown, number, string][] = [
    ['{', 400, 'invalid_json'],
    ['[]', 400, 'invalid_json'],
    [{ model: 'auto' }, 400, 'invalid_request'],
    [{ type: 'response.steer', input: [] }, 400, 'invalid_request'],
    [create({ background: true }), 400, 'invalid_request'],
    [create({ stream_id: 7 }), 400, 'invalid_request'],
    [create({ input: 7 }), 400, 'invalid_request'],
    [create({ previous_response_id: 'resp_unknown' }), 400, 'previous_response_not_found'],
    [`{"type":"response.create","input":[${'0,'.repeat(300_000)}0]}`, 413, 'body_too_large'],
  ]
  for (const [sent, status, code] of refusals)
    assert.deepEqual(
      errorOf((await socket.response(sent))[0]),
      ['error', status, code],
      JSON.stringify(sent).slice(0, 80),
    )
  socket.ws.send(Buffer.from(JSON.stringify(create())))
  assert.equal(await socket.closed, 1003)
  const large = await openSocket(t, url)
  large.send(create({ input: 'x'.repeat(2 ** 21) }))
  assert.equal(await large.closed, 1009)
  assert.equal(received(), 0)
})

test('a message in fragments of one byte each arrives whole', async (t) => {
  const { url } = await start(t, { providers: { alpha: answers } })
  const { ws, response } = await openSocket(t, url)
  const bytes = [...JSON.stringify(create())]
  for (const [at, byte] of bytes.entries()) ws.send(byte, { fin: at === bytes.length - 1, binary: false })
  assert.equal((await response()).at(-1).type, 'response.completed')
})

/** Connects and writes the upgrade request by hand. */
function upgradeByHand(t: TestContext, url: string): Socket {
  const { hostname, port } = new URL(url)
  const wire = connect(Number(port), hostname)
  t.after(() => wire.destroy())
  wire.write(
    'GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  return wire
}

test('an invalid handshake is answered with an error in JSON that names the header', async (t) => {
  const { url } = await start(t)
  for (const [wrong, named] of [
    [{ 'sec-websocket-key': 'AAAA' }, /Sec-WebSocket-Key/],
    [{ 'sec-websocket-version': '7' }, /Sec-WebSocket-Version/],
    [{ 'sec-websocket-version': '8' }, /Sec-WebSocket-Version/],
    [{ 'sec-websocket-protocol': 'a,,b' }, /Sec-WebSocket-Protocol/],
  ] as const) {
    const headers = {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
      ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...wrong },
    }
    const upgrade = request(`${url}/v1/responses`, { headers }).end()
    upgrade.on('upgrade', () => upgrade.destroy(new Error('the handshake was accepted')))
    const [response] = (await once(upgrade, 'response')) as [IncomingMessage]
    const { error, request_id } = (await json(response)) as any
    assert.deepEqual([response.statusCode, error.code, typeof request_id], [400, 'invalid_request', 'string'])
    assert.match(error.message, named)
  }
})

test('no subprotocol that a client offers is accepted', async (t) => {
  const { url } = await start(t)
  const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, [
    'realtime',
    'openai-insecure-api-key.x',
  ])
  ws.on('error', () => {}) // this client refuses a server that chooses none
  const [response] = (await once(ws, 'upgrade')) as [IncomingMessage]
  assert.equal(response.headers['sec-websocket-protocol'], undefined)
})

test('a message sent together with the upgrade request is answered like any other message', async (t) => {
  const { url, received } = await start(t, { providers: { alpha: answers } })
  const wire = upgradeByHand(t, url)
  const bytes = Buffer.from(JSON.stringify(create()))
  wire.write(Buffer.concat([Buffer.from([0x81, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]))
  let seen = ''
  for await (const piece of wire) {
    seen += String(piece)
    if (seen.includes('response.completed')) break
  }
  assert.match(seen, /^HTTP\/1\.1 101 /)
  assert.equal(received(), 1)
})

test('a frame of 100 MB closes its socket with 1009 before it is read', async (t) => {
  const { url, received } = await start(t, { providers: { alpha: answers } })
  const wire = upgradeByHand(t, url)
  const [head] = (await once(wire, 'data')) as [Buffer]
  assert.match(String(head), /^HTTP\/1\.1 101 /)
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(100n * 2n ** 20n)
  wire.write(Buffer.concat([Buffer.from([0x81, 0x80 | 127]), length, Buffer.alloc(4)]))
  let seen = Buffer.alloc(0)
  wire.on('data', (piece: Buffer) => {
    seen = Buffer.concat([seen, piece])
  })
  wire.on('error', () => {}) // bytes that are still being sent
  const chunk = Buffer.alloc(2 ** 16, 'x')
  for (let sent = 0; sent < 1_600 && !wire.destroyed; sent++)
    if (!wire.write(chunk)) await Promise.race([once(wire, 'drain'), once(wire, 'close')])
  assert.ok(wire.bytesWritten < 16 * 2 ** 20, `${wire.bytesWritten} bytes were taken`)
  assert.deepEqual([...seen.subarray(0, 4)], [0x88, 2, 1009 >> 8, 1009 & 0xff])
  assert.equal(received(), 0)
  assert.equal((await (await openSocket(t, url)).response(create())).at(-1).type, 'response.completed')
})

test('once a response has ended, it can be continued in its own lane, but not anywhere else', async (t) => {
  let end = () => {}
  const { url, get, received } = await start(t, {
    providers: {
      alpha(res, { json }) {
        const all = events(`resp_${++made}`, { store: json.store !== false })
        res.writeHead(200, STREAM).write(streamOf(all[0]!))
        const rest = () => res.end(streamOf(...all.slice(1)))
        if (json.input === 'first') end = rest
        else rest()
      },
    },
  })
  const socket = await openSocket(t, url)
  socket.send(create({ input: 'first', store: false }))
  const running = (await socket.next()).response.id
  const elsewhere = await openSocket(t, url)
  const next = { previous_response_id: running, store: false }
  assert.deepEqual(errorOf((await elsewhere.response(create(next)))[0]), [
    ...['error', 400, 'previous_response_not_found'],
  ])
  const [inAnotherLane] = await socket.response(create({ ...next, stream_id: 'b' }))
  assert.deepEqual(errorOf(inAnotherLane), ['error', 400, 'previous_response_not_found'])
  assert.equal((await get('/v1/responses', post(next))).status, 400)
  assert.equal(received(), 1)
  socket.send(create(next))
  end()
  assert.equal((await socket.response()).at(-1).type, 'response.completed')
  assert.equal((await socket.response()).at(-1).type, 'response.completed')
  assert.equal(received(), 2)
})

test('when a client disconnects, the request to the provider is stopped and the record is closed', async (t) => {
  const script: Script = (res) => void res.writeHead(200, STREAM).write(streamOf(events('resp_open')[0]!))
  const { url, upstream, get, record } = await start(t, { providers: { alpha: script } })
  const { abandoned } = upstream.alpha!
  const socket = await openSocket(t, url)
  socket.send(create())
  await socket.next()
  socket.ws.terminate()
  await until('the provider is left', () => upstream.alpha!.abandoned > abandoned)
  const { json } = await get('/api/usage/request-logs')
  assert.equal((await record(json.data[0].id)).status, 499)
})

test('a stopping gateway waits for the running response to end, then closes the socket with 1001', async (t) => {
  let end = () => {}
  const script: Script = (res) => {
    const [first, ...rest] = events('resp_last')
    res.writeHead(200, STREAM).write(streamOf(first!))
    end = () => res.end(streamOf(...rest))
  }
  // A gateway of its own, because it is closed.
  const { url, gateway } = await start(t, { providers: { alpha: script }, options: {} })
  const socket = await openSocket(t, url)
  const idle = await openSocket(t, url)
  socket.send(create())
  await socket.next()
  const closed = gateway.close(5_000)
  assert.equal(await idle.closed, 1001)
  const [refusal] = await socket.response(create())
  assert.deepEqual(errorOf(refusal), ['error', 400, 'websocket_connection_limit_reached'])
  end()
  assert.equal((await socket.response()).at(-1).type, 'response.completed')
  assert.equal(await socket.closed, 1001)
  await closed
})

test('a response that is still running when a stop waits no longer is cut off without a word of its provider', async (t) => {
  const script: Script = (res) => void res.writeHead(200, STREAM).write(streamOf(events('resp_cut')[0]!))
  const { url, gateway, data } = await start(t, { providers: { alpha: script }, options: {} })
  const socket = await openSocket(t, url)
  const told: string[] = []
  socket.ws.on('message', (message) => told.push(JSON.parse(String(message)).type))
  socket.send(create())
  await until('the response runs', () => told.length > 0)
  await gateway.close(50)
  assert.equal(await socket.closed, 1006)
  assert.deepEqual(told, ['response.created'])
  const record = new Database(join(data, 'waybill.db'), { readonly: true })
  t.after(() => record.close())
  const row = record.prepare('SELECT state, status FROM call_logs').get()
  assert.deepEqual(row, { state: 'aborted', status: 499 })
})

test('an upgrade is refused with 426 if WebSockets are disabled or all in use; otherwise the rules for any request apply', async (t) => {
  const refused = async (url: string, headers: Record<string, string> = {}) =>
    openSocket(t, url, { headers }).then(
      () => 101,
      ({ status }) => status,
    )
  const off = await start(t, { config: `${ONE}\nresponses: { websocket: off }` })
  assert.equal(await refused(off.url), 426)
  const few = await start(t, { config: `${ONE}\nresponses: { max_sockets: 1 }` })
  const first = await openSocket(t, few.url)
  assert.equal(await refused(few.url), 426)
  first.ws.terminate()
  await until('its place is free', async () => (await refused(few.url)) === 101)
  const keyed = await start(t, {
    config: `${ONE}\nkeys: [{ name: k, digest: "sha256:${hash('sha256', 'wb-key-of-the-test')}" }]`,
  })
  assert.equal(await refused(keyed.url), 401)
  assert.equal(await refused(keyed.url, { authorization: 'Bearer wb-key-of-the-test' }), 101)
  assert.equal(await refused(few.url, { origin: 'http://evil.example' }), 403)
})

test('a Live or Realtime session is refused with its reason, however it is opened', async (t) => {
  const key = 'wb-key-of-the-test'
  const gateway = await start(t, {
    config: `${ONE}\nkeys: [{ name: k, digest: "sha256:${hash('sha256', key)}" }]`,
  })
  const google = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
  const upgrade = {
    ...{ connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  for (const [method, path, headers] of [
    ['GET', '/v1/realtime?model=gpt-realtime-2', { ...upgrade, authorization: `Bearer ${key}` }],
    ['GET', '/v1/live/sessions/s_1', { ...upgrade, authorization: `Bearer ${key}` }],
    ['GET', '/v1/realtime', { authorization: `Bearer ${key}`, accept: 'text/html' }],
    ['POST', '/v1/realtime/client_secrets', { authorization: `Bearer ${key}` }],
    ['POST', '/v1/realtime/calls', { authorization: `Bearer ${key}` }],
    ['POST', '/v1/live/sessions', { authorization: `Bearer ${key}` }],
    ['GET', `${google}?key=${key}`, upgrade],
    ['GET', '/v1beta/interactions/live', { ...upgrade, 'x-goog-api-key': key }],
    ['GET', google, { ...upgrade, 'x-goog-api-key': key }],
    ['POST', `/v1alpha/auth_tokens?key=${key}`, {}],
  ] as const) {
    const asked = request(gateway.url + path, { method, headers }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const said: any = await json(answer)
    assert.equal(answer.statusCode, 404, path)
    assert.match(said.error.message, /Live or Realtime .* cannot yet be recorded before it is sent/, path)
  }
  for (const path of ['/v1/realtime', google, '/v1/realtimes']) {
    const asked = request(gateway.url + path).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 401, `${path} without a key`)
  }
  assert.equal(gateway.received(), 0)
})

test('a client that stops reading slows its provider down', async (t) => {
  let written = 0
  const script: Script = (res) => {
    const [first] = events('resp_slow')
    res.writeHead(200, STREAM).write(streamOf(first!))
    const delta = streamOf({ type: 'response.output_text.delta', output_index: 0, delta: 'x'.repeat(4_000) })
    const more = () => {
      while (written < 64 * 2 ** 20 && !res.destroyed) {
        written += delta.length
        if (!res.write(delta)) return void res.once('drain', more)
      }
    }
    more()
  }
  const { url } = await start(t, { providers: { alpha: script } })
  const socket = await openSocket(t, url)
  socket.send(create())
  await socket.next()
  socket.ws.pause()
  let before = -1
  for (let n = 0; n < 50 && written !== before; n++) {
    before = written
    await pause(200)
  }
  assert.ok(written < 32 * 2 ** 20, `${written} bytes were taken from the provider`)
  const held = written
  socket.ws.resume()
  await until('more is taken from the provider', () => written > held)
})
