// Tests the wait for a target that is not ready, with a server that is up and a clock that is advanced.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { useClock } from '../../src/shared/clock.ts'
import { manualClock } from '../../src/shared/test-clock.ts'
import { targetSchema } from './schema.ts'
import { start } from './start.ts'

test('a start says every 10 s what it waits for, and can be given up', async (t) => {
  let status = 404
  const server = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const time = manualClock()
  const endClock = useClock(time)
  t.after(() => {
    endClock()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const target = targetSchema.parse({
    ...{ name: 'Slow', start: { url }, ready: { path: '/up', timeout_ms: 300_000 } },
    ...{ providers: { openai: {} }, models: { call: 'm' } },
  })
  const begin = (onWait: Parameters<typeof start>[1]['onWait']) =>
    time.during(start(target, { values: {}, variant: null, onWait }))
  await assert.rejects(
    begin(() => false),
    /Slow is not ready after 1\d{4} ms: GET http:\S+\/up: .*; if it never answers 200 there, name another ready\.path/,
  )
  const waits: number[] = []
  const started = await begin((seconds, _, what) => {
    waits.push(seconds)
    assert.match(what, /^GET http:\S+\/up: /)
    if (seconds === 30) status = 200
    return true
  })
  await started.dispose()
  assert.deepEqual(waits.slice(0, 3), [10, 20, 30])
})
