// LOG-04: a read that begins after the last byte of an answer sees that call closed. LOG-11: while writing
// fails, a read does not wait for writes that may never happen.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { Client } from 'undici'
import { answer, chunk, DONE, fail, type Script, stream, usageChunk } from '../../../mocks/test-upstream.ts'
import { manualClock } from '../../shared/test-clock.ts'
import { ask, testGateway } from '../../test/test-gateway.ts'
import { IS_FULL } from '../../test/test-size.ts'
import { databaseFile } from './open.ts'

const CALLS = IS_FULL ? 500 : 40
const LARGE_CALLS = IS_FULL ? 60 : 8
const LONG = 'long '.repeat(200_000)

const ANSWERS: readonly {
  readonly what: string
  readonly script: Script
  readonly stream: boolean
  readonly calls: number
}[] = [
  { what: 'whole', script: answer(), stream: false, calls: CALLS },
  {
    what: 'streamed',
    script: stream(
      chunk({ content: 'a' }),
      chunk({ content: 'b' }),
      chunk({}, { finish_reason: 'stop' }),
      usageChunk(),
      DONE,
    ),
    stream: true,
    calls: CALLS,
  },
  { what: 'of a megabyte', script: answer(LONG), stream: false, calls: LARGE_CALLS },
  { what: 'refused', script: fail(404), stream: false, calls: LARGE_CALLS },
]

for (const { what, script, stream, calls } of ANSWERS)
  for (const sockets of [1, 2])
    test(`a read immediately after an answer (${what}) sees the call closed, over ${sockets} socket${sockets === 1 ? '' : 's'} (LOG-04)`, async (t) => {
      const gateway = await testGateway(t, { providers: { alpha: script } })
      const caller = new Client(gateway.url)
      const reader = sockets === 1 ? caller : new Client(gateway.url)
      t.after(() => Promise.all([caller.destroy(), reader.destroy()]))
      const get = async (path: string) => {
        const { body } = await reader.request({ path, method: 'GET' })
        return (await body.json()) as any
      }
      await get('/healthz') // the socket is open
      const early: string[] = []
      for (let n = 0; n < calls; n++) {
        const { headers, body } = await caller.request({
          path: '/v1/chat/completions',
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-session-id': 'mine' },
          body: JSON.stringify(ask('auto', { stream })),
        })
        await body.arrayBuffer()
        const id = headers['x-gateway-request-id']
        const which = n % 4
        if (which === 0) {
          const { data } = await get('/api/usage/request-logs?limit=1')
          if (data[0].id !== id || data[0].completed_at === null) early.push(`list ${data[0].state}`)
        } else if (which === 1) {
          const record = await get(`/api/usage/request-logs/${id}`)
          if (record.completed_at === null) early.push(`one ${record.state}`)
        } else if (which === 2) {
          const { calls } = await get('/api/sessions/mine')
          if (calls !== n + 1) early.push(`session ${calls} of ${n + 1}`)
        } else {
          const { data } = await get('/api/usage/request-logs?state=routed')
          if (data.length > 0) early.push('still open')
        }
      }
      assert.deepEqual(early.slice(0, 5), [], `${early.length} of ${calls}`)
    })

test('while writes fail, reads return the stored rows without delay (LOG-11)', async (t) => {
  const manual = manualClock()
  const gateway = await testGateway(t, { clock: manual })
  for (let call = 0; call < 20; call++) await gateway.chat(ask('auto'))
  const rude = new Database(databaseFile(gateway.data))
  t.after(() => rude.close())
  rude.exec('BEGIN IMMEDIATE')
  const refused = gateway.chat(ask('auto'))
  for (let read = 0; read < 20; read++) {
    const reading = gateway.get('/api/usage/request-logs')
    // Only the first read waits for a timer of the gateway, because time stands still during the others.
    const { status, json } = await (read === 0 ? manual.during(reading) : reading)
    assert.equal(status, 200)
    assert.equal(json.data.length, 20)
  }
  assert.equal((await manual.during(refused)).status, 503)
  rude.exec('ROLLBACK')
})

test('under load, a read does not wait for calls that arrive after the read', async (t) => {
  const gateway = await testGateway(t)
  let [calling, calls] = [true, 0]
  const loops = Array.from({ length: 16 }, async () => {
    for (; calling; calls++) assert.equal((await gateway.chat(ask('auto'))).status, 200)
  })
  for (let read = 0; read < (IS_FULL ? 50 : 20); read++) {
    const before = calls
    assert.equal((await gateway.get('/api/usage/request-logs?limit=1')).status, 200)
    assert.ok(calls - before < 10 * 16, `${calls - before} calls ended before the read`)
  }
  calling = false
  await Promise.all(loops)
})
