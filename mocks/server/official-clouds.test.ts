// Tests the mocks of Bedrock and Vertex AI. The official `openai` client signs requests to Bedrock, a gateway
// uses both, and each kind of wrong signature is refused in AWS's way.
import assert from 'node:assert/strict'
import test from 'node:test'
import OpenAI from 'openai'
import { bedrock } from 'openai/providers/bedrock/aws'
import { setEnvironment, useAccount } from '../../src/credentials/test-aws.ts'
import { testGateway } from '../../src/test/test-gateway.ts'
import { signatureProblem } from '../dialects/aws.ts'
import { createMockProviders } from './create.ts'

const mock = await createMockProviders()
test.after(() => mock.close())
const account = { accessKeyId: 'AKIAMOCK', secretAccessKey: mock.key('bedrock') }
const base = mock.baseUrl('bedrock').replace('/anthropic/v1', '')

const client = (given = account) =>
  new OpenAI({
    provider: bedrock({ endpoint: 'runtime', region: 'us-east-1', baseURL: `${base}/openai/v1`, ...given }),
    maxRetries: 0,
  })
const ask = { model: 'openai.gpt-oss-120b-1:0', messages: [{ role: 'user' as const, content: 'Where to?' }] }

test("OpenAI's official client signs a request that the mock verifies, and reads the answer", async () => {
  const { choices } = await client().chat.completions.create(ask)
  assert.ok(choices[0]!.message.content!.length > 0)
  const streamed = await client().chat.completions.stream(ask).finalChatCompletion()
  assert.ok(streamed.choices[0]!.message.content!.length > 0)
  const [entry] = mock.entries().slice(-1)
  assert.equal(entry!.credential, 'match')
  assert.equal(entry!.headers.authorization, '***')
})

test('a wrong secret and an unknown key are refused, and the ledger contains no keys', async () => {
  const wrong = client({ ...account, secretAccessKey: 'another-secret-0123456789' })
  await assert.rejects(wrong.chat.completions.create(ask), { status: 403 })
  const unknown = client({ ...account, accessKeyId: 'AKIANOBODY' })
  await assert.rejects(unknown.chat.completions.create(ask), { status: 403 })
  assert.ok(!JSON.stringify(mock.entries()).includes(account.secretAccessKey))
})

test('a gateway reaches Claude at both cloud mocks with whole, streamed, tool and token-count calls', async (t) => {
  useAccount(t, account)
  const { get } = await testGateway(t, {
    env: { VERTEX_TOKEN: mock.key('vertex') },
    config: `  aws: { dialect: messages, platform: bedrock, base_url: "${base}", auth: aws, aws: { region: us-east-1 } }
  vertex: { dialect: messages, platform: vertex, base_url: "${mock.baseUrl('vertex')}/projects/p/locations/l/publishers/anthropic", key: $VERTEX_TOKEN }
`,
  })
  const messages = [{ role: 'user', content: 'What is the weather?' }]
  const tools = [
    { name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
  ]
  const send = async (model: string, more: object = {}, path = '/v1/messages') => {
    const { status, text } = await get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model, max_tokens: 99, messages, ...more }),
    })
    assert.equal(status, 200, `${model}: ${text}`)
    return text
  }
  for (const model of ['aws/anthropic.claude-haiku-4-5-20251001-v1:0', 'vertex/claude-haiku-4-5@20251001']) {
    assert.match(await send(model), /"stop_reason":"end_turn"/)
    assert.match(await send(model, { stream: true }), /event: message_stop/)
    assert.match(await send(model, { tools }), /"tool_use"/)
    assert.match(await send(model, { tools, stream: true }), /input_json_delta/)
    assert.match(await send(model, {}, '/v1/messages/count_tokens'), /"input_tokens"/)
  }
})

const NOW = Date.parse('2026-11-25T12:00:00Z')
const REQUEST = {
  ...{ method: 'POST', rawPath: '/model/a%3A0/invoke', query: new URLSearchParams(), text: '{}' },
}

/** Signs a request with the client's own signer, for a given time. */
async function signed(t: test.TestContext, given: { region?: string; path?: string } = {}) {
  const { awsCredentials } = await import('../../src/credentials/aws.ts')
  useAccount(t, account, { AWS_SESSION_TOKEN: 'session-token-0123456789' })
  const origin = 'https://bedrock-runtime.us-east-1.amazonaws.com'
  const options = { provider: 'p', origin, region: given.region ?? 'us-east-1', learn() {}, now: () => NOW }
  const credential = await awsCredentials(options).take({ caller: null, session: null, tried: new Set() })
  const { headers } = await credential.complete!(
    { path: REQUEST.rawPath, headers: ['content-type', 'application/json'], body: REQUEST.text },
    'POST',
  )
  const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]!]] : []))
  return {
    ...Object.fromEntries(pairs),
    host: 'bedrock-runtime.us-east-1.amazonaws.com',
    'content-type': 'application/json',
  } as Record<string, string>
}

const temporary = { ...account, sessionToken: 'session-token-0123456789' }
const rules = { accounts: [temporary], region: 'us-east-1', services: ['bedrock'], now: NOW }

for (const [what, change, type] of [
  ['as it was signed', () => ({}), null],
  ['with another body', () => ({ request: { text: '{"a":1}' } }), 'InvalidSignatureException'],
  ['with another path', () => ({ request: { rawPath: '/model/b%3A0/invoke' } }), 'InvalidSignatureException'],
  ['with a decoded path', () => ({ request: { rawPath: '/model/a:0/invoke' } }), 'InvalidSignatureException'],
  [
    'with an additional query',
    () => ({ request: { query: new URLSearchParams('x=1') } }),
    'InvalidSignatureException',
  ],
  ['with another host', () => ({ headers: { host: 'evil.example' } }), 'InvalidSignatureException'],
  [
    'with another session’s token',
    () => ({ headers: { 'x-amz-security-token': 'other' } }),
    'UnrecognizedClientException',
  ],
  [
    'with an AWS header that is not signed',
    () => ({ headers: { 'x-amz-extra': '1' } }),
    'InvalidSignatureException',
  ],
  [
    'that arrives six minutes later',
    () => ({ rules: { now: NOW + 6 * 60_000 } }),
    'InvalidSignatureException',
  ],
  [
    'that arrives six minutes earlier',
    () => ({ rules: { now: NOW - 6 * 60_000 } }),
    'InvalidSignatureException',
  ],
  ['that arrives four minutes later', () => ({ rules: { now: NOW + 4 * 60_000 } }), null],
  ['for another region', () => ({ rules: { region: 'eu-west-1' } }), 'InvalidSignatureException'],
  ['for another service', () => ({ rules: { services: ['bedrock-mantle'] } }), 'InvalidSignatureException'],
  [
    'that arrives after the end of the session',
    () => ({ rules: { accounts: [{ ...temporary, expiresAt: NOW }] } }),
    'ExpiredTokenException',
  ],
  [
    'without permission',
    () => ({ rules: { accounts: [{ ...temporary, isDenied: true }] } }),
    'AccessDeniedException',
  ],
  [
    'with a truncated signature',
    () => ({ headers: { authorization: 'AWS4-HMAC-SHA256 Credential=AKIAMOCK' } }),
    'IncompleteSignatureException',
  ],
] as const)
  test(`a signed request ${what} is ${type === null ? 'accepted' : `refused as ${type}`}`, async (t) => {
    setEnvironment(t, {})
    const headers = await signed(t)
    const made: { request?: object; headers?: object; rules?: object } = change()
    const problem = signatureProblem(
      { ...REQUEST, ...made.request, headers: { ...headers, ...made.headers } },
      { ...rules, ...made.rules },
    )
    assert.equal(problem?.type ?? null, type, problem?.message)
  })
