// A budget reserves the possible cost of a request. The budget counts every text and every output limit,
// under any field name.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { estimateTokenCount } from 'tokenx'
import type { Script } from '../../mocks/test-upstream.ts'
import { seeded } from '../shared/chance.ts'
import { testGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import { estimateTokens } from './token-estimate.ts'

const LONG = 'what a model reads, in many words, '.repeat(300)
const CODE = 'aB3+/x'.repeat(20_000)
const digest = createHash('sha256').update('key-of-ann').digest('hex')
const CONFIG = `models: { alpha/m: { price: { input: 100, output: 100 } } }
routes: { auto: { targets: [ { model: alpha/m } ] } }
keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 1000 } } ]`

/** Names of members that contain images, files or signatures in some dialect. */
const NAMES =
  'file source image_url input_audio inlineData inline_data fileData file_data signature data id call_id file_id encrypted_content cache_control thoughtSignature'.split(
    ' ',
  )
const schema = (name: string) => ({
  type: 'object',
  properties: { [name]: { type: 'string', description: LONG } },
})
const used = (name: string) => ({ [name]: { note: [LONG] } })
const say = (content: unknown) => [{ role: 'user', content }]

/** Requests by dialect, with a long text in a member of the given name, in a tool and in the messages. */
const REQUESTS: Readonly<Record<string, (name: string) => object[]>> = {
  chat: (name) => [
    {
      model: 'auto',
      messages: [],
      tools: [{ type: 'function', function: { name: 'f', parameters: schema(name) } }],
    },
    {
      model: 'auto',
      messages: [],
      response_format: { type: 'json_schema', json_schema: { schema: schema(name) } },
    },
    { model: 'auto', messages: say([{ type: 'text', text: 'x', ...used(name) }]) },
  ],
  messages: (name) => [
    { model: 'auto', max_tokens: 1, messages: [], tools: [{ name: 'f', input_schema: schema(name) }] },
    {
      model: 'auto',
      max_tokens: 1,
      messages: say([{ type: 'tool_use', id: 'i', name: 'f', input: used(name) }]),
    },
  ],
  responses: (name) => [
    { model: 'auto', input: 'x', tools: [{ type: 'function', name: 'f', parameters: schema(name) }] },
    { model: 'auto', input: say([{ type: 'input_text', text: 'x', ...used(name) }]) },
    { model: 'auto', input: 'x', text: { format: { type: 'json_schema', schema: schema(name) } } },
  ],
  gemini: (name) => [
    { contents: [], tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: schema(name) }] }] },
    { contents: [{ parts: [{ functionCall: { name: 'f', args: used(name) } }] }] },
    { contents: [], generation_config: { response_json_schema: schema(name) } },
    { contents: [], systemInstruction: {}, system_instruction: { parts: [{ text: LONG }] } },
  ],
}
const PATHS: Readonly<Record<string, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: '/v1beta/models/auto:generateContent',
}

/**
 * Starts a gateway and returns the amount reserved for a call while the provider is being called, in dollars.
 */
async function reservedBy(t: Parameters<typeof testGateway>[0], dialect: string) {
  const headers = { authorization: 'Bearer key-of-ann', 'content-type': 'application/json' }
  let reserved = Number.NaN
  const now = async () => (await gateway.get('/api/keys/me', { headers })).json.reserved_usd
  const script: Script = async (response) => {
    reserved = await now()
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
  }
  const gateway = await testGateway(t, {
    providers: { alpha: script },
    dialects: { alpha: [dialect] },
    config: CONFIG,
  })
  return async (body: object): Promise<number> => {
    reserved = Number.NaN
    await gateway.get(PATHS[dialect]!, { method: 'POST', headers, body: JSON.stringify(body) })
    await until('nothing is reserved', async () => (await now()) === 0)
    return reserved
  }
}

for (const [dialect, requests] of Object.entries(REQUESTS))
  test(`${dialect}: a long text is counted whatever the name of its member`, async (t) => {
    const reserved = await reservedBy(t, dialect)
    const without = (request: object) => JSON.parse(JSON.stringify(request).replaceAll(LONG, ''))
    let base = 0
    for (const request of requests('thoughtSignature'))
      base = Math.max(base, await reserved(without(request)))
    const named = NAMES.flatMap((name) => requests(name).map((request) => ({ name, request })))
    for (const { name, request } of sample(named, 2)) {
      const usd = await reserved(request)
      assert.ok(usd > base + 0.15, `${name}: $${usd} for ${JSON.stringify(without(request))}`)
    }
  })

test('base64 data inside messages does not count as text', async (t) => {
  for (const [dialect, body] of Object.entries({
    chat: {
      model: 'auto',
      messages: say([
        { type: 'image_url', image_url: { url: `data:image/png;base64,${CODE}` } },
        { type: 'input_audio', input_audio: { data: CODE, format: 'wav' } },
      ]),
    },
    messages: {
      model: 'auto',
      max_tokens: 1,
      messages: say([
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: CODE } },
        { type: 'thinking', thinking: '', signature: CODE },
        { type: 'redacted_thinking', data: CODE },
      ]),
    },
    responses: {
      model: 'auto',
      input: [
        ...say([{ type: 'input_image', image_url: `data:image/png;base64,${CODE}` }]),
        { type: 'reasoning', id: 'rs', encrypted_content: CODE },
      ],
    },
    gemini: {
      contents: [
        {
          parts: [
            { inlineData: { mimeType: 'image/png', data: CODE } },
            { text: '', thoughtSignature: CODE },
          ],
        },
      ],
    },
  }))
    assert.ok((await (await reservedBy(t, dialect))(body)) < 5, dialect)
})

const LIMITS: readonly (readonly [dialect: string, more: object])[] = [
  ...[
    'max_tokens',
    'max_completion_tokens',
    'max_output_tokens',
    'max_new_tokens',
    'maxTokens',
    'n_predict',
  ].map((name) => ['chat', { [name]: 50_000 }] as const),
  ['chat', { options: { num_predict: 50_000 } }],
  ['chat', { max_out_tokens: 50_000 }],
  ['chat', { max_length: 50_000 }],
  ['chat', { max_tokens: '50_000' }],
  ['chat', { max_tokens: 49_999.5 }],
  ['chat', { max_tokens: 1, extra_body: { google: { generation_config: { max_output_tokens: 50_000 } } } }],
  ['chat', { max_tokens: 1, extra_body: [{ extra_body: { max_tokens: 50_000 } }] }],
  ['chat', { max_tokens: 1, sampling_params: { max_tokens: 50_000 } }],
  ...['thinking_budget', 'reasoning_budget', 'min_tokens', 'thinkingTokenBudget', 'max_thinking_tokens'].map(
    (name) => ['chat', { max_tokens: 1, [name]: 50_000 }] as const,
  ),
  ['chat', { max_tokens: 1, thinking: { budget_tokens: 50_000 } }],
  ['chat', { max_tokens: 1, reasoning: { max_tokens: 50_000 } }],
  ['chat', { max_tokens: 1, extra_body: { thinking_budget: '50000' } }],
  ['messages', { max_tokens: 1, thinking: { type: 'enabled', budget_tokens: 50_000 } }],
  ['gemini', { generationConfig: { maxOutputTokens: 1, thinkingConfig: { thinkingBudget: 50_000 } } }],
  ['chat', { max_tokens: 5_000, n: 9.5 }],
  ['chat', { max_tokens: 5_000, n: 10 }],
  ['chat', { max_tokens: 5_000, best_of: 10 }],
  ['responses', { max_output_tokens: 50_000 }],
  ...['generationConfig', 'generation_config'].flatMap((settings) =>
    ['maxOutputTokens', 'max_output_tokens'].map(
      (name) => ['gemini', { [settings]: { [name]: 50_000 } }] as const,
    ),
  ),
  ['gemini', { generationConfig: { max_output_tokens: 5_000, candidate_count: 10 } }],
  ['gemini', { generationConfig: { maxOutputTokens: 1 }, generation_config: { maxOutputTokens: 50_000 } }],
  ['gemini', { generationConfig: { maxOutputTokens: 1, max_output_tokens: '50000' } }],
]

test('an output limit is recognized under each of its possible names', async (t) => {
  for (const [dialect, limits] of Map.groupBy(LIMITS, ([dialect]) => dialect)) {
    const reserved = await reservedBy(t, dialect)
    for (const [, more] of limits)
      await t.test(`${dialect}: ${JSON.stringify(more)} requests 50,000 output tokens`, async () => {
        const body = dialect === 'gemini' ? { contents: [] } : { model: 'auto', messages: [], input: '' }
        const usd = await reserved({ ...body, ...more })
        assert.ok(usd >= 5 && usd < 5.1, `$${usd}`)
      })
  }
})

test('an output limit above every number that counts is the largest, not a missing limit', async (t) => {
  const reserved = await reservedBy(t, 'chat')
  for (const limit of ['100000000000000000', '"99999999999999999999"'])
    assert.ok(
      (await reserved(JSON.parse(`{"model":"auto","messages":[],"max_tokens":${limit}}`))) > 1e6,
      limit,
    )
})

/** Pieces of texts that stand for all ways in which tokenx divides a text. */
const PIECES = [
  ...['a', 'Z', '9', '12345678', 'word', 'Internationalization', "don't", '\0', '\x1c', '\x7f'],
  ...[' ', '\t', '\n', '\n\n', '\r\n', '\v', '\u0085', '\u00a0', '\u2028', '\u3000', '\ufeff'],
  ...['.', ',', '--', '_', '|', '(((((((', '…', '→', '’', '、', '。', '！', '・'],
  ...['é', 'ß', 'š', 'я', 'ά', '中', '文', 'カ', '한', 'ｆ', '①', '😀', '👩‍👩‍👧', '\ud800', '\udc00'],
]

test('an estimate is exactly that of tokenx, for odd texts too', () => {
  const random = seeded(1)
  const upTo = (count: number) => Math.floor(random() * count)
  const texts = [
    () => Array.from({ length: upTo(14) }, () => PIECES[upTo(PIECES.length)]).join(''),
    () => String.fromCharCode(...Array.from({ length: upTo(9) }, () => upTo(0x100))),
    () => String.fromCharCode(...Array.from({ length: upTo(9) }, () => upTo(0x10000))),
  ]
  for (let n = 0; n < 30_000; n++) {
    const text = texts[n % texts.length]!()
    assert.equal(estimateTokens(text), estimateTokenCount(text), JSON.stringify(text))
  }
})
