import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { requestInside } from './inner-socket.ts'

test('a reader that pauses gets the whole answer, although the server has closed its end', async () => {
  const server = createServer((_, response) => {
    const write = (left: number): void => {
      if (left === 0) response.end()
      else response.write('x'.repeat(1_000), () => write(left - 1))
    }
    write(100)
  })
  const headers = { host: 'localhost' }
  const request = requestInside(server, { method: 'GET', path: '/', headers, body: '', origin: {} })
  const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
    request.once('response', resolve),
  )
  for (let turn = 0; turn < 100; turn++) await nextTurn()
  assert.equal((await buffer(response)).length, 100_000)
  assert.ok(response.complete)
})
