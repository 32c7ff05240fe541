// LIFE-04: another program locks the database. Calls are refused immediately instead of waiting for the lock,
// and /readyz reports it within about a second.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Pool } from 'undici'
import { ask, testGateway } from '../../test/test-gateway.ts'
import { judgeIdle } from '../../test/test-size.ts'
import { until } from '../../test/test-until.ts'
import { BUSY_MS, databaseFile } from './open.ts'

for (const [what, clients] of [
  ['8 clients', 8],
  ['100 clients', 100],
  ['one client', 1],
] as const)
  test(`while another program holds a lock, calls from ${what} are refused immediately, and /readyz reports it (LIFE-04)`, async (t) => {
    const gateway = await testGateway(t, { options: { threads: true } })
    for (let call = 0; call < 20; call++) assert.equal((await gateway.chat(ask('auto'))).status, 200)
    // With a connection for each client: Node accepts one new connection in each turn of a busy event loop.
    const pool = new Pool(gateway.url, { connections: clients })
    t.after(() => pool.destroy())
    const rude = new Database(databaseFile(gateway.data))
    t.after(() => rude.close())
    rude.exec('BEGIN IMMEDIATE')
    const locked = performance.now()
    const spent = gateway.received()
    let notReady = Number.POSITIVE_INFINITY
    let calling = true
    const waits: { readonly from: number; readonly ms: number }[] = []
    const loops = Array.from({ length: clients }, async () => {
      while (calling) {
        const from = performance.now()
        const { statusCode, body } = await pool.request({
          method: 'POST',
          path: '/v1/chat/completions',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(ask('auto')),
        })
        const { error } = (await body.json()) as any
        assert.deepEqual([statusCode, error.code], [503, 'log_unavailable'])
        waits.push({ from, ms: performance.now() - from })
      }
    })
    while (notReady === Number.POSITIVE_INFINITY && performance.now() < locked + 60_000) {
      if ((await gateway.get('/readyz')).status === 503) notReady = performance.now() - locked
      else await sleep(10)
    }
    const isLater = ({ from }: { from: number }) => from > locked + notReady + 50
    const end = performance.now() + 1_500
    while (
      performance.now() < end ||
      (waits.filter(isLater).length <= clients && performance.now() < end + 20_000)
    )
      await sleep(50)
    calling = false
    await Promise.all(loops)
    const single: number[] = []
    for (let n = 0; n < 5; n++) {
      const from = performance.now()
      assert.equal((await gateway.chat(ask('auto'))).status, 503)
      single.push(performance.now() - from)
    }
    assert.equal(gateway.received(), spent)
    const longest = Math.max(...waits.map(({ ms }) => ms))
    const later = waits.filter(isLater).map(({ ms }) => ms)
    const fastest = Math.min(...single)
    t.diagnostic(`${later.length} later refusals; alone, the fastest after ${fastest.toFixed(1)} ms`)
    assert.ok(Number.isFinite(notReady), '/readyz reports it')
    assert.ok(later.length > clients, 'refused again and again')
    assert.ok(fastest < BUSY_MS / 2, 'without waiting for the lock')
    judgeIdle(t, 'not ready after, ms', notReady, 2_000)
    judgeIdle(t, 'longest refusal, ms', longest, 2_500)
    judgeIdle(t, 'longest later refusal, ms', Math.max(...later), 400)
    rude.exec('ROLLBACK')
    await until('ready again', async () => (await gateway.get('/readyz')).status === 200)
    assert.equal((await gateway.chat(ask('auto'))).status, 200)
  })

test('calls wait for a brief lock, and no call is refused (LIFE-04)', async (t) => {
  const gateway = await testGateway(t, { options: { threads: true } })
  const rude = new Database(databaseFile(gateway.data))
  t.after(() => rude.close())
  rude.exec('BEGIN IMMEDIATE')
  const calls = Array.from({ length: 8 }, () => gateway.chat(ask('auto')))
  await sleep(300)
  rude.exec('ROLLBACK')
  for (const { status } of await Promise.all(calls)) assert.equal(status, 200)
})
