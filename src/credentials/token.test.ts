// `auth: google` and `auth: entra` over real sockets, with the clouds' own libraries: the sources of tokens, their
// recipients, their renewal, and the errors for wrong tokens.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer as chatAnswer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { testGateway } from '../test/test-gateway.ts'
import { EVENTS, MESSAGE, setEnvironment } from './test-aws.ts'
import { FEDERATED_TOKEN, IDENTITY_HEADER, startTokenEndpoint, type TokenEndpoint } from './test-tokens.ts'

const PROJECT = '/v1/projects/acme/locations/europe-west1/publishers'

/** Answers only requests with the newest token, as Google and Azure do. */
function cloud(tokens: TokenEndpoint, answer: Script, refused: object): Script {
  return (response, received) =>
    received.headers.authorization === `Bearer ${tokens.issued.at(-1)}` &&
    received.headers['x-api-key'] === undefined
      ? answer(response, received)
      : response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(refused))
}

const UNAUTHENTICATED = {
  error: { code: 401, message: 'Request had invalid authentication credentials.', status: 'UNAUTHENTICATED' },
}

const claude: Script = (response, { path, json }) => {
  if (json.stream !== true)
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(path.includes('/count-tokens:') ? { input_tokens: 17 } : MESSAGE))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of EVENTS) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}

const gemini: Script = (response) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(
    JSON.stringify({
      candidates: [{ content: { role: 'model', parts: [{ text: 'east' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 1, totalTokenCount: 5 },
      modelVersion: 'gemini-2.5-flash',
    }),
  )

async function start(t: TestContext, tokens: TokenEndpoint, script: Script) {
  const provider = await startMockServer(script)
  t.after(() => provider.close())
  const origin = provider.baseUrl.replace('/v1', '')
  const gateway = await testGateway(t, {
    config: `  claude: { dialect: messages, platform: vertex, base_url: "${origin}${PROJECT}/anthropic", auth: google }
  gemini: { dialect: gemini, base_url: "${origin}${PROJECT}/google", auth: google }
  azure: { dialect: [chat, responses], base_url: "${origin}/openai/v1", auth: entra, entra: { scope: "https://ai.example.org/.default" } }
`,
  })
  const send = (model: string, more: object = {}, path = '/v1/messages') =>
    gateway.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-beta': 'b-1' },
      body: JSON.stringify({
        ...{ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
        ...more,
      }),
    })
  const chat = () => gateway.chat({ model: 'azure/gpt-5.4', messages: [{ role: 'user', content: 'hi' }] })
  return { ...gateway, provider, send, chat, tokens }
}

/** Google's metadata server, as on one of Google's machines. */
async function onGoogle(t: TestContext, answer: Script = claude) {
  const tokens = await startTokenEndpoint(t)
  setEnvironment(t, {
    GCE_METADATA_HOST: tokens.origin.replace('http://', ''),
    METADATA_SERVER_DETECTION: 'assume-present',
    GOOGLE_APPLICATION_CREDENTIALS: undefined,
    HOME: '/nowhere',
    CLOUDSDK_CONFIG: '/nowhere',
  })
  return start(t, tokens, cloud(tokens, answer, UNAUTHENTICATED))
}

test('Claude on Vertex AI: rawPredict, streams and token counts use the machine’s own token', async (t) => {
  const { send, provider, tokens, record } = await onGoogle(t)
  const whole = await send('claude/claude-sonnet-4-5@20250929')
  assert.deepEqual(whole.json, MESSAGE)
  const streamed = await send('claude/claude-sonnet-4-5@20250929', { stream: true })
  assert.match(streamed.text, /event: message_stop/)
  const counted = await send('claude/claude-sonnet-4-5@20250929', {}, '/v1/messages/count_tokens')
  assert.deepEqual(counted.json, { input_tokens: 17 })
  const base = `${PROJECT}/anthropic/models`
  assert.deepEqual(
    provider.ledger.map(({ path }) => path),
    [
      `${base}/claude-sonnet-4-5@20250929:rawPredict`,
      `${base}/claude-sonnet-4-5@20250929:streamRawPredict`,
      `${base}/count-tokens:rawPredict`,
    ],
  )
  const [first, , count] = provider.ledger.map(({ json }) => json)
  assert.deepEqual([first!.model, first!.anthropic_version], [undefined, 'vertex-2023-10-16'])
  assert.equal(count!.model, 'claude-sonnet-4-5@20250929')
  assert.equal(provider.ledger[0]!.headers['anthropic-beta'], 'b-1')
  assert.equal(tokens.requests(), 1)
  const { attempt_log, tokens: used } = await record(whole.headers.get('x-gateway-request-id'))
  assert.equal(attempt_log[0].provider_key, 'google')
  assert.deepEqual([used.input, used.output], [30, 12])
})

test('Gemini on Vertex AI: requests go to the project’s path, with a token', async (t) => {
  const { get, provider } = await onGoogle(t, gemini)
  const { status, text } = await get('/v1beta/models/gemini/gemini-2.5-flash:generateContent', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
  })
  assert.equal(status, 200, text)
  assert.match(text, /east/)
  assert.equal(provider.ledger[0]!.path, `${PROJECT}/google/models/gemini-2.5-flash:generateContent`)
  assert.equal(provider.ledger[0]!.headers['x-goog-api-key'], undefined)
})

test('a federated token in a file is exchanged, and the quota project is sent with it', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-google-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const tokens = await startTokenEndpoint(t)
  const [subject, adc] = [join(directory, 'subject'), join(directory, 'adc.json')]
  writeFileSync(subject, FEDERATED_TOKEN)
  writeFileSync(
    adc,
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${tokens.origin}/v1/token`,
      credential_source: { file: subject },
      quota_project_id: 'acme-billing',
    }),
  )
  setEnvironment(t, { GOOGLE_APPLICATION_CREDENTIALS: adc })
  const { send, provider } = await start(t, tokens, cloud(tokens, claude, UNAUTHENTICATED))
  const sent = await send('claude/c')
  assert.equal(sent.status, 200, sent.text)
  assert.equal(provider.ledger[0]!.headers['x-goog-user-project'], 'acme-billing')
  // A different gateway, and a wrong subject token.
  writeFileSync(subject, 'wrong')
  const other = await start(t, tokens, cloud(tokens, claude, UNAUTHENTICATED))
  const { status, json } = await other.send('claude/c')
  assert.equal(status, 502)
  assert.match(json.error.message, /no token of Google: the login has expired or was revoked/)
  assert.equal(other.provider.ledger.length, 0)
})

test('without application-default credentials, the error names the remedy', async (t) => {
  setEnvironment(t, {
    ...{ GOOGLE_APPLICATION_CREDENTIALS: undefined, HOME: '/nowhere', CLOUDSDK_CONFIG: '/nowhere' },
    METADATA_SERVER_DETECTION: 'none',
  })
  const { send, provider } = await start(t, await startTokenEndpoint(t), claude)
  const { status, json } = await send('claude/c')
  assert.equal(status, 502)
  assert.match(json.error.message, /no application-default credentials; run `gcloud auth/)
  assert.equal(provider.ledger.length, 0)
})

test('a token that is revoked early is replaced and the call retried once; a second refusal is explained', async (t) => {
  const { send, tokens, provider } = await onGoogle(t)
  await send('claude/c')
  tokens.issued.push('revoked: another one is the newest')
  assert.equal((await send('claude/c')).status, 200)
  assert.equal(provider.ledger.length, 3)
  provider.script = cloud({ ...tokens, issued: ['none'] }, claude, UNAUTHENTICATED)
  const { status, json, text } = await send('claude/c')
  assert.equal(status, 502)
  assert.match(json.error.message, /Google refuses the token, also a new one/)
  for (const token of tokens.issued) assert.ok(!text.includes(token))
  assert.equal(provider.ledger.length, 5)
})

test('a hundred calls cause only one request to a slow metadata server, and the record contains no token', async (t) => {
  const { send, tokens, get } = await onGoogle(t)
  tokens.delayMs = 200
  const answers = await Promise.all(Array.from({ length: 100 }, () => send('claude/c')))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(tokens.requests(), 1)
  const { text } = await get('/api/usage/request-logs')
  assert.ok(!text.includes(tokens.issued[0]!))
})

test('a token longer than 16 KiB is refused before it is searched for, and no request is sent', async (t) => {
  const { send, tokens, provider } = await onGoogle(t)
  const body = (length: number) => ({
    access_token: 't'.repeat(length),
    expires_in: 3_599,
    token_type: 'Bearer',
  })
  tokens.fails = { status: 200, body: body(16_385) }
  const { status, json, text } = await send('claude/c')
  assert.equal(status, 502)
  assert.match(json.error.message, /no token of Google/)
  assert.ok(!text.includes('tttttttt'))
  assert.equal(provider.ledger.length, 0)
})

test('Azure with a managed identity: the token has the provider’s scope, and refusals are explained', async (t) => {
  const tokens = await startTokenEndpoint(t)
  setEnvironment(t, {
    IDENTITY_ENDPOINT: `${tokens.origin}/msi/token`,
    IDENTITY_HEADER,
    AZURE_CLIENT_ID: undefined,
    AZURE_CLIENT_SECRET: undefined,
    AZURE_TENANT_ID: undefined,
    AZURE_FEDERATED_TOKEN_FILE: undefined,
  })
  const denied = {
    error: { code: 'PermissionDenied', message: 'The principal `0000` lacks the required data action' },
  }
  const { chat, provider, record } = await start(t, tokens, cloud(tokens, chatAnswer('north'), denied))
  const { status, headers, text } = await chat()
  assert.equal(status, 200, text)
  assert.equal(provider.ledger[0]!.path, '/openai/v1/chat/completions')
  const { attempt_log } = await record(headers.get('x-gateway-request-id'))
  assert.equal(attempt_log[0].provider_key, 'entra')
  provider.script = cloud({ ...tokens, issued: ['none'] }, chatAnswer(), denied)
  const refused = await chat()
  assert.equal(refused.status, 502)
  assert.match(refused.json.error.message, /needs the role Cognitive Services OpenAI User/)
})

test('an identity that Azure does not know causes an error that names the setting', async (t) => {
  const tokens = await startTokenEndpoint(t)
  setEnvironment(t, {
    IDENTITY_ENDPOINT: `${tokens.origin}/msi/token`,
    IDENTITY_HEADER: 'wrong',
    AZURE_CLIENT_ID: undefined,
  })
  const { chat, provider } = await start(t, tokens, chatAnswer())
  const { status, json } = await chat()
  assert.equal(status, 502)
  assert.match(json.error.message, /no token of Microsoft Entra: set AZURE_TENANT_ID/)
  assert.equal(provider.ledger.length, 0)
})
