// Our own gateway in front of the mock. Its forwarded requests are valid, and its record matches the ledger.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import OpenAI from 'openai'
import { writeNonce } from '../../mocks/ledger.ts'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { until } from './test-until.ts'

const NONCE = '00c0ffee00c0ffee'

async function gatewayBefore(
  t: TestContext,
): Promise<{ gateway: Gateway; mock: MockProviders; client: OpenAI }> {
  const mock = await createMockProviders()
  const config = [
    'server: { port: 0 }',
    `data: ${temporaryDirectory(t)}`,
    'providers:',
    ...['openai', 'groq'].map(
      (name) => `  ${name}: { dialect: openai, base_url: "${mock.baseUrl(name)}", key: $${name} }`,
    ),
    'routes: { auto: { targets: [ { model: openai/gpt-5-mini, tier: balanced }, { model: groq/llama, tier: cheap } ] } }',
  ].join('\n')
  const env = { openai: mock.key('openai'), groq: mock.key('groq') }
  const gateway = await createGateway(parseConfig(config, 'test.yaml', { env }))
  t.after(async () => {
    await gateway.close(100)
    await mock.close()
  })
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 })
  return { gateway, mock, client }
}

const messages = [{ role: 'user' as const, content: `Hello. ${writeNonce(NONCE)}` }]

/** Returns the closed record of the only call. */
async function record(gateway: Gateway): Promise<any> {
  const id = await until('the record is closed', async () => {
    const { data } = (await (await fetch(`${gateway.url}/api/usage/request-logs`)).json()) as any
    return data[0]?.completed_at && data[0].id
  })
  return (await fetch(`${gateway.url}/api/usage/request-logs/${id}`)).json()
}

test('a fallback is two inferences in the ledger and two attempts on record (ROUTE-05, LOG-07)', async (t) => {
  const { gateway, mock, client } = await gatewayBefore(t)
  mock.script(NONCE, [{ provider: 'openai', scenario: '503' }, { scenario: 'tools-parallel' }])
  const stream = await client.chat.completions.create({ model: 'auto', messages, stream: true })
  const calls = new Map<number, string>()
  for await (const { choices } of stream)
    for (const { index, function: called } of choices[0]?.delta.tool_calls ?? [])
      calls.set(index, (calls.get(index) ?? '') + (called?.arguments ?? ''))
  assert.equal(calls.size, 3)
  await mock.settled()

  const entries = mock.entries()
  const { attempt_log } = await record(gateway)
  assert.deepEqual(
    entries.map(({ provider, model, kind }) => [provider, model, kind]),
    [
      ['openai', 'gpt-5-mini', 'inference'],
      ['groq', 'llama', 'inference'],
    ],
  )
  assert.deepEqual(
    attempt_log.map(({ provider, model }: any) => [provider, model]),
    entries.map(({ provider, model }) => [provider, model]),
  )
  for (const { problems, credential } of entries) assert.deepEqual([problems, credential], [[], 'match'])
})

test('reads cause no requests to the mock (PURE-01, PURE-03)', async (t) => {
  const { gateway, mock } = await gatewayBefore(t)
  for (const path of [
    '/v1/models',
    '/api/usage/request-logs',
    '/api/cloud/model/resolve?model=auto',
    '/readyz',
  ])
    assert.equal((await fetch(gateway.url + path)).status, 200, path)
  assert.deepEqual([mock.entries(), mock.connections], [[], 0])
})

test('when the client leaves, the gateway closes its connection to the mock (FLOW-05)', async (t) => {
  const { mock, client } = await gatewayBefore(t)
  mock.script(NONCE, [{ scenario: 'silent-midway' }])
  const stream = await client.chat.completions.create({ model: 'auto', messages, stream: true })
  for await (const _ of stream) break
  await mock.settled()
  const [entry] = mock.entries()
  assert.ok(entry!.peer_left_at)
  assert.equal(entry!.answer.complete, false)
})

test('the gateway survives every scenario of the mock (FAIL-06)', async (t) => {
  const { mock, client } = await gatewayBefore(t)
  for (const scenario of [
    'garbage',
    'reset-at-once',
    'cut-in-utf8',
    'html',
    'gzip',
    'error-in-stream',
    'split-utf8',
  ]) {
    mock.script(NONCE, [{ scenario }])
    const asked = client.chat.completions.create({ model: 'openai/gpt-5-mini', messages, stream: true })
    await asked
      .then(async (stream) => {
        for await (const _ of stream);
      })
      .catch(() => {})
  }
  mock.clear()
  const { choices } = await client.chat.completions.create({ model: 'auto', messages })
  assert.match(choices[0]!.message.content!, /recorded/i)
})
