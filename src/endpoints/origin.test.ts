// KEEP-06: web pages that may use a gateway without keys. A browser names the page's origin in Origin, and
// sends a POST without Content-Type without a preflight request. The page's scheme, name and port therefore
// all matter.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { ask, sharedGateways, type TestGateway, testGateway } from '../test/test-gateway.ts'

const sharedGateway = sharedGateways()

const BODY = JSON.stringify(ask('auto'))

/** `PORT` in an Origin or Host is replaced by the gateway's port. */
function call(gateway: TestGateway, origin: string, host?: string, type: string | null = 'application/json') {
  const { port } = new URL(gateway.url)
  const headers = {
    host: (host ?? 'localhost:PORT').replace('PORT', port),
    origin: origin.replace('PORT', port),
    'content-length': BODY.length,
    ...(type !== null && { 'content-type': type }),
  }
  return new Promise<{ status: number; json: any }>((resolve, reject) => {
    request(
      { port, host: '127.0.0.1', path: '/v1/chat/completions', method: 'POST', headers },
      (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode!, json: JSON.parse(text) }))
      },
    )
      .on('error', reject)
      .end(BODY)
  })
}

const ORIGINS = [
  ['http://localhost:PORT', 'localhost:PORT', 200],
  ['http://127.0.0.1:PORT', '127.0.0.1:PORT', 200],
  ['HTTP://LOCALHOST:PORT', 'localhost:PORT', 200],
  ['http://[::1]:PORT', '[::1]:PORT', 200],
  ['http://localhost:3000', 'localhost:PORT', 403],
  ['http://localhost', 'localhost:PORT', 403],
  ['https://localhost:PORT', 'localhost:PORT', 403],
  ['http://127.0.0.1:PORT', 'localhost:PORT', 403],
  ['http://localhost:3000', 'localhost:3000', 200], // published port of a container, where a page cannot choose its Host
  ['http://localhost', 'localhost', 200],
  ['tauri://localhost', 'localhost:PORT', 403],
  ['tauri://localhost:PORT', 'localhost:PORT', 403],
  ['file://localhost', 'localhost:PORT', 403],
  ['ftp://localhost:PORT', 'localhost:PORT', 403],
  ['http://user@localhost:PORT', 'localhost:PORT', 403],
  ['http://localhost:PORT/', 'localhost:PORT', 403],
  ['http://localhost:PORT.evil.example', 'localhost:PORT', 403],
  ['null', 'localhost:PORT', 403],
  ['', 'localhost:PORT', 403],
] as const

test('a web page can make calls only from the gateway’s own address, with the Origin that its browser sends', async (t) => {
  const gateway = await sharedGateway(t)
  for (const [origin, host, status] of ORIGINS)
    await t.test(`a call from ${origin || 'an empty Origin'} to ${host} receives ${status}`, async () => {
      const before = gateway.received()
      const got = await call(gateway, origin, host)
      assert.equal(got.status, status, JSON.stringify(got.json))
      assert.equal(gateway.received() - before, status === 200 ? 1 : 0)
    })
})

const ALLOWED =
  'allowed_hosts: [waybill.lan], allowed_origins: ["tauri://localhost", "http://localhost:3000", "vscode-webview://abc"]'
const ALLOWED_ORIGINS = [
  ['tauri://localhost', 'localhost:PORT', 200],
  ['http://localhost:3000', '127.0.0.1:PORT', 200],
  ['http://localhost:3001', 'localhost:PORT', 403],
  ['https://localhost:3000', 'localhost:PORT', 403],
  ['tauri://localhost:1', 'localhost:PORT', 403],
  ['vscode-webview://abc', 'localhost:PORT', 200],
  ['vscode-webview://abd', 'localhost:PORT', 403],
  ['http://waybill.lan:PORT', 'waybill.lan:PORT', 200],
  ['https://waybill.lan', 'waybill.lan', 200],
  ['https://waybill.lan', '127.0.0.1:PORT', 200],
  ['http://waybill.lan:3000', 'waybill.lan:PORT', 403],
  ['tauri://waybill.lan', 'waybill.lan:PORT', 403],
] as const

test('only allowed names and origins may make calls', async (t) => {
  const gateway = await testGateway(t, { server: ALLOWED })
  for (const [origin, host, status] of ALLOWED_ORIGINS)
    await t.test(`a call from ${origin} to ${host} receives ${status}`, async () => {
      assert.equal((await call(gateway, origin, host)).status, status)
    })
})

test('a web page that does not send JSON is refused with 415, and nothing is spent', async (t) => {
  const gateway = await sharedGateway(t)
  for (const type of [null, 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    await t.test(type ?? 'no Content-Type', async () => {
      const got = await call(gateway, 'http://localhost:PORT', 'localhost:PORT', type)
      assert.deepEqual([got.status, got.json.error.code], [415, 'unsupported_media_type'])
      assert.equal(gateway.received(), 0)
    })
})

test('a client without an Origin may leave out the Content-Type', async (t) => {
  const gateway = await sharedGateway(t)
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    body: new Blob([BODY]),
  })
  assert.equal(response.status, 200)
})
