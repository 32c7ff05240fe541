import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { MemoryAccount, type MemoryLimits } from '../shared/memory.ts'
import { processorMs } from '../test/test-processor-time.ts'
import { pause } from '../test/test-until.ts'
import { countUnread, untilRead } from './reply.ts'

const MIB = 2 ** 20
/** More bytes than the operating system buffers for a client that reads nothing. */
const SIZE = 16 * MIB

/** A server with answers of 16 MiB that count for the key in the path. */
async function start(t: TestContext, limits: MemoryLimits) {
  const memory = new MemoryAccount(limits)
  const server = createServer((request, response) => {
    response.end(Buffer.alloc(SIZE))
    countUnread(response, request.url!.slice(1), memory)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** A client that does not read its answer, although the answer has arrived. */
  return async (keyName: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause()
    socket.write(`GET /${keyName} HTTP/1.1\r\nhost: x\r\n\r\n`)
    t.after(() => socket.destroy())
    await once(server, 'request')
    await pause(20)
    return socket
  }
}

/** Returns the number of bytes that a client can still read. */
async function rest(socket: Socket): Promise<number> {
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    if (bytes > SIZE) socket.destroy() // includes the response headers, which are complete
  })
  socket.resume()
  await once(socket, 'close')
  return bytes
}

test('the key with the most unread bytes loses its longest-waiting connection', async (t) => {
  const ask = await start(t, { all: 3.5 * SIZE, perKey: 3.5 * SIZE })
  const bob = await ask('bob')
  const ann = [await ask('ann'), await ask('ann'), await ask('ann')]
  assert.ok((await rest(ann[0]!)) < SIZE, 'the first of the greedy key is cut off')
  for (const socket of [bob, ann[1]!, ann[2]!]) assert.ok((await rest(socket)) > SIZE)
})

test('a key that reads nothing loses its connections at its own limit, although there is room for others', async (t) => {
  const ask = await start(t, { all: 10 * SIZE, perKey: 1.5 * SIZE })
  const [first, second] = [await ask('ann'), await ask('ann')]
  assert.ok((await rest(first!)) < SIZE)
  assert.ok((await rest(second!)) > SIZE)
})

test('20,000 clients that read nothing are counted in little time, also beyond the limit', () => {
  const memory = new MemoryAccount({ all: 10_000_000, perKey: 10_000_000 })
  const clients = Array.from(
    { length: 20_000 },
    () =>
      Object.assign(new EventEmitter(), {
        writableLength: 1_000,
        destroy() {},
      }) as unknown as ServerResponse,
  )
  const began = processorMs()
  for (const client of clients) countUnread(client, 'ann', memory)
  const took = processorMs() - began
  assert.ok(memory.bytes <= 10_000_000)
  assert.ok(took < 1_000, `${took} ms`)
})

test('a file written in pieces leaves no listener behind, and a client that reads nothing is disconnected', async (t) => {
  const listeners: number[] = []
  const closed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let answers = 0
  const server = createServer(async (_, response) => {
    response.once('close', closed[answers++]!.resolve)
    for (let piece = 0; piece < 20 && !response.destroyed; piece++) {
      // The client that reads has far more time than it needs.
      if (!response.write(Buffer.alloc(MIB))) await untilRead(response, 'ann', answers === 1 ? 30_000 : 300)
      listeners.push(response.listenerCount('close'))
    }
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const text = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  assert.equal(text.length, 20 * MIB)
  assert.ok(Math.max(...listeners) <= listeners[0]! + 2, listeners.join())
  const unread = connect(port, '127.0.0.1').on('error', () => {})
  unread.pause()
  unread.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await closed[1]!.promise
})
