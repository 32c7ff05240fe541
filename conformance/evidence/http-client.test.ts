// Tests over a real socket which parts of an answer the suite's HTTP client reads.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { pause } from '../../src/test/test-until.ts'
import { sendRequest } from './http-client.ts'

test('a request that is paused before its answer starts reads no part of the answer', async (t) => {
  const { promise: asked, resolve: arrived } = Promise.withResolvers<() => void>()
  const server = createServer((_, response) => arrived(() => response.end('x'.repeat(1_000))))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const call = sendRequest(
    `http://127.0.0.1:${port}`,
    { method: 'GET', path: '/', headers: {}, body: null },
    5_000,
  )
  call.pause()
  const answer = await asked
  answer()
  await pause(200)
  assert.equal(call.body, '')
  call.resume()
  assert.equal((await call.done).body.length, 1_000)
})
