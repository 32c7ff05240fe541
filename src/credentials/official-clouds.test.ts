// Compares a gateway's requests with those of the official clients of Google and Azure with the same
// identity: the token exchange, and each call. The hosts that issue tokens are intercepted in this process.
import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import { HttpResponse, http, passthrough } from 'msw'
import { setupServer } from 'msw/node'
import OpenAI, { AzureOpenAI } from 'openai'
import { answer, type Received, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { setEnvironment } from './test-aws.ts'

const TOKEN = 'token-of-a-cloud-0123456789'
const PROJECT = '/v1/projects/acme/locations/europe-west1/publishers/google'
const MODEL = 'gemini-3.8-flash'

interface Exchange {
  readonly url: string
  readonly form: Readonly<Record<string, string>>
}

/**
 * Intercepts the hosts that issue tokens. Answers with a token or with this error, and stores each request.
 */
function tokenHosts(t: TestContext, error: object | null = null): Exchange[] {
  const exchanges: Exchange[] = []
  const issuer = 'https://login.microsoftonline.com/tenant-1'
  const issue = async ({ request }: { request: Request }) => {
    const form = Object.fromEntries(new URLSearchParams(await request.text()))
    exchanges.push({ url: request.url.replace(/\?.*/, ''), form })
    if (error) return HttpResponse.json(error, { status: 400 })
    return HttpResponse.json({ access_token: TOKEN, expires_in: 3_599, token_type: 'Bearer' })
  }
  const server = setupServer(
    http.all('http://127.0.0.1:*', () => passthrough()),
    http.post('https://oauth2.googleapis.com/token', issue),
    http.post('https://sts.googleapis.com/v1/token', issue),
    http.post(`${issuer}/oauth2/v2.0/token`, issue),
    http.get('https://login.microsoftonline.com/common/discovery/instance', () =>
      HttpResponse.json({ tenant_discovery_endpoint: '', 'api-version': '1.1', metadata: [] }),
    ),
    http.get(`${issuer}/v2.0/.well-known/openid-configuration`, () =>
      HttpResponse.json({
        ...{ issuer: `${issuer}/v2.0`, jwks_uri: `${issuer}/keys` },
        ...{ authorization_endpoint: `${issuer}/a`, token_endpoint: `${issuer}/oauth2/v2.0/token` },
      }),
    ),
  )
  server.listen({ onUnhandledFrame: 'error' })
  t.after(() => server.close())
  return exchanges
}

const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString())

/**
 * Removes the parts that differ between any two exchanges: times and ids. An assertion's times become its
 * lifetime.
 */
function comparable({ url, form }: Exchange): Exchange {
  const { assertion, ...rest } = form
  if (assertion === undefined) return { url, form }
  const { iat, exp, ...claims } = claimsOf(assertion)
  return { url, form: { ...rest, claims: JSON.stringify({ ...claims, life: exp - iat }) } }
}

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })

const IDENTITIES: Readonly<Record<string, (directory: string) => object>> = {
  'a service account': () => ({
    ...{ type: 'service_account', project_id: 'acme', private_key_id: 'key-1', client_id: '1' },
    client_email: 'gateway@acme.iam.gserviceaccount.com',
    private_key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }),
  'a login of gcloud': () => ({
    ...{ type: 'authorized_user', client_id: 'client-1', client_secret: 'secret-of-gcloud' },
    ...{ refresh_token: 'refresh-token-0123456789', quota_project_id: 'acme-billing' },
  }),
  'a federated identity': (directory) => {
    writeFileSync(join(directory, 'subject'), 'subject-token-0123456789')
    return {
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: 'https://sts.googleapis.com/v1/token',
      credential_source: { file: join(directory, 'subject') },
      quota_project_id: 'acme-billing',
    }
  },
}

const gemini: Script = (response, { path }) => {
  const json = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'east' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 1, totalTokenCount: 5 },
  }
  if (path.includes(':streamGenerateContent'))
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(json)}\n\n`)
  else
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(path.includes(':countTokens') ? { totalTokens: 4 } : json))
}

/** Makes the same calls with a Google client. */
async function callGoogle(client: GoogleGenAI, model: string): Promise<void> {
  const tools = [
    { functionDeclarations: [{ name: 'weather', parametersJsonSchema: { type: 'object', properties: {} } }] },
  ]
  const contents = [{ role: 'user', parts: [{ text: 'Where to?' }] }]
  const config = { temperature: 0.5, systemInstruction: 'Be brief.', maxOutputTokens: 50, tools }
  assert.equal((await client.models.generateContent({ model, contents, config })).text, 'east')
  let streamed = ''
  for await (const part of await client.models.generateContentStream({ model, contents }))
    streamed += part.text
  assert.equal(streamed, 'east')
  assert.equal((await client.models.countTokens({ model, contents })).totalTokens, 4)
}

/** Returns the parts of a request that a cloud checks. */
const judged = ({ path, headers, json }: Received) => ({
  path,
  authorization: headers.authorization,
  quota: headers['x-goog-user-project'],
  keys: [headers['x-api-key'], headers['api-key'], headers['x-goog-api-key']],
  type: headers['content-type'],
  body: json,
})

for (const [what, identity] of Object.entries(IDENTITIES))
  test(`with ${what} for Vertex AI, the exchange and the calls are the same as those from Google’s own client (KEEP-09)`, async (t) => {
    const directory = temporaryDirectory(t)
    const file = join(directory, 'adc.json')
    writeFileSync(file, JSON.stringify(identity(directory)))
    setEnvironment(t, { GOOGLE_APPLICATION_CREDENTIALS: file, GOOGLE_CLOUD_QUOTA_PROJECT: undefined })
    const exchanges = tokenHosts(t)
    const provider = await startMockServer(gemini)
    t.after(() => provider.close())
    const origin = provider.baseUrl.replace('/v1', '')
    const gateway = await testGateway(t, {
      config: `  vertex: { dialect: gemini, base_url: "${origin}${PROJECT}", auth: google }\nroutes: { auto: { targets: [ { model: vertex/${MODEL} } ] } }`,
    })
    const theirs = new GoogleGenAI({
      ...{ vertexai: true, project: 'acme', location: 'europe-west1', apiVersion: 'v1' },
      httpOptions: { baseUrl: origin },
      // Without this option, the client requests the project from Google before its first call.
      googleAuthOptions: { projectId: 'acme' },
    })
    await callGoogle(theirs, MODEL)
    const [theirExchanges, theirCalls] = [exchanges.splice(0), provider.ledger.splice(0)]
    await callGoogle(new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: gateway.url } }), 'auto')

    assert.equal(theirExchanges.length, 1)
    assert.deepEqual(exchanges.map(comparable), theirExchanges.map(comparable))
    assert.equal(theirCalls.length, 3)
    assert.deepEqual(provider.ledger.map(judged), theirCalls.map(judged))
    assert.equal(provider.ledger[0]!.headers.authorization, `Bearer ${TOKEN}`)
    if (what !== 'a service account') return
    const [{ form }] = exchanges as [Exchange]
    const [head, body, signature] = form.assertion!.split('.') as [string, string, string]
    const signed = Buffer.from(`${head}.${body}`)
    assert.ok(verify('RSA-SHA256', signed, keys.publicKey, Buffer.from(signature, 'base64url')))
    assert.equal(claimsOf(form.assertion!).iss, 'gateway@acme.iam.gserviceaccount.com')
  })

const ASKED = { messages: [{ role: 'user' as const, content: 'Where to?' }], temperature: 0.5 }

/** Starts a mock of Azure and a gateway that signs in there. */
async function onAzure(t: TestContext) {
  const provider = await startMockServer(answer('north'))
  t.after(() => provider.close())
  const base = provider.baseUrl.replace(/\/v1$/, '/openai/v1')
  const gateway = await testGateway(t, {
    config: `  azure: { dialect: chat, base_url: "${base}", auth: entra }\nmodels: { azure/gpt-5-mini: { accepts: { sampling: any } } }`,
  })
  const call = async (client: OpenAI, model: string) => {
    const { choices } = await client.chat.completions.create({ ...ASKED, model })
    assert.equal(choices[0]!.message.content, 'north')
    return judged(provider.ledger.at(-1)!)
  }
  const through = () => call(new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'any' }), 'azure/gpt-5-mini')
  return { provider, base, call, through }
}

const NO_IDENTITY = {
  ...{ AZURE_TENANT_ID: 'tenant-1', AZURE_CLIENT_ID: 'client-1', AZURE_CLIENT_SECRET: undefined },
  ...{ AZURE_FEDERATED_TOKEN_FILE: undefined, AZURE_AUTHORITY_HOST: undefined },
}

test('an Azure client secret causes one exchange, and the calls carry the same token as the official client’s calls (KEEP-09)', async (t) => {
  setEnvironment(t, { ...NO_IDENTITY, AZURE_CLIENT_SECRET: 'secret-of-an-application' })
  const exchanges = tokenHosts(t)
  const { base, call, through } = await onAzure(t)
  const ours = await through()
  await through()
  assert.equal(exchanges.length, 1)
  const [{ url, form }] = exchanges as [Exchange]
  assert.equal(url, 'https://login.microsoftonline.com/tenant-1/oauth2/v2.0/token')
  const { grant_type, client_id, client_secret, scope } = form
  assert.deepEqual(
    { grant_type, client_id, client_secret, scopes: scope!.split(' ')[0] },
    {
      ...{
        grant_type: 'client_credentials',
        client_id: 'client-1',
        client_secret: 'secret-of-an-application',
      },
      scopes: 'https://cognitiveservices.azure.com/.default',
    },
  )
  const token = async () => TOKEN
  assert.deepEqual(ours, await call(new OpenAI({ baseURL: base, apiKey: token }), 'gpt-5-mini'))
  // The older API has the deployment in the path, and a version; the rest is the same.
  const older = new AzureOpenAI({
    ...{ endpoint: base.replace('/openai/v1', ''), apiVersion: '2024-10-21' },
    azureADTokenProvider: token,
  })
  const { path, ...rest } = await call(older, 'gpt-5-mini')
  assert.equal(path, '/openai/deployments/gpt-5-mini/chat/completions?api-version=2024-10-21')
  assert.deepEqual({ ...rest, path: ours.path }, ours)
})

test('each Azure token exchange reads the federated token file again and sends the token as its assertion', async (t) => {
  const file = join(temporaryDirectory(t), 'federated')
  writeFileSync(file, 'federated-token-of-a-pod-1\n')
  setEnvironment(t, { ...NO_IDENTITY, AZURE_FEDERATED_TOKEN_FILE: file })
  const exchanges = tokenHosts(t)
  const { provider, through } = await onAzure(t)
  const ours = await through()
  assert.equal(ours.authorization, `Bearer ${TOKEN}`)
  writeFileSync(file, 'federated-token-of-a-pod-2\n')
  const serve = provider.script
  let isRefused = true
  provider.script = (response, received) => {
    if (!isRefused) return serve(response, received)
    isRefused = false
    return response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"code":"401"}}')
  }
  await through()
  assert.deepEqual(
    exchanges.map(({ form }) => [form.client_assertion_type, form.client_assertion]),
    [1, 2].map((n) => [
      'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      `federated-token-of-a-pod-${n}`,
    ]),
  )
})

for (const [what, cloud, description, says] of [
  [
    'a clock that is wrong',
    'vertex',
    'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.',
    /no token of Google: this machine's clock is wrong; set it/,
  ],
  [
    'an account that was deleted',
    'vertex',
    'Invalid grant: account not found',
    /no token of Google: the login has expired or was revoked/,
  ],
  [
    'a clock that is wrong',
    'azure',
    'AADSTS700024: Client assertion is not within its valid time range.',
    /no token of Microsoft Entra: this machine's clock is wrong \(AADSTS700024\); set it/,
  ],
  [
    'a secret that has expired',
    'azure',
    "AADSTS7000222: The provided client secret keys for app 'client-1' are expired.",
    /no token of Microsoft Entra: the client secret is wrong or has expired \(AADSTS7000222\)/,
  ],
] as const)
  test(`${what} causes an error from ${cloud} that gives this cause, and nothing is sent (KEEP-09)`, async (t) => {
    const directory = temporaryDirectory(t)
    const file = join(directory, 'adc.json')
    writeFileSync(file, JSON.stringify(IDENTITIES['a service account']!(directory)))
    setEnvironment(t, {
      ...{ ...NO_IDENTITY, AZURE_CLIENT_SECRET: 'secret-of-an-application' },
      GOOGLE_APPLICATION_CREDENTIALS: file,
    })
    tokenHosts(t, { error: 'invalid_grant', error_description: description })
    const provider = await startMockServer(answer('north'))
    t.after(() => provider.close())
    const gateway = await testGateway(t, {
      config: `  vertex: { dialect: gemini, base_url: "${provider.baseUrl}", auth: google }
  azure: { dialect: chat, base_url: "${provider.baseUrl}", auth: entra }`,
    })
    const { status, json } = await gateway.chat({ ...ASKED, model: `${cloud}/m` })
    assert.equal(status, 502)
    assert.match(json.error.message, says)
    assert.ok(!/client-1|acme/.test(json.error.message), json.error.message)
    assert.equal(provider.ledger.length, 0)
  })
