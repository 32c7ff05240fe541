// Limits on concurrent use, for all clients together and for one key: open calls, and bytes of their bodies.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { ask, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const key = (name: string) =>
  `{ name: ${name}, digest: "sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}" }`
const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })
const AUTO = 'routes: { auto: { targets: [ { model: alpha/model-a } ] } }'
const MIB = 2 ** 20

/** A provider that answers when the test releases the answer. */
function held() {
  let release = () => {}
  const released = new Promise<void>((done) => (release = done))
  const script: Script = async (response, received) => {
    await released
    answer()(response, received)
  }
  return { script, release }
}

test('a call above the limit for open calls is refused with 503 and Retry-After, reaches no provider, and has no record', async (t) => {
  const { script, release } = held()
  const gateway = await testGateway(t, { providers: { alpha: script }, server: 'max_calls: 2' })
  const open = [gateway.chat(ask('auto')), gateway.chat(ask('auto'))]
  await until('all calls have arrived', () => gateway.received() === 2)
  const refused = await gateway.chat(ask('auto'))
  assert.deepEqual([refused.status, refused.json.error.code], [503, 'overloaded'])
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.equal((await gateway.get('/api/usage/request-logs')).json.data.length, 2)
  release()
  for (const call of open) assert.equal((await call).status, 200)
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
  assert.equal(gateway.received(), 3)
})

test('with several keys, one key may have at most half of the open calls', async (t) => {
  const { script, release } = held()
  const gateway = await testGateway(t, {
    providers: { alpha: script },
    server: 'max_calls: 4',
    config: `${AUTO}\nkeys: [ ${key('ann')}, ${key('bob')} ]`,
  })
  const open = [1, 2].map(() => gateway.chat(ask('auto'), as('ann')))
  await until('all calls have arrived', () => gateway.received() === 2)
  const refused = await gateway.chat(ask('auto'), as('ann'))
  assert.deepEqual([refused.status, refused.json.error.code], [503, 'overloaded'])
  assert.match(refused.json.error.message, /the key "ann" has 2 open calls/)
  const other = gateway.chat(ask('auto'), as('bob'))
  await until('all calls have arrived', () => gateway.received() === 3)
  release()
  for (const call of [...open, other]) assert.equal((await call).status, 200)
})

/**
 * Begins a call, and sends this many bytes of a body whose announced size is `announced`. `header`: another line of
 * its head.
 */
function begin(t: TestContext, { url }: TestGateway, sent: number, announced: number, header = '') {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${announced}\r\n${header}\r\n`
  socket.write(head + ' '.repeat(sent))
  return { socket, text: () => text }
}

test('if unfinished bodies take too much memory, the newest body is refused, and small calls are served', async (t) => {
  const gateway = await testGateway(t, { server: 'body_limit: 1MiB, memory: 7MiB' })
  const bodies = [0.9, 0.7, 0.6].map((part) => begin(t, gateway, part * MIB, MIB))
  await until('one is answered', () => bodies.some(({ text }) => text() !== ''))
  await pause(100)
  const answered = bodies.filter(({ text }) => text() !== '')
  assert.equal(answered.length, 1, 'one is enough')
  assert.match(answered[0]!.text(), /^HTTP\/1\.1 503 .*"code":"overloaded"/s)
  assert.match(answered[0]!.text(), /\r\nretry-after: 1\r\n/i)
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
})

test('however a call ends, it releases everything that it held', async (t) => {
  const gateway = await testGateway(t, { server: 'body_limit: 1MiB, memory: 4MiB, max_calls: 1' })
  const large = ask('auto', { user: 'x'.repeat(0.9 * MIB) })
  for (const body of [large, '{'.repeat(0.9 * MIB), ask('nowhere', { user: 'x'.repeat(0.9 * MIB) }), large])
    assert.notEqual((await gateway.chat(body)).status, 503)
  const { socket, text } = begin(t, gateway, 0.5 * MIB, MIB, 'expect: 100-continue\r\n')
  await until('it has arrived', () => text().startsWith('HTTP/1.1 100 '))
  assert.equal((await gateway.chat(large)).status, 503, 'the one place is taken')
  socket.destroy()
  await until('its place is free', async () => (await gateway.chat(large)).status !== 503)
})
