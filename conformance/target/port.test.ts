import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { reservePort } from './local.ts'

test('a reserved port cannot be reserved again before its release', async () => {
  const held = await Promise.all(Array.from({ length: 400 }, reservePort))
  try {
    assert.equal(new Set(held.map(({ port }) => port)).size, held.length)
    const server = createServer().listen(held[0]!.port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
  } finally {
    await Promise.all(held.map(({ release }) => release()))
  }
})
