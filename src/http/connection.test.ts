import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { MEMORY } from '../shared/memory.ts'
import { until } from '../test/test-until.ts'
import { serveInTurn } from './connection.ts'

const READ = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
const PIECES = `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(5_000)}`

/**
 * Sends data that follows an unanswered request immediately. Returns the number of requests and body pieces
 * that the server parses.
 */
async function seen(text: string): Promise<{ requests: number; pieces: number }> {
  const all = { requests: 0, pieces: 0 }
  const server = createServer()
  server.on('request', (request) => {
    all.requests++
    const { push } = request
    request.push = (piece) => {
      if (piece !== null) all.pieces++
      return push.call(request, piece)
    }
  })
  serveInTurn(server, () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  socket.write(READ + text)
  try {
    await once(socket, 'close')
    return all
  } finally {
    server.close()
  }
}

test('once the maximum number of requests wait on a connection, further requests are not parsed', async () => {
  assert.deepEqual(await seen(READ.repeat(2_000)), { requests: 18, pieces: 0 })
})

test('a chunked body that arrives behind another request is not parsed', async () => {
  assert.deepEqual(await seen(PIECES), { requests: 2, pieces: 0 })
})

test('a client that leaves gives back the memory of all of its waiting requests', async (t) => {
  const server = createServer()
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const writing: ServerResponse[] = []
  serveInTurn(server, (_, response) => void writing.push(response.writeHead(200)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const before = MEMORY.bytes
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(READ.repeat(10))
  await until('the others wait', () => MEMORY.bytes > before)
  socket.destroy()
  // A paused connection shows at a write that its client has left.
  await until('the client has left', () => {
    writing[0]!.write('x')
    return writing[0]!.destroyed
  })
  await until('nothing is held', () => MEMORY.bytes === before, 2_000)
})
