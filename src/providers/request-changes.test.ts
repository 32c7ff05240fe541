// The setting `request` of a target over real sockets: the provider's requests through this route and through
// other routes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail, type Received } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { ask, providerKey, testGateway } from '../test/test-gateway.ts'

test('a target receives its configured headers and members; the route’s other targets and direct calls do not receive them', async (t) => {
  const { chat, upstream } = await testGateway(t, {
    providers: { alpha: fail(503), beta: answer() },
    config: `routes:
  auto:
    targets:
      - { model: alpha/a, request: { headers: { X-Team: docs, user-agent: own }, set: { reasoning_effort: low, tags: [1, "é"] }, omit: [metadata, absent] } }
      - { model: beta/b }`,
  })
  const body = `{ "model": "auto", "metadata": { "a": [1, "}"] }, "reasoning_effort": "high", "seed": 1.50, "messages": [ { "role": "user", "content": "x" } ] }`
  assert.equal((await chat(body)).status, 200)
  const [first] = upstream.alpha!.ledger as [Received]
  assert.equal(first.headers['x-team'], 'docs')
  assert.equal(first.headers['user-agent'], 'own')
  assert.equal(first.headers.authorization, `Bearer ${providerKey('alpha')}`)
  assert.deepEqual(
    { ...first.json, messages: 0 },
    { model: 'a', messages: 0, reasoning_effort: 'low', tags: [1, 'é'], seed: 1.5 },
  )
  assert.match(first.text, /"seed": 1\.50/)
  const [second] = upstream.beta!.ledger as [Received]
  assert.equal(second.headers['x-team'], undefined)
  assert.equal(second.text, body.replace('"auto"', '"b"'))
  await chat(ask('alpha/a', { metadata: { a: 'b' } }))
  const direct = upstream.alpha!.ledger.at(-1)!
  assert.deepEqual(direct.json.metadata, { a: 'b' })
  assert.equal(direct.headers['x-team'], undefined)
})

test('a target cannot change members that the gateway itself sets', () => {
  const cases: [string, RegExp][] = [
    ['headers: { Authorization: Bearer x }', /is written by the gateway, or holds a credential/],
    ['headers: { X-Amz-Security-Token: x }', /is written by the gateway, or holds a credential/],
    ['headers: { x-gateway-key: x }', /is written by the gateway/],
    ['headers: { "a b": x }', /must be the name of a header/],
    ['headers: { a: "x\\ny" }', /must consist of printable ASCII/],
    ['set: { model: other }', /cannot be changed here: model, stream/],
    ['omit: [stream]', /cannot be changed here: model, stream/],
  ]
  for (const [request, message] of cases)
    assert.throws(
      () =>
        parseConfig(
          `providers: { p: { dialect: chat, base_url: "https://a.example/v1" } }
routes: { r: { targets: [ { model: p/m, request: { ${request} } } ] } }`,
          'w.yaml',
          { env: {} },
        ),
      message,
      request,
    )
})

/**
 * Effort low, at most 4000 tokens. Cases: dialect, facts of the model, the client's request, and the
 * provider's request.
 */
const TUNED: [what: string, dialect: string, accepts: string, asked: object, got: object][] = [
  [
    'chat with facts',
    'chat',
    'efforts: [low, high], chat_limit: max_completion_tokens',
    { reasoning_effort: 'high' },
    { reasoning_effort: 'low', max_completion_tokens: 4_000 },
  ],
  [
    'chat whose client has a lower limit and OpenRouter’s effort',
    'chat',
    '',
    { max_tokens: 100, reasoning: { effort: 'high', exclude: true } },
    { max_tokens: 100, reasoning: { exclude: true }, reasoning_effort: 'low' },
  ],
  [
    'responses',
    'responses',
    'efforts: [medium, high]',
    { max_output_tokens: 9_000, reasoning: { effort: 'high', summary: 'auto' } },
    { max_output_tokens: 4_000, reasoning: { effort: 'medium', summary: 'auto' } },
  ],
  [
    'messages with levels',
    'messages',
    'efforts: [low, high], thinking: [adaptive]',
    { max_tokens: 32_000, thinking: { type: 'adaptive' } },
    { max_tokens: 4_000, thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
  ],
  [
    'messages with a budget, which stays below the limit',
    'messages',
    'thinking: [budget, off]',
    { max_tokens: 32_000, thinking: { type: 'enabled', budget_tokens: 20_000 } },
    { max_tokens: 4_000, thinking: { type: 'enabled', budget_tokens: 2_976 } },
  ],
  [
    'messages without room for a budget',
    'messages',
    'thinking: [budget, off]',
    { max_tokens: 1_500, thinking: { type: 'enabled', budget_tokens: 1_024 } },
    { max_tokens: 1_500 },
  ],
  [
    'Gemini with levels',
    'gemini',
    'thinking: [level], efforts: [low, high]',
    { generationConfig: { topK: 3, thinkingConfig: { thinkingLevel: 'high', includeThoughts: true } } },
    {
      generationConfig: {
        ...{ topK: 3, thinkingConfig: { thinkingLevel: 'low', includeThoughts: true } },
        maxOutputTokens: 4_000,
      },
    },
  ],
  [
    'Gemini with a budget',
    'gemini',
    'thinking: [budget, off], budget: [128, 2048]',
    { generationConfig: { maxOutputTokens: 8_000 } },
    { generationConfig: { maxOutputTokens: 4_000, thinkingConfig: { thinkingBudget: 2_048 } } },
  ],
]

const PATHS: Readonly<Record<string, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  gemini: '/v1beta/models/tuned:generateContent',
}
const SAID: Readonly<Record<string, object>> = {
  chat: { messages: [{ role: 'user', content: 'x' }] },
  responses: { input: 'x' },
  messages: { messages: [{ role: 'user', content: 'x' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
}

for (const [what, dialect, accepts, asked, got] of TUNED)
  test(`the effort and the output limit of a target are written in the model's own form: ${what}`, async (t) => {
    const { get, upstream } = await testGateway(t, {
      providers: { alpha: fail(400) },
      dialects: { alpha: [dialect] },
      config: `models: { alpha/own: { accepts: { ${accepts || 'like: unknown'} } } }
routes: { tuned: { targets: [ { model: alpha/own, request: { effort: low, max_output: 4000 } } ] } }`,
    })
    const model = dialect === 'gemini' ? {} : { model: 'tuned' }
    await get(PATHS[dialect]!, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...model, ...SAID[dialect], ...asked }),
    })
    const {
      model: _,
      messages: __,
      input: ___,
      contents: ____,
      stream: _____,
      ...rest
    } = upstream.alpha!.ledger[0]!.json
    assert.deepEqual(rest, got)
  })

test('the effort and the output limit of a target are also written into a translated request', async (t) => {
  const { chat, upstream } = await testGateway(t, {
    providers: { alpha: fail(400) },
    dialects: { alpha: ['messages'] },
    config: `models: { alpha/own: { accepts: { efforts: [low, high], thinking: [adaptive] } } }
routes: { tuned: { targets: [ { model: alpha/own, request: { effort: low, max_output: 4000 } } ] } }`,
  })
  await chat(ask('tuned', { reasoning_effort: 'high' }))
  const { max_tokens, output_config } = upstream.alpha!.ledger[0]!.json
  assert.deepEqual([max_tokens, output_config], [4_000, { effort: 'low' }])
})
