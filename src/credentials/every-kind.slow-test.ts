// Every kind of credential, with a provider that refuses a call and repeats each header that it received: no secret of
// them reaches the client, the record, the artifact or a file (KEEP-02, KEEP-03). Slow, because it needs a process of its own:
// the library for Entra keeps its first endpoint for as long as the process runs.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Received, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import type { ProviderConfig } from '../config/load.ts'
import { testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { ACCOUNT, setEnvironment, useAccount } from './test-aws.ts'
import { IDENTITY_HEADER, startTokenEndpoint } from './test-tokens.ts'

const KEY = 'sk-every-kind-0123456789'
const OWN = 'sk-of-the-caller-0123456789'
const SESSION = 'session-token-0123456789/abc+def'

interface Kind {
  /** Settings of the provider. */
  readonly settings: string
  /** Headers of the client. */
  readonly headers?: Readonly<Record<string, string>>
  /** Prepares the machine, and returns the secrets. */
  begin?(t: TestContext): Promise<() => readonly string[]>
}

const tokenOf =
  (variables: (origin: string) => Record<string, string | undefined>) => async (t: TestContext) => {
    const tokens = await startTokenEndpoint(t)
    setEnvironment(t, variables(tokens.origin))
    return () => tokens.issued
  }

/** A new kind does not compile until it has a row here. */
const KINDS: Readonly<Record<NonNullable<ProviderConfig['auth']> | 'key' | 'keys', Kind>> = {
  key: { settings: 'key: $KEY' },
  keys: { settings: 'keys: [ { name: one, key: $KEY } ]' },
  caller: { settings: 'auth: caller', headers: { authorization: `Bearer ${OWN}` } },
  aws: {
    settings: 'auth: aws, aws: { region: eu-central-1 }',
    async begin(t) {
      useAccount(t, { ...ACCOUNT, sessionToken: SESSION })
      return () => [SESSION, ACCOUNT.secretAccessKey]
    },
  },
  google: {
    settings: 'auth: google',
    begin: tokenOf((origin) => ({
      GCE_METADATA_HOST: origin.replace('http://', ''),
      METADATA_SERVER_DETECTION: 'assume-present',
      GOOGLE_APPLICATION_CREDENTIALS: undefined,
      HOME: '/nowhere',
      CLOUDSDK_CONFIG: '/nowhere',
    })),
  },
  entra: {
    settings: 'auth: entra',
    begin: tokenOf((origin) => ({ IDENTITY_ENDPOINT: `${origin}/msi/token`, IDENTITY_HEADER })),
  },
}

const repeats: Script = (response, { headers }) =>
  response
    .writeHead(400, {
      'content-type': 'application/json',
      'x-repeated': encodeURIComponent(JSON.stringify(headers)),
    })
    .end(
      JSON.stringify({
        error: { message: `Wrong: ${JSON.stringify(headers)}`, type: 'invalid_request_error' },
      }),
    )

for (const [name, { settings, headers = {}, begin }] of Object.entries(KINDS))
  test(`a provider that repeats its credential of the kind \`${name}\` never shows it`, async (t) => {
    const secrets = (await begin?.(t)) ?? (() => [KEY, OWN])
    const provider = await startMockServer(repeats)
    t.after(() => provider.close())
    const { url, data, gateway } = await testGateway(t, {
      config: `  it: { dialect: chat, base_url: "${provider.baseUrl}", ${settings} }\n`,
      env: { KEY },
    })
    const get = async (path: string, more: RequestInit = {}) => {
      const answer = await fetch(`${url}${path}`, more)
      return {
        status: answer.status,
        text: JSON.stringify([...answer.headers]) + (await answer.text()),
        answer,
      }
    }
    const failed = await get('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'it/m', messages: [{ role: 'user', content: 'hi' }] }),
    })
    const [received] = provider.ledger as readonly Received[]
    const sent = secrets().filter((secret) => JSON.stringify(received!.headers).includes(secret))
    assert.ok(sent.length > 0, 'the provider got a secret')
    const id = failed.answer.headers.get('x-gateway-request-id')
    const record = `/api/usage/request-logs/${id}`
    await until('the artifact is written', async () => (await get(`${record}/artifact`)).status === 200)
    const shown = [failed.text]
    for (const path of [record, `${record}/artifact`, '/api/usage/request-logs', '/api/health', '/metrics'])
      shown.push((await get(path)).text)
    await gateway.close(1_000)
    for (const file of readdirSync(data, { recursive: true, withFileTypes: true }))
      if (file.isFile()) shown.push(readFileSync(join(file.parentPath, file.name), 'latin1'))
    for (const secret of secrets())
      for (const text of shown) assert.ok(!text.includes(secret), `${secret} in ${text.slice(0, 2_000)}`)
  })
