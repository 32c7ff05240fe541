// Compressed request bodies at every kind of endpoint that reads bodies: each coding, several of them, wrong ones,
// and small bodies that decode to large ones.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { test } from 'node:test'
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { answer } from '../../mocks/test-upstream.ts'
import { replyWith, startProvider } from '../passthrough/test-provider.ts'
import { MEMORY } from '../shared/memory.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const body = Buffer.from(JSON.stringify(ask('auto', { user: 'Grüße 👋' })))

/** Bodies that decode to `body`. */
const DECODED: readonly (readonly [encoding: string, bytes: Buffer])[] = [
  ['gzip', gzipSync(body)],
  ['GZIP', gzipSync(body)],
  ['x-gzip', gzipSync(body)],
  ['gzip', Buffer.concat([gzipSync(body.subarray(0, 20)), gzipSync(body.subarray(20))])], // two members
  ['deflate', deflateSync(body)],
  ['deflate', deflateRawSync(body)], // without the header of zlib
  ['br', brotliCompressSync(body)],
  ['zstd', zstdCompressSync(body)],
  ['zstd', zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: 19 } })],
  ['gzip, br', brotliCompressSync(gzipSync(body))],
  ['zstd,gzip', gzipSync(zstdCompressSync(body))],
  ['identity', body],
  ['identity, gzip', gzipSync(body)],
  ['', body],
]

const LIMIT = 'body_limit: 1MiB'
const zeros = Buffer.alloc(64 * 2 ** 20, 0x20)

/** Refused bodies, with status and code. */
const REFUSED: readonly (readonly [
  what: string,
  encoding: string,
  bytes: Buffer,
  status: number,
  code: string,
])[] = [
  ['an unknown coding', 'compress', body, 415, 'unsupported_media_type'],
  ['an unknown coding beside a known one', 'gzip, lzma', gzipSync(body), 415, 'unsupported_media_type'],
  ['four codings', 'gzip, gzip, gzip, gzip', gzipSync(body), 415, 'unsupported_media_type'],
  ['plain JSON that is labelled gzip', 'gzip', body, 400, 'invalid_request'],
  ['br that is labelled zstd', 'zstd', brotliCompressSync(body), 400, 'invalid_request'],
  ['gzip that is cut off', 'gzip', gzipSync(body).subarray(0, -9), 400, 'invalid_request'],
  ['br that is cut off', 'br', brotliCompressSync(body).subarray(0, -9), 400, 'invalid_request'],
  [
    'zstd that is cut off',
    'zstd',
    zstdCompressSync(randomBytes(9_999)).subarray(0, -99),
    400,
    'invalid_request',
  ],
  ['nothing', 'gzip', Buffer.alloc(0), 400, 'invalid_json'],
  ['codings in the wrong order', 'br, gzip', brotliCompressSync(gzipSync(body)), 400, 'invalid_request'],
  ['no JSON', 'gzip', gzipSync('hello'), 400, 'invalid_json'],
  ['a bomb in gzip', 'gzip', gzipSync(zeros), 413, 'body_too_large'],
  ['a bomb in deflate', 'deflate', deflateSync(zeros), 413, 'body_too_large'],
  ['a bomb in br', 'br', brotliCompressSync(zeros), 413, 'body_too_large'],
  ['a bomb in zstd', 'zstd', zstdCompressSync(zeros), 413, 'body_too_large'],
  ['a bomb in a bomb', 'gzip, gzip', gzipSync(gzipSync(zeros)), 413, 'body_too_large'],
]

const post = (encoding: string, content: Buffer) => ({
  method: 'POST',
  body: content,
  headers: { 'content-type': 'application/json', ...(encoding && { 'content-encoding': encoding }) },
})

test('a compressed body is decoded, and reaches the provider uncompressed', async (t) => {
  const gateway = await testGateway(t)
  for (const [encoding, bytes] of DECODED) {
    const got = await gateway.get('/v1/chat/completions', post(encoding, bytes))
    assert.equal(got.status, 200, `${encoding}: ${got.text}`)
    const { headers, json } = gateway.upstream.alpha!.ledger.at(-1)!
    assert.equal(headers['content-encoding'], undefined)
    assert.deepEqual(json, { ...JSON.parse(body.toString()), model: 'model-a' })
  }
})

test('a body that is wrongly compressed, or decodes to more than the limit, is refused in one sentence', async (t) => {
  const gateway = await testGateway(t, { server: LIMIT })
  const before = MEMORY.bytes
  for (const [what, encoding, bytes, status, code] of REFUSED)
    await t.test(what, async () => {
      const got = await gateway.get('/v1/chat/completions', post(encoding, bytes))
      assert.deepEqual([got.status, got.json.error.code], [status, code], got.text)
      assert.ok(got.json.error.message.length < 200)
    })
  assert.equal(gateway.received(), 0)
  await until('no memory taken', () => MEMORY.bytes === before)
})

test('compressed bodies are decoded at every endpoint that reads bodies', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer() },
    server: LIMIT,
  })
  const said = [{ role: 'user', content: 'hi' }]
  for (const [path, json] of [
    ['/v1/messages', { model: 'auto', max_tokens: 9, messages: said }],
    ['/v1/messages/count_tokens', { model: 'auto', messages: said }],
    ['/v1/responses', { model: 'auto', input: 'hi' }],
    ['/v1beta/models/auto:generateContent', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
  ] as const) {
    const text = JSON.stringify(json)
    const plain = await gateway.get(path, post('', Buffer.from(text)))
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(text)],
      ['zstd', zstdCompressSync(text)],
    ] as const) {
      const got = await gateway.get(path, post(encoding, bytes))
      assert.equal(got.status, plain.status, `${path}, ${encoding}: ${got.text}`)
    }
    assert.equal(plain.status, 200, `${path}: ${plain.text}`)
    const bomb = await gateway.get(path, post('gzip', gzipSync(zeros)))
    assert.equal(bomb.status, 413, path)
    const wrong = await gateway.get(path, post('gzip', Buffer.from(text)))
    assert.equal(wrong.status, 400, path)
  }
})

test('a compressed body of a relayed call is decoded, and refused beyond the limit for bodies', async (t) => {
  const provider = await startProvider(t, replyWith({ id: 'm' }))
  const gateway = await testGateway(t, {
    providers: {},
    server: LIMIT,
    env: { KEY: 'sk-a' },
    config: `  one: { dialect: openai, base_url: "${provider.origin}/v1", key: $KEY }\npassthrough: [moderations]`,
  })
  const path = '/v1/moderations'
  for (const input of ['hi', 'x'.repeat(300_000)]) {
    const text = JSON.stringify({ input })
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(text)],
      ['br, zstd', zstdCompressSync(brotliCompressSync(text))],
    ] as const) {
      const got = await gateway.get(path, post(encoding, bytes))
      assert.equal(got.status, 200, got.text)
      const { headers, body: arrived } = provider.arrived.at(-1)!
      assert.equal(arrived.toString(), text)
      assert.equal(headers['content-encoding'], undefined)
    }
  }
  assert.equal((await gateway.get(path, post('gzip', gzipSync(zeros)))).status, 413)
  assert.equal((await gateway.get(path, post('gzip', Buffer.from('{}')))).status, 400)
  assert.equal((await gateway.get(path, post('lzma', Buffer.from('{}')))).status, 415)
})

test('once its body is decoded, a call holds as much memory as one whose body was not compressed', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  t.after(() => resolve())
  const { get, received } = await testGateway(t, {
    providers: { alpha: (response, request) => void promise.then(() => answer()(response, request)) },
  })
  const held: number[] = []
  for (const [encoding, bytes] of [['', body] as const, ['br', brotliCompressSync(body)] as const]) {
    const before = [MEMORY.bytes, received()] as const
    void get('/v1/chat/completions', post(encoding, bytes)).catch(() => {})
    await until('the provider is asked', () => received() > before[1])
    held.push(MEMORY.bytes - before[0])
  }
  assert.equal(held[1], held[0])
})

test('a client that leaves while its body is decoded leaves no memory behind', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: answer() } })
  const { port } = new URL(gateway.url)
  const before = MEMORY.bytes
  const half = gzipSync(randomBytes(300_000)).subarray(0, 200_000)
  for (let n = 0; n < 5; n++) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 300000\r\n\r\n',
    )
    await new Promise((done) => socket.write(half, done))
    await until('memory taken', () => MEMORY.bytes > before)
    socket.destroy()
    await until('no memory taken', () => MEMORY.bytes === before)
  }
})
