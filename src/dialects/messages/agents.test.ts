// Other requests of a coding agent besides its calls: token counts, model lists, keys, background calls and
// helpful errors.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../../mocks/test-upstream.ts'
import { parseConfig } from '../../config/load.ts'
import { providerKey, type Setup, type TestGateway, testGateway } from '../../test/test-gateway.ts'
import { pause } from '../../test/test-until.ts'
import { samples } from './test-samples.ts'

const AUTO = 'routes: { auto: { targets: [ { model: alpha/m } ] } }'
const COUNT = '/v1/messages/count_tokens'

const start = (t: TestContext, setup: Setup = {}) =>
  testGateway(t, { config: AUTO, dialects: { alpha: ['messages'] }, ...setup })

const post = ({ get }: TestGateway, path: string, body: object, headers: Record<string, string> = {}) =>
  get(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(body),
  })

const asked = (more: object = {}) => ({
  model: 'auto',
  messages: [{ role: 'user', content: 'where to?' }],
  ...more,
})
const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
const whole: Script = (response) => response.end(samples.answer('m', { input_tokens: 1, output_tokens: 1 }))

const records = async ({ get }: TestGateway): Promise<unknown[]> =>
  (await get('/api/usage/request-logs')).json.data

test('a counting request is relayed with model, query and headers, and leaves no record (CNT-01, CNT-02, PURE-01)', async (t) => {
  const gateway = await start(t, { providers: { alpha: json(200, { input_tokens: 14, of_tomorrow: 1.0 }) } })
  const { status, text, headers } = await post(gateway, `${COUNT}?beta=true`, asked(), {
    'anthropic-beta': 'token-counting-2024-11-01',
  })
  assert.deepEqual([status, text], [200, '{"input_tokens":14,"of_tomorrow":1}'])
  assert.deepEqual(
    ['x-gateway-token-count', 'x-gateway-provider', 'x-gateway-model'].map((name) => headers.get(name)),
    ['provider', 'alpha', 'm'],
  )
  const [received] = gateway.upstream.alpha!.ledger
  assert.deepEqual([received!.path, received!.json], [`${COUNT}?beta=true`, asked({ model: 'm' })])
  assert.equal(received!.headers['anthropic-beta'], 'token-counting-2024-11-01')
  assert.equal(received!.headers['x-api-key'], providerKey('alpha'))
  assert.deepEqual(await records(gateway), [])
  assert.match((await gateway.get('/metrics')).text, /^waybill_open_calls 0$/m)
})

test('if no provider can count, all blocks and tools are estimated, and the count is marked as an estimate (CNT-02)', async (t) => {
  const gateway = await start(t, {
    providers: { alpha: whole, beta: answer() },
    dialects: { alpha: ['messages'] },
    config: 'routes: { auto: { targets: [ { model: alpha/m } ] }, chat: { targets: [ { model: beta/m } ] } }',
  })
  const count = async (body: object) => {
    const { status, json, headers } = await post(gateway, COUNT, body)
    assert.deepEqual([status, headers.get('x-gateway-token-count')], [200, 'estimated'])
    return json.input_tokens as number
  }
  const failures: Script[] = [
    json(404, { type: 'error', error: { type: 'not_found_error', message: 'no such path' } }),
    json(500, { type: 'error', error: { type: 'api_error', message: 'down' } }),
    json(529, {}),
    json(401, { type: 'error', error: { type: 'authentication_error', message: 'no' } }),
    json(200, { tokens: 7 }),
    (response) => response.writeHead(400).end('<html>'),
    (response) => response.destroy(),
  ]
  for (const script of failures) {
    gateway.upstream.alpha!.script = script
    assert.ok((await count(asked())) > 0)
  }
  const asksNobody = gateway.received()
  const plain = await count(asked({ model: 'chat' }))
  const words = 'many words of a tool '.repeat(50)
  for (const more of [
    { system: words },
    { tools: [{ name: 'f', description: words, input_schema: {} }] },
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', data: 'A' } }] }] },
    {
      messages: [
        { role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text: words }] }] },
      ],
    },
    { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text', data: words } }] }] },
  ])
    assert.ok(
      (await count(asked({ model: 'chat', ...more }))) > plain + 200,
      JSON.stringify(more).slice(0, 80),
    )
  assert.equal(gateway.received(), asksNobody)
  // Errors of a counting request do not count as failures of the target.
  const { json: resolved } = await gateway.get('/api/cloud/model/resolve?model=auto')
  assert.equal(resolved.candidates[0].state, 'ready')
  assert.deepEqual(await records(gateway), [])
})

test('25 simultaneous counting requests are answered despite an exhausted rate limit and budget, and a refusal has the provider’s message (CNT-03, CNT-04)', async (t) => {
  const digest = createHash('sha256').update('a-key-of-tests').digest('hex')
  const gateway = await start(t, {
    providers: {
      alpha: async (response) => {
        await pause(30)
        json(200, { input_tokens: 7 })(response, undefined as never)
      },
    },
    config: `${AUTO}
keys: [ { name: k, role: admin, digest: "sha256:${digest}", rate: { requests: 1, per: 1h }, budget: { usd: 0.000001 } } ]`,
  })
  const key = { 'x-api-key': 'a-key-of-tests' }
  const answers = await Promise.all(Array.from({ length: 25 }, () => post(gateway, COUNT, asked(), key)))
  for (const { status, json } of answers) assert.deepEqual([status, json], [200, { input_tokens: 7 }])
  const refusal = { type: 'error', error: { type: 'invalid_request_error', message: 'messages: too short' } }
  gateway.upstream.alpha!.script = json(400, refusal)
  const refused = await post(gateway, COUNT, asked(), key)
  assert.deepEqual([refused.status, refused.json], [400, refusal])
  const before = gateway.received()
  for (const [body, status] of [
    [{ model: 'auto' }, 400],
    [asked({ model: 'claude-unknown' }), 404],
  ] as const) {
    const { status: got, json } = await post(gateway, COUNT, body, key)
    assert.deepEqual([got, json.type], [status, 'error'])
  }
  assert.equal((await post(gateway, COUNT, asked())).status, 401)
  assert.equal(gateway.received(), before)
})

test('the model list and its errors have Anthropic’s format for callers that send anthropic-version, and OpenAI’s for all other callers (MSG-22)', async (t) => {
  const gateway = await start(t)
  const headers = { 'anthropic-version': '2023-06-01' }
  const { json } = await gateway.get('/v1/models?limit=1000', { headers })
  assert.deepEqual(Object.keys(json), ['data', 'has_more', 'first_id', 'last_id'])
  assert.deepEqual(json.data[0], {
    type: 'model',
    id: 'auto',
    display_name: 'auto',
    created_at: '1970-01-01T00:00:00.000Z',
    ...{ max_input_tokens: null, max_tokens: null, capabilities: null },
  })
  assert.deepEqual([json.has_more, json.first_id, json.last_id], [false, 'auto', 'alpha/m'])
  assert.equal((await gateway.get('/v1/models/alpha%2Fm', { headers })).json.id, 'alpha/m')
  const unknown = await gateway.get('/v1/models/none', { headers })
  assert.deepEqual(
    [unknown.status, unknown.json.type, unknown.json.error.type],
    [404, 'error', 'not_found_error'],
  )
  assert.equal(unknown.headers.get('request-id'), unknown.json.request_id)
  assert.equal((await gateway.get('/v1/models')).json.object, 'list')
  assert.equal((await gateway.get('/v1/models/none')).json.error.code, 'model_not_found')
})

test('a request may contain the same key twice, but not two different keys', async (t) => {
  const digest = createHash('sha256').update('right').digest('hex')
  const gateway = await start(t, {
    providers: { alpha: whole },
    config: `${AUTO}\nkeys: [ { name: k, digest: "sha256:${digest}" } ]`,
  })
  for (const [headers, status] of [
    [{ authorization: 'Bearer right' }, 200],
    [{ 'x-api-key': 'right' }, 200],
    [{ authorization: 'Bearer right', 'x-api-key': 'right' }, 200],
    [{ authorization: 'Bearer right', 'x-api-key': '' }, 200],
    [{ authorization: 'Bearer right', 'x-api-key': 'wrong' }, 401],
    [{ authorization: 'Bearer wrong', 'x-api-key': 'right' }, 401],
  ] as const) {
    const { status: got, json } = await post(gateway, '/v1/messages', asked(), { ...headers })
    assert.equal(got, status, JSON.stringify(headers))
    if (got === 401) assert.equal(json.error.type, 'authentication_error')
  }
  assert.equal(gateway.received(), 4)
})

test('an unknown id is routed to the default provider of its dialect, or refused with 404 (MSG-23)', async (t) => {
  const gateway = await start(t, {
    providers: { alpha: whole, beta: answer() },
    config: `defaults: { messages: auto }\n${AUTO}`,
  })
  const { status, headers } = await post(
    gateway,
    '/v1/messages',
    asked({ model: 'claude-haiku-of-tomorrow' }),
  )
  assert.equal(status, 200)
  const record = await gateway.record(headers.get('x-gateway-request-id'))
  assert.deepEqual(
    [record.requested_model, record.route, record.resolved_model, record.decision.cause],
    ['claude-haiku-of-tomorrow', 'auto', 'm', 'default of messages'],
  )
  assert.equal((await post(gateway, COUNT, asked({ model: 'claude-haiku' }))).status, 200)
  const chat = await gateway.chat({ model: 'gpt-unknown', messages: [] })
  assert.deepEqual([chat.status, chat.json.error.code], [404, 'model_not_found'])
  assert.throws(
    () =>
      parseConfig(
        `defaults: { messages: atuo }\nproviders: { alpha: { dialect: messages, base_url: "http://127.0.0.1:1" } }\n${AUTO}`,
        'w.yaml',
        { env: {} },
      ),
    /w\.yaml:1:23 defaults\.messages: there is no route "atuo"; did you mean "auto"\?/,
  )
})
