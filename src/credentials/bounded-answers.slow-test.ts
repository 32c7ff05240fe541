// Endpoints that issue tokens and send too much, go on without an end, redirect a secret, or issue a token that fits no
// header. Each cloud's own library asks them over real sockets.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { answer as chatAnswer, startMockServer } from '../../mocks/test-upstream.ts'
import { clock } from '../shared/clock.ts'
import { testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { useAccount } from './test-aws.ts'

const AUTHS = ['entra', 'google', 'aws'] as const

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

async function start(t: TestContext, auth: (typeof AUTHS)[number], answer: Answer) {
  const open = new Set<ServerResponse>()
  const endpoint = createServer((request, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    request.resume().on('end', () => answer(response.setHeader('metadata-flavor', 'Google'), request))
  }).listen(0, '127.0.0.1')
  await once(endpoint, 'listening')
  t.after(() => {
    endpoint.closeAllConnections()
    endpoint.close()
  })
  const host = `127.0.0.1:${(endpoint.address() as AddressInfo).port}`
  useAccount(t, null, {
    ...{
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}/`,
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
    },
    ...{ IDENTITY_ENDPOINT: `http://${host}/`, IDENTITY_HEADER: 'identity-header-0123456789' },
    ...{ AZURE_CLIENT_ID: undefined, AZURE_TENANT_ID: undefined },
    ...{ GCE_METADATA_HOST: host, METADATA_SERVER_DETECTION: 'assume-present' },
    ...{ GOOGLE_APPLICATION_CREDENTIALS: undefined, HOME: '/nowhere', CLOUDSDK_CONFIG: '/nowhere' },
  })
  const provider = await startMockServer(chatAnswer())
  t.after(() => provider.close())
  const { chat } = await testGateway(t, {
    providers: {},
    config: `  cloud: { dialect: chat, base_url: "${provider.baseUrl}", auth: ${auth}${auth === 'aws' ? ', aws: { region: us-east-1 }' : ''} }\n`,
  })
  const ask = () => chat({ model: 'cloud/m', messages: [{ role: 'user', content: 'hi' }] })
  return { ask, open, provider }
}

const PIECE = Buffer.alloc(2 ** 16, ' ')
/** A failure answers all calls of this time, ms. */
const FAILURE_MS = 1_100

// One test for each library: Microsoft's asks the first endpoint of its process for ever.
for (const auth of AUTHS)
  test(`${auth}: answers without an end or compressed, redirects and tokens that fit no header are refused`, async (t) => {
    let sent = 0
    const paths = new Set<unknown>()
    const endless: Answer = (response) => {
      while (!response.destroyed && sent < 2 ** 28) {
        sent += PIECE.length
        if (!response.write(PIECE)) return void response.once('drain', () => endless(response, response.req))
      }
    }
    const redirect: Answer = (response) => response.writeHead(302, { location: '/elsewhere' }).end()
    const json = (value: unknown) =>
      JSON.stringify({
        ...{ access_token: value, expires_in: 3_600, token_type: 'Bearer' },
        ...{ AccessKeyId: 'AKIA', SecretAccessKey: 'secret-0123456789', Token: value },
        Expiration: new Date(clock.now() + 3_600_000).toISOString(),
      })
    const token =
      (value: unknown): Answer =>
      (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(json(value))
    const compressed: Answer = (response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync(json('token-0123456789').padEnd(2 ** 25)))
    let answer = endless
    const { ask, open, provider } = await start(t, auth, (response, request) => {
      paths.add(request.url?.replace(/\?.*/, ''))
      answer(response, request)
    })
    const isRefused = async (what: string) => {
      const { status, json } = await ask()
      assert.deepEqual([status, json.error.code], [502, 'upstream_refused'], what)
      await new Promise((wait) => setTimeout(wait, FAILURE_MS))
    }
    await isRefused('endless')
    await until('no answer is open', async () => open.size === 0)
    assert.ok(sent < 2 ** 26, `${sent} bytes were read`)
    if (auth === 'entra') {
      answer = redirect
      await isRefused('a redirect')
      assert.deepEqual([...paths], ['/'])
    }
    answer = compressed
    await isRefused('compressed')
    for (const value of ['two\r\nx-lines: 1', 'snow☃', 7]) {
      answer = token(value)
      await isRefused(String(value))
    }
    answer = token('token-0123456789')
    assert.equal((await ask()).status, 200)
    assert.match(JSON.stringify(provider.ledger[0]!.headers), /token-0123456789/)
  })
