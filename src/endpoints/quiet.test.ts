// Things that must never happen: a request to a provider without a call, a write during a read, and an addition to a
// provider's words.
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { answer, chunk, DONE, stream, usageChunk } from '../../mocks/test-upstream.ts'
import { READS } from '../gateway/endpoints.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const PATHS = READS.map(({ path }) =>
  path
    .replace('/v1/models/*', '/v1/models/auto')
    .replace('/v1beta/models/*', '/v1beta/models/auto')
    .replace('/api/cloud/model/resolve', '/api/cloud/model/resolve?model=auto'),
).filter((path) => !path.includes('*'))

/**
 * The conformance suite tests the contract's 60 s. An unprompted request would start within this time, or both tests
 * would miss it.
 */
const IDLE_MS = 3_000

test('a starting or idle gateway sends nothing to any provider, and opens no connection to any provider (PURE-02)', async (t) => {
  const gateway = await testGateway(t)
  let connections = 0
  gateway.upstream.alpha!.onConnection(() => connections++)
  await sleep(IDLE_MS)
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

test('session and cache headers have only their defined values, and appear only on live answers (TELL-04)', async (t) => {
  const gateway = await testGateway(t)
  for (const more of [{}, { stream: true }]) {
    const { headers } = await gateway.chat(ask('auto', more), { 'x-session-id': 's 1' })
    assert.match(headers.get('x-gateway-cache')!, /^(HIT|MISS|BYPASS)$/)
    assert.equal(headers.get('x-gateway-session-id'), 's 1')
  }
  assert.equal(
    (await gateway.chat(ask('auto'))).headers.get('x-gateway-session-id'),
    null,
    'absent where there is none',
  )
  for (const path of PATHS) {
    const { headers } = await gateway.get(path, { headers: { 'x-session-id': 's 1' } })
    for (const name of ['x-gateway-cache', 'x-gateway-session-id'])
      assert.equal(headers.get(name), null, `${path} ${name}`)
  }
})

const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 4 },
}

test('an answer and its usage arrive exactly as the provider sent them (TELL-05, USE-01)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer('Seven words, and not one of ours.', USAGE) },
  })
  const { json } = await gateway.chat(ask('auto'))
  assert.equal(json.choices[0].message.content, 'Seven words, and not one of ours.')
  assert.deepEqual(json.usage, USAGE)

  const events = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Seven ' }),
    chunk({ content: 'words.' }),
    chunk({}, { finish_reason: 'stop' }),
    usageChunk({ usage: USAGE }),
    DONE,
  ]
  gateway.upstream.alpha!.script = stream(...events)
  const { text } = await gateway.chat(ask('auto', { stream: true, stream_options: { include_usage: true } }))
  assert.equal(text, events.join(''))
})

test('comments and pings neither end nor corrupt a stream (FLOW-04)', async (t) => {
  const [role, first, last] = [
    chunk({ role: 'assistant' }),
    chunk({ content: 'a' }),
    chunk({ content: 'b' }, { finish_reason: 'stop' }),
  ]
  const gateway = await testGateway(t, {
    providers: {
      alpha: stream(
        ': waiting\n\n',
        20,
        ': waiting\n\n',
        role,
        ': ping\n\n',
        20,
        first,
        ':\n\n',
        last,
        ': end\n\n',
        DONE,
      ),
    },
  })
  const { text, headers } = await gateway.chat(ask('auto', { stream: true }))
  assert.equal(text.replace(/^:.*\n\n/gm, ''), role + first + last + DONE)
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'completed')
})
