// Things that must never happen: a request to a provider without a call, and a write during a read.
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { READS } from '../gateway/endpoints.ts'
import { manualClock } from '../shared/test-clock.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const PATHS = READS.map(({ path }) =>
  path
    .replace('/v1/models/*', '/v1/models/auto')
    .replace('/v1beta/models/*', '/v1beta/models/auto')
    .replace('/api/cloud/model/resolve', '/api/cloud/model/resolve?model=auto')
    .replace('/api/usage/what-if', '/api/usage/what-if?route=auto')
    .replace('/api/kept', '/api/kept?session_id=s'),
).filter((path) => !path.includes('*'))

const IDLE_MS = 600_000

test('a starting or idle gateway sends nothing to any provider, and opens no connection to any provider (PURE-02)', async (t) => {
  const manual = manualClock()
  const gateway = await testGateway(t, { clock: manual })
  let connections = 0
  gateway.upstream.alpha!.onConnection(() => connections++)
  await manual.advance(IDLE_MS)
  assert.deepEqual([gateway.received(), connections], [0, 0])
  await gateway.chat(ask('auto'))
  assert.deepEqual([gateway.received(), connections], [1, 1], 'and the way was open')
})

test('reads change neither the database nor its write-ahead log (PURE-05)', async (t) => {
  const before = await testGateway(t)
  const { headers } = await before.chat(ask('auto'), { 'x-session-id': 's' })
  const id = headers.get('x-gateway-request-id')!
  await before.gateway.close() // no write for the call is pending any longer
  const gateway = await testGateway(t, { data: before.data })
  const file = join(gateway.data, 'waybill.db')
  const db = new Database(file, { readonly: true })
  t.after(() => db.close())
  const state = () => [
    db.pragma('data_version', { simple: true }),
    ...[file, `${file}-wal`].map((each) => statSync(each).mtimeMs),
  ]
  const quiet = state()
  for (let round = 0; round < 3; round++)
    for (const path of [
      ...PATHS,
      `/api/usage/request-logs/${id}`,
      `/api/usage/request-logs/${id}/artifact`,
      '/api/sessions/s',
      '/api/usage/history?window=30d&by=model',
    ])
      for (const method of ['GET', 'HEAD', 'OPTIONS'])
        assert.ok((await gateway.get(path, { method })).status < 400, path)
  assert.deepEqual(state(), quiet)
  await gateway.chat(ask('auto'))
  assert.notDeepEqual(state(), quiet, 'a call does change them')
})
