// Model names that would change a request's path are refused, for every client and every provider. Names that
// providers really use are accepted.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { misplacement } from '../core/model-in-path.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { callsFor, type SampleCall } from '../dialects/test-samples.ts'
import { testGateway } from './test-gateway.ts'
import { sample } from './test-size.ts'

const MISPLACED = [
  'gemini-2.0-flash-lite/../gemini-2.5-pro',
  '../../../admin/keys',
  '..',
  '.',
  './m',
  'm/.',
  'm/..',
  '/m',
  'm/',
  'm//n',
  '...',
  '.. /m',
  'm/ /n',
  'm/..;/n',
  'm/..;a=b/n',
  'm/;/n',
  'm%2e%2e',
  'm/%2e%2E/n',
  'm/.%2e/n',
  'm%2F..%2fn',
  'm%252e%252e/n',
  'm%5c..',
  'm\\..\\n',
  'm/%u002e%u002e/n',
  'm/\uff0e\uff0e/n',
  'm/\u2025/n',
  'm\uff0f..\uff0fn',
  'm/.\u200b./n',
  'm/\u200b../n',
  'm?x=1',
  'm\u0000',
  'm\tn',
  'm\r\nx-evil: 1',
  'm\u007f',
  'm\u0085',
  'm\ud800',
  'm:generateContent',
  'm:streamGenerateContent',
  'm:countTokens',
  'm:rawPredict',
]

const REAL = [
  'gemini-2.0-flash-lite-001',
  'models/gemini-2.5-pro',
  'meta-llama/llama-3.1-8b:free',
  'accounts/fireworks/models/llama-v3p1-8b-instruct',
  '@cf/meta/llama-3.1-8b-instruct',
  'anthropic.claude-sonnet-4-20250514-v1:0',
  'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-20250514-v1:0',
  'ft:gpt-4o-mini-2024-07-18:contentful::AbC123',
  'hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
  'qwen2.5-7b@q4_k_m',
  'v1.2..3',
  '..hidden',
  '.m',
  'claude-opus-4-5[1m]',
  'ünï 100% \u{1f600}',
  '"quotes"; x=1',
]

test('a deployment appended to a model’s name with "#" is accepted', () => {
  const model = 'accounts/fireworks/models/m#accounts/me/deployments/d'
  assert.equal(misplacement(model), null)
  const { pathname, hash } = new URL(
    `http://p/v1/models/${model.split('/').map(encodeURIComponent).join('/')}`,
  )
  assert.deepEqual([decodeURIComponent(pathname), hash], [`/v1/models/${model}`, ''])
})

test('every name that would change the path of a URL counts as misplaced, but names that providers use are accepted', () => {
  for (const model of MISPLACED) assert.notEqual(misplacement(model), null, JSON.stringify(model))
  for (const model of REAL) {
    assert.equal(misplacement(model), null, model)
    const raw = new URL(`http://p/v1/models/${model}`).pathname
    const once = new URL(`http://p/v1/models/${model.split('/').map(encodeURIComponent).join('/')}`).pathname
    for (const path of [raw, once]) {
      assert.match(path, /^\/v1\/models\/./)
      assert.equal(path.split('/').length, `/v1/models/${model}`.split('/').length)
    }
  }
})

const KEY = 'wb_the-key-of-the-test'
const digest = createHash('sha256').update(KEY).digest('hex')
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
test('a misplaced name is refused with 400 in every dialect, without an inference or a record (ROUTE-04)', async (t) => {
  const names = Object.keys(DIALECTS)
  const crossing = Object.entries<Dialect>(DIALECTS).flatMap(([name, { blocks }]) => (blocks ? [name] : []))
  const { url, get, received } = await testGateway(t, {
    providers: Object.fromEntries(names.map((name) => [name, answer()])),
    dialects: Object.fromEntries(names.map((name) => [name, [name]])),
    config: `routes: { auto: { targets: [ { model: chat/m } ] } }
defaults: { ${crossing.map((name) => `${name}: auto`).join(', ')} }
keys: [ { name: k, role: admin, digest: "sha256:${digest}" } ]`,
  })
  const headers = { authorization: `Bearer ${KEY}` }
  const asked = MISPLACED.flatMap((model, n) => {
    const id = `${names[n % names.length]}/${model}`
    return spellings(id).map((call) => ({ id, ...call }))
  })
  for (const { id, path, query, body } of sample(asked, 3)) {
    const { status, text } = await post(url, `${path}?${query}`, body, headers)
    const said = `${path} ${JSON.stringify(id)}: ${text}`
    assert.equal(status, 400, said)
    assert.match(text, /is not the name of a model/, said)
  }
  assert.equal(received(), 0)
  const { json } = await get('/api/usage/request-logs', { headers })
  assert.deepEqual(json.data, [])
  const resolve = await get('/api/cloud/model/resolve?model=gemini%2Fm%2F..%2Fn', { headers })
  assert.equal(resolve.status, 400)
  const line = await get('/api/statusline?model=gemini%2Fm%2F..%2Fn', { headers })
  assert.deepEqual([line.status, line.text.includes('does not know this model')], [200, true])
})

/**
 * Requests for a model in every dialect. In a path, the name is encoded, and also unencoded where a path
 * allows it.
 */
function spellings(id: string): SampleCall[] {
  const encoded = id.isWellFormed()
    ? callsFor(() => id)
    : callsFor(
        () => id,
        () => '',
      ).filter(({ hasModelInPath }) => !hasModelInPath)
  const isPlain = /^[\w./;:-]+$/.test(id)
  const raw = isPlain
    ? callsFor(
        () => id,
        (id) => id,
      ).filter(({ hasModelInPath }) => hasModelInPath)
    : []
  return [...encoded, ...raw]
}

test('names that providers use arrive unchanged, in a path and in a body (ROUTE-04, GEM-02)', async (t) => {
  const said = { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }] }
  const { url, upstream } = await testGateway(t, {
    providers: {
      alpha: answer(),
      google: (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said)),
    },
    dialects: { google: ['gemini'] },
  })
  const last = (provider: string) => upstream[provider]!.ledger.at(-1)!
  for (const model of REAL) {
    const body = { model: `google/${model}`, messages: [{ role: 'user', content: 'x' }] }
    const crossed = await post(url, '/v1/chat/completions', JSON.stringify(body))
    assert.equal(crossed.status, 200, `${model}: ${crossed.text}`)
    assert.equal(decodeURIComponent(last('google').path), `/v1/models/${model}:generateContent`)
    const path = `/v1beta/models/${encodeURIComponent(`google/${model}`)}:generateContent`
    const asked = await post(url, path, JSON.stringify(CONTENTS))
    assert.equal(asked.status, 200, `${model}: ${asked.text}`)
    assert.equal(decodeURIComponent(last('google').path), `/v1/models/${model}:generateContent`)
    const named = await post(
      url,
      '/v1/chat/completions',
      JSON.stringify({ ...body, model: `alpha/${model}` }),
    )
    assert.deepEqual([named.status, last('alpha').json.model], [200, model])
  }
})

test('a configuration with a misplaced model name is refused, wherever the name appears (ROUTE-04)', () => {
  for (const model of MISPLACED.filter((model) => !/[\p{Cc}\p{Cs}]/u.test(model))) {
    const id = JSON.stringify(`alpha/${model}`)
    for (const text of [
      `routes: { auto: { targets: [ { model: ${id} } ] } }`,
      `models: { ${id}: { tools: false } }`,
    ])
      assert.throws(
        () =>
          parseConfig(
            `providers: { alpha: { dialect: openai, base_url: "http://127.0.0.1:1" } }\n${text}`,
            'f',
            {
              env: {},
            },
          ),
        /is not the name of a model/,
        text,
      )
  }
})

/** Sends a POST without normalizing its path, unlike `fetch`. */
function post(
  url: string,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const { hostname, port, host } = new URL(url)
  const lines = Object.entries({
    host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...headers,
  })
  return new Promise((resolve, reject) => {
    let text = ''
    connect(Number(port), hostname)
      .on('error', reject)
      .on('data', (bytes) => {
        text += bytes
      })
      .on('close', () => resolve({ status: Number(text.slice(9, 12)), text }))
      .write(
        `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
      )
  })
}
