// Tests the control port over real sockets: its functions, its refusals, and the same answers as the object
// in the process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { type LedgerPage, writeNonce } from '../ledger.ts'
import { createControlServer } from './control-server.ts'
import type { MockControls } from './core.ts'
import { ask, chatBody, mockFor } from './test-mock.ts'

const NONCE = 'feedfacecafebeef'
const prompt = writeNonce(NONCE)

test('programs in any language can use scripts, gates, canaries and the ledger', async (t) => {
  const mock = await mockFor(t)
  const control = async (method: string, path: string, body?: string) => {
    const response = await fetch(mock.controlUrl + path, { method, body: body ?? null })
    return { status: response.status, text: await response.text() }
  }
  const script = [{ events: [{ data: 'first' }, { gate: 'a b' }, { data: 'second' }] }]
  assert.equal((await control('PUT', `/script/${NONCE}`, JSON.stringify(script))).status, 204)
  assert.equal((await control('PUT', '/canary/prompt', 'a planted secret')).status, 204)
  const response = await ask(mock, chatBody('m', { stream: true }, `${prompt} a planted secret`))
  const reader = response.body!.getReader()
  assert.equal(Buffer.from((await reader.read()).value!).toString(), 'data: first\n\n')
  assert.equal((await control('POST', '/release/a%20b')).status, 204)
  assert.equal(Buffer.from((await reader.read()).value!).toString(), 'data: second\n\n')
  await mock.settled()

  const page = JSON.parse((await control('GET', '/ledger')).text) as LedgerPage
  assert.deepEqual(page.entries, JSON.parse(JSON.stringify(mock.entries())))
  assert.deepEqual(page.entries[0]!.canaries, ['prompt'])
  assert.equal(page.connections, mock.connections)
  assert.ok(page.now >= page.entries[0]!.answer.last_byte_at!)
  assert.deepEqual(JSON.parse((await control('GET', '/ledger?since=1')).text).entries, [])
  assert.equal((await control('GET', '/healthz')).text, '{"ok":true}')
  assert.equal((await control('DELETE', '/ledger')).status, 204)
  assert.deepEqual(mock.entries(), [])
})

test('the answer to an invalid request is a JSON error with a remedy', async (t) => {
  const mock = await mockFor(t)
  const cases: [string, string, string | null, number, RegExp][] = [
    ['GET', '/nothing', null, 404, /GET \/ledger/],
    ['POST', '/ledger', null, 405, /Use GET or DELETE/],
    ['PUT', '/script/short', '[]', 404, /16 hex digits/],
    ['PUT', `/script/${NONCE}`, '{', 400, /not JSON/],
    ['PUT', `/script/${NONCE}`, '[]', 400, /^the script: needs at least one answer$/],
    ['PUT', `/script/${NONCE}`, '[{"stauts":200}]', 400, /stauts/],
    [
      'PUT',
      `/script/${NONCE}`,
      '[{"events":[{"dta":1}],"times":0}]',
      400,
      /^\[0\]\.events\[0\]: expected one of data, raw[^\n]*; \[0\]\.times: [^\n]+$/,
    ],
    ['PUT', `/script/${NONCE}`, '[{"headers":{"a b":"c"}}]', 400, /headers/],
    ['PUT', `/script/${NONCE}`, '[{"headers":{"a":"b\\r\\nc: d"}}]', 400, /headers/],
    ['PUT', '/canary/x', 'short', 400, /shorter than 8/],
    ['GET', '/ledger?since=-1', null, 400, /since/],
    ['POST', '/release/%E0%A4%A', null, 400, /escape/],
  ]
  for (const [method, path, body, status, message] of cases) {
    const response = await fetch(mock.controlUrl + path, { method, body })
    assert.equal(response.status, status, `${method} ${path}`)
    assert.match(((await response.json()) as { error: { message: string } }).error.message, message)
  }
})

test('requests with a foreign Host or Origin are refused, so web pages cannot get access', async (t) => {
  const mock = await mockFor(t)
  const statusWith = (headers: Record<string, string>) =>
    new Promise((done) =>
      request(`${mock.controlUrl}/ledger`, { headers }, ({ statusCode }) => done(statusCode)).end(),
    )
  const port = new URL(mock.controlUrl).port
  assert.equal(await statusWith({ host: 'evil.example' }), 403)
  assert.equal(await statusWith({ host: `evil.example:${port}` }), 403)
  assert.equal(await statusWith({ origin: 'https://evil.example' }), 403)
  assert.equal(await statusWith({ origin: `http://localhost:${port}`, host: `localhost:${port}` }), 200)
})

test('a request is refused if the requested ledger is too long for one answer, and the mock keeps running', async (t) => {
  const stage = { entries: () => [{ toJSON: () => assert.fail('Invalid string length') }] }
  const server = createControlServer(
    { ...(stage as unknown as MockControls), setReachable: async () => {} },
    () => 0,
    () => assert.fail('no context'),
  ).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const response = await fetch(`${url}/ledger`)
  assert.equal(response.status, 413)
  assert.match(await response.text(), /since=N/)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
})
