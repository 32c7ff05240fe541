import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { delivered } from './reply.ts'

/** Returns the report of `delivered` for an answer that is sent in this way. */
async function saidOf(give: (response: ServerResponse) => void): Promise<boolean> {
  const said = Promise.withResolvers<boolean>()
  const server = createServer((_, response) => {
    give(response)
    delivered(response, null, 1_000, said.resolve)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  try {
    return await said.promise
  } finally {
    socket.destroy()
    server.close()
  }
}

test('an answer counts as delivered once the operating system has accepted it', async () => {
  assert.equal(await saidOf((response) => response.end('all of it')), true)
})

test('an answer on a connection that is already broken does not count as delivered', async () => {
  const given = saidOf((response) => {
    response.socket!.destroy()
    response.end('nobody reads this')
  })
  assert.equal(await given, false)
})

test('an answer does not count as delivered if its only write fails', async () => {
  const given = saidOf((response) => {
    const { socket } = response
    socket!._writev = (_, done) => done(new Error('E2BIG'))
    socket!._write = (_, __, done) => done(new Error('E2BIG'))
    response.end('this could not be written')
  })
  assert.equal(await given, false)
})
