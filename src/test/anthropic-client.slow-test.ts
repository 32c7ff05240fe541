// The official Anthropic client calls a gateway whose provider is the mock. The client must not notice a
// difference from the real API.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'

const KEY = 'wb-key-of-the-test'
const data = mkdtempSync(join(tmpdir(), 'waybill-'))
let mock: MockProviders
let gateway: Gateway
let client: Anthropic

before(async () => {
  mock = await createMockProviders()
  const digest = createHash('sha256').update(KEY).digest('hex')
  const config = `
server: { port: 0 }
data: ${data}
providers: { anthropic: { dialect: anthropic, base_url: "${mock.baseUrl('anthropic')}", key: $KEY } }
models: { anthropic/claude-sonnet-5: { price: { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 } } }
routes: { auto: { targets: [ { model: anthropic/claude-sonnet-5 } ] } }
defaults: { messages: auto }
resilience: { cooldown: 0s, idle: 2s }
keys: [ { name: test, role: admin, digest: "sha256:${digest}" } ]`
  const env = { KEY: mock.key('anthropic') }
  gateway = await createGateway(parseConfig(config, 'w.yaml', { env }))
  client = new Anthropic({ baseURL: gateway.url, apiKey: KEY, maxRetries: 0 })
})
after(async () => {
  await gateway.close(100)
  await mock.close()
  rmSync(data, { recursive: true })
})
beforeEach(() => mock.clear())

const messages = [{ role: 'user' as const, content: 'where to?' }]
const asked = { model: 'auto', max_tokens: 256, messages }
const tools = [
  {
    name: 'get_weather',
    input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
  },
]

/** Returns the newest record, once it is closed. */
async function newestRecord(): Promise<any> {
  for (;;) {
    const response = await fetch(`${gateway.url}/api/usage/request-logs?limit=1`, {
      headers: { 'x-api-key': KEY },
    })
    const {
      data: [record],
    }: any = await response.json()
    if (record?.completed_at) return record
    await sleep(10)
  }
}

test('messages.create receives the answer, its usage is on record, and the provider accepts one valid inference', async () => {
  const message = await client.messages.create(asked)
  assert.deepEqual([message.type, message.stop_reason], ['message', 'end_turn'])
  const [block] = message.content
  assert.ok(block?.type === 'text' && block.text.length > 0)
  const record = await newestRecord()
  const { input_tokens, cache_read_input_tokens: read, output_tokens } = message.usage
  assert.deepEqual(
    [record.endpoint, record.resolved_model, record.tokens.input, record.tokens.output, record.key_name],
    ['/v1/messages', 'claude-sonnet-5', input_tokens + (read ?? 0), output_tokens, 'test'],
  )
  assert.ok(record.cost_usd > 0)
  const [entry, ...more] = mock.entries()
  assert.deepEqual([more.length, entry!.kind, entry!.problems], [0, 'inference', []])
})

test('messages.stream receives events in order, tool calls with whole JSON, and signed thinking (MSG-05)', async () => {
  for (const [model, expected] of [
    ['auto', 'end_turn'],
    ['anthropic/scenario-tools', 'tool_use'],
    ['anthropic/scenario-tools-parallel', 'tool_use'],
    ['anthropic/scenario-reasoning', 'end_turn'],
  ] as const) {
    const names: string[] = []
    const stream = client.messages
      .stream({ ...asked, model, ...(expected === 'tool_use' && { tools }) })
      .on('streamEvent', ({ type }) => names.push(type))
    const final = await stream.finalMessage()
    assert.equal(final.stop_reason, expected, model)
    assert.deepEqual(
      [names[0], ...names.slice(-2)],
      ['message_start', 'message_delta', 'message_stop'],
      model,
    )
    const calls = final.content.filter((block) => block.type === 'tool_use')
    assert.equal(calls.length, model.endsWith('parallel') ? 2 : expected === 'tool_use' ? 1 : 0, model)
    for (const { input } of calls) assert.equal(typeof input, 'object')
    if (model.endsWith('reasoning'))
      assert.ok(final.content.some((block) => block.type === 'thinking' && block.signature.length > 0))
    const record = await newestRecord()
    assert.deepEqual(
      [record.state, record.stream, record.tokens.output],
      ['completed', true, final.usage.output_tokens],
    )
  }
})

test('errors arrive as the client’s own classes, with type and request id', async () => {
  const rows = [
    ['anthropic/scenario-400', Anthropic.BadRequestError, 'invalid_request_error'],
    ['anthropic/scenario-404', Anthropic.NotFoundError, 'not_found_error'],
    ['anthropic/scenario-429', Anthropic.RateLimitError, 'rate_limit_error'],
    ['anthropic/scenario-500', Anthropic.InternalServerError, 'api_error'],
    ['anthropic/scenario-529', Anthropic.InternalServerError, 'overloaded_error'],
    ['anthropic/scenario-401', Anthropic.InternalServerError, 'api_error'],
  ] as const
  for (const [model, kind, type] of rows)
    await assert.rejects(client.messages.create({ ...asked, model }), (error: unknown) => {
      assert.ok(error instanceof kind, `${model}: ${error}`)
      assert.ok(error instanceof Anthropic.APIError && error.type === type, `${model}: ${error}`)
      assert.ok(error.requestID, model)
      return true
    })
  const stranger = new Anthropic({ baseURL: gateway.url, apiKey: 'wrong', maxRetries: 0 })
  await assert.rejects(stranger.messages.create(asked), Anthropic.AuthenticationError)
  await assert.rejects(client.messages.create({ model: 'auto' } as never), Anthropic.BadRequestError)
})

test('an error during a stream, or a broken stream, reaches the client as an error, never as a normal end (MSG-14)', async () => {
  for (const scenario of ['error-in-stream', 'cut-after-4', 'cut-in-utf8', 'reset', 'silent-midway']) {
    let events = 0
    const stream = client.messages
      .stream({ ...asked, model: `anthropic/scenario-${scenario}` })
      .on('streamEvent', () => events++)
    await assert.rejects(stream.finalMessage(), Anthropic.AnthropicError, scenario)
    assert.ok(events > 0, `${scenario}: it had begun`)
    const record = await newestRecord()
    assert.deepEqual([record.state, record.status], ['failed', 200], scenario)
  }
})

test('the client reads the whole stream, however its bytes are split, and its usage is recorded', async () => {
  for (const scenario of [
    'per-byte',
    'split-utf8',
    'split-data',
    'crlf',
    'comments',
    'pings',
    'gzip',
    'usage-cached',
    'usage-zero',
    'huge-event',
  ]) {
    const stream = client.messages.stream({ ...asked, model: `anthropic/scenario-${scenario}` })
    const { usage, stop_reason } = await stream.finalMessage()
    assert.equal(stop_reason, 'end_turn', scenario)
    const { state, tokens } = await newestRecord()
    const read = usage.cache_read_input_tokens ?? 0
    assert.deepEqual(
      [state, tokens.input, tokens.cached_input, tokens.output],
      ['completed', usage.input_tokens + read, read, usage.output_tokens],
      scenario,
    )
    if (scenario === 'usage-cached') assert.ok(read > 0)
  }
})

test('a client can abort during a stream, and the call is recorded as aborted', async () => {
  const stream = await client.messages.create({
    ...asked,
    model: 'anthropic/scenario-lasts-3',
    stream: true,
  })
  for await (const _ of stream) break // leaving the loop aborts the request
  const record = await newestRecord()
  assert.deepEqual([record.state, record.error_code], ['aborted', 'client_closed'])
})

test('system turns among the messages, as Claude Code sends them, keep their places in the provider’s request', async () => {
  const turns = [
    ...messages,
    { role: 'system' as const, content: [{ type: 'text' as const, text: 'be brief' }] },
  ]
  const { stop_reason } = await client.messages.create({ ...asked, messages: turns })
  assert.equal(stop_reason, 'end_turn')
  const [entry] = mock.entries()
  assert.deepEqual(entry!.problems, [])
})

test('countTokens is relayed, and the provider counts no inference (CNT-01, CNT-02)', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: 'claude-of-tomorrow', messages, tools })
  assert.ok(input_tokens > 0)
  assert.deepEqual(
    mock.entries().map(({ kind, problems }) => [kind, problems]),
    [['token_count', []]],
  )
})

test('models.list and models.retrieve return the models', async () => {
  const ids = []
  for await (const { id } of client.models.list()) ids.push(id)
  assert.deepEqual(ids, ['auto', 'anthropic/claude-sonnet-5'])
  assert.equal((await client.models.retrieve('auto')).type, 'model')
  await assert.rejects(client.models.retrieve('nothing'), Anthropic.NotFoundError)
})
