// If a reader of the feed reads nothing for a while, it is notified of lost calls, even if no other call
// follows.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { useClock } from '../shared/clock.ts'
import { manualClock } from '../shared/test-clock.ts'
import { until } from '../test/test-until.ts'
import { live } from './live.ts'

test('a slow reader is notified of lost changes and of how to continue (PAGE-05)', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  let tell: ((told: { json: string }) => void) | undefined
  const feed = {
    listen: (_key: string | undefined, listener: typeof tell) => {
      tell = listener
      return () => {}
    },
  }
  let response!: ServerResponse
  const server = createServer((_, its) => {
    response = its
    const caller = { name: null, role: 'admin' }
    live.handle({ caller, authenticate: () => caller } as never, its, { feed } as never)
  })
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
  t.after(() => socket.destroy())
  let text = ''
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(socket, 'data')
  socket.pause()
  // Sends more than both ends of the connection and the gateway can buffer. The last call is lost.
  const json = JSON.stringify({ id: 'x'.repeat(500_000) })
  for (let n = 0; n < 100 && response.writableLength <= 2 ** 20; n++) {
    tell!({ json })
    await manual.advance(110)
  }
  assert.ok(response.writableLength > 2 ** 20, 'it is full')
  tell!({ json: '{"id":"last"}' })
  await manual.advance(250)
  socket.on('data', (part: string) => (text += part)).resume()
  await until('the loss is reported', () => text.includes('event: lost\ndata: {}\n\n'))
  assert.doesNotMatch(text, /"last"/)
  text = ''
  tell!({ json: '{"id":"next"}' })
  await manual.during(until('the next arrives', () => text.includes('"next"')))
  assert.match(text, /event: call\ndata: \{"id":"next"\}\n\n/)
  assert.doesNotMatch(text, /event: lost/, 'told once')
})
