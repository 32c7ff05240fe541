// Providers behind a proxy or with private certificates, over real sockets. The proxies open tunnels, require
// a password, or do not answer; one provider uses TLS.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer as createPlainServer, type IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { certify } from '../../mocks/server/certificate.ts'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { loadConfig, parseConfig } from '../config/load.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'
import { proxyFor } from './proxy.ts'

const ANSWER = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 0,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'through' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const PASSWORD = 'a-password-of-the-proxy'

async function listening<S extends Server>(t: TestContext, server: S): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Opens a tunnel to `port` for every host name. With `credentials`, requires them. */
async function startProxy(t: TestContext, port: number, credentials?: string) {
  const asked: { target: string; authorization: string | undefined }[] = []
  const sockets = new Set<Socket>()
  const server = createPlainServer().on('connect', (request: IncomingMessage, socket: Socket) => {
    const authorization = request.headers['proxy-authorization']
    asked.push({ target: request.url!, authorization })
    sockets.add(socket.on('error', () => {}))
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
    if (expected && authorization !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.pipe(socket).pipe(upstream)
    }).on('error', () => socket.destroy())
  })
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  return { url: `127.0.0.1:${await listening(t, server)}`, asked }
}

async function start(t: TestContext, provider: string, env: Record<string, string>) {
  const directory = temporaryDirectory(t)
  const text = `server: { port: 0 }
data: ${directory}
providers: { p: { dialect: chat, key: $K, ${provider} } }
routes: { auto: { targets: [ { model: p/m } ] } }
resilience: { connect: 3s, retries: 0, cooldown: 0s }`
  const file = join(directory, 'waybill.yaml')
  writeFileSync(file, text)
  const gateway = await createGateway(loadConfig(file, { env: { K: 'sk-of-the-provider', ...env } }))
  t.after(() => gateway.close(100))
  const call = async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask('auto')),
    })
    return { status: response.status, text: await response.text() }
  }
  return { call }
}

/** A TLS provider with a certificate from a private authority. */
async function startTls(t: TestContext, directory: string) {
  const { ca, cert, key } = certify(['provider.example', 'localhost'])
  const file = join(directory, 'ca.pem')
  writeFileSync(file, ca)
  const server = createServer({ cert, key }, (request, response) => {
    request
      .resume()
      .on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER))
  })
  return { port: await listening(t, server), ca: file }
}

test("a provider is reached through a tunnel that the proxy opens, with the user name and password from the proxy's URL", async (t) => {
  const mock = await startMockServer()
  t.after(() => mock.close())
  const port = Number(new URL(mock.baseUrl).port)
  const proxy = await startProxy(t, port, `user:${PASSWORD}`)
  const { call } = await start(t, 'base_url: "http://provider.example/v1"', {
    HTTP_PROXY: `http://user:${PASSWORD}@${proxy.url}`,
  })
  for (let n = 0; n < 3; n++) assert.equal((await call()).status, 200)
  assert.deepEqual(
    proxy.asked.map(({ target }) => target),
    ['provider.example:80'],
  )
  assert.equal(mock.ledger[0]!.headers['proxy-authorization'], undefined)
})

test('a TLS provider is reached through the proxy, and a configured private certificate authority is trusted', async (t) => {
  const directory = temporaryDirectory(t)
  const { port, ca } = await startTls(t, directory)
  const proxy = await startProxy(t, port)
  const env = { https_proxy: proxy.url }
  const trusted = await start(t, `base_url: "https://provider.example/v1", ca: "${ca}"`, env)
  const answer = await trusted.call()
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.text, /through/)
  assert.deepEqual(proxy.asked, [{ target: 'provider.example:443', authorization: undefined }])
  const untrusted = await start(t, 'base_url: "https://provider.example/v1"', env)
  const refused = await untrusted.call()
  assert.equal(refused.status, 502)
  assert.match(refused.text, /no connection \((SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)\)/)
  const direct = await start(t, `base_url: "https://localhost:${port}/v1", ca: "${ca}"`, env)
  assert.equal((await direct.call()).status, 200)
  assert.equal(proxy.asked.length, 2)
})

test('if a proxy refuses, is missing or does not answer, the error names the proxy without its password', async (t) => {
  const strict = await startProxy(t, 1, 'user:another')
  const silent = await listening(t, createPlainServer().on('connect', () => {}) as Server)
  const cases: [string, RegExp][] = [
    [
      `http://user:${PASSWORD}@${strict.url}`,
      /the proxy asks for a user and a password; put them into the URL/,
    ],
    [`http://user:${PASSWORD}@127.0.0.1:1`, /the proxy cannot be reached, ECONNREFUSED/],
    [`http://user:${PASSWORD}@127.0.0.1:${silent}`, /the proxy does not answer/],
  ]
  for (const [proxy, message] of cases) {
    const { call } = await start(t, 'base_url: "https://provider.example/v1"', { HTTPS_PROXY: proxy })
    const { status, text } = await call()
    assert.equal(status, 502)
    assert.match(text, message)
    assert.ok(!text.includes(PASSWORD))
  }
})

test('NO_PROXY and loopback addresses are reached directly', () => {
  const proxies = {
    http: 'http://h.example/',
    https: 'http://s.example/',
    except: ' internal.example, .corp.example,*.lab.example, other.example:8443,10.0.0.7 ',
  }
  const cases: [string, string | null][] = [
    ['https://api.example', 's.example'],
    ['http://api.example', 'h.example'],
    ['https://internal.example', null],
    ['https://a.internal.example', null],
    ['https://notinternal.example', 's.example'],
    ['https://a.corp.example', null],
    ['https://a.lab.example', null],
    ['https://other.example', 's.example'],
    ['https://other.example:8443', null],
    ['http://10.0.0.7:8000', null],
    ['http://127.0.0.1:11434', null],
    ['http://localhost:11434', null],
    ['http://[::1]:11434', null],
  ]
  for (const [origin, host] of cases) assert.equal(proxyFor(origin, proxies)?.host ?? null, host, origin)
  assert.equal(proxyFor('https://api.example', { ...proxies, except: '*' }), null)
  assert.equal(proxyFor('https://api.example', {}), null)
})

test('a proxy that is not a URL, or a certificate file without certificates, is a configuration error', (t) => {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'waybill.yaml')
  writeFileSync(join(directory, 'key.pem'), 'no certificate')
  writeFileSync(file, 'providers: { p: { dialect: chat, base_url: "https://a.example", ca: key.pem } }')
  assert.throws(
    () => loadConfig(file, { env: {} }),
    /providers\.p\.ca: .*key\.pem holds no certificate in PEM/,
  )
  writeFileSync(file, 'providers: { p: { dialect: chat, base_url: "https://a.example", ca: none.pem } }')
  assert.throws(() => loadConfig(file, { env: {} }), /providers\.p\.ca: .*none\.pem/)
  const provider = 'providers: { p: { dialect: chat, base_url: "https://a.example" } }'
  assert.throws(
    () => parseConfig(provider, 'w.yaml', { env: { HTTPS_PROXY: 'socks5://a.example' } }),
    /HTTPS_PROXY: must be the URL of an HTTP proxy/,
  )
})
