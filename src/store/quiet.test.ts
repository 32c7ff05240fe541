// PURE-05, LOG-13: reading changes not one byte, and the list is the table.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { answer, fail } from '../../mocks/stand-in.ts'
import { ask, TWO_TARGETS, underTest } from '../under-test.ts'
import { databaseFile } from './open.ts'

const READS = [
  '/healthz',
  '/readyz',
  '/v1/models',
  '/v1beta/models',
  '/api/cloud/model/resolve?model=auto',
  '/api/usage/request-logs?status=error&provider=beta',
  '/api/usage/logs?limit=200',
  '/api/usage/history?window=30d&by=model',
  '/api/usage/history?bucket=1m',
  '/api/sessions',
  '/api/sessions/s-1',
  '/api/analytics/auto-routing',
  '/api/statusline?session_id=s-1&model=auto&columns=80',
  '/api/usage/request-logs?limit=0',
  '/nothing',
]

test('in a quiet window reads write nothing: data version and write-ahead log stay as they were (PURE-05)', async (t) => {
  const house = await underTest(t, { providers: { alpha: fail(500), beta: answer() }, config: TWO_TARGETS })
  let id = ''
  for (let call = 0; call < 20; call++)
    id = (await house.chat(ask('auto'), { 'x-session-id': 's-1' })).headers.get('x-gateway-request-id')!
  await sleep(6_000) // the last artifacts are written, and what is due is deleted
  const db = new Database(databaseFile(house.data), { readonly: true })
  const state = () => {
    const files = [databaseFile(house.data), `${databaseFile(house.data)}-wal`].map((file) => [
      statSync(file).mtimeMs,
      createHash('sha256').update(readFileSync(file)).digest('hex'),
    ])
    return [db.pragma('data_version', { simple: true }), files]
  }
  const before = state()
  for (let round = 0; round < 3; round++)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST'])
      for (const path of [
        ...READS,
        `/api/usage/request-logs/${id}`,
        `/api/usage/request-logs/${id}/artifact`,
      ])
        await house.get(path, { method })
  assert.deepEqual(state(), before)
  await house.chat(ask('auto'))
  assert.notDeepEqual(state(), before, 'and a call would have been seen')
  db.close()
})

test('the list is the table, field by field; the analytics name no call and no session (LOG-13, LOG-12)', async (t) => {
  const house = await underTest(t, {
    providers: { alpha: fail(500), beta: answer('ANSWER-CANARY') },
    config: TWO_TARGETS,
  })
  for (let call = 0; call < 10; call++)
    await house.chat(
      { ...ask(call % 2 ? 'auto' : 'beta/other'), messages: [{ role: 'user', content: 'PROMPT-CANARY' }] },
      { 'x-session-id': `session-${call % 3}` },
    )
  while ((await house.get('/api/usage/request-logs?state=routed')).json.data.length > 0) await sleep(5)
  const { json, text } = await house.get('/api/usage/request-logs')
  const db = new Database(databaseFile(house.data), { readonly: true })
  const table = db
    .prepare<[], Record<string, any>>(
      'SELECT call_logs.*, snapshot FROM call_logs LEFT JOIN prices ON prices.id = price_id ORDER BY call_logs.id DESC',
    )
    .all()
  db.close()
  const iso = (ms: number) => new Date(ms).toISOString()
  assert.deepEqual(
    json.data,
    table.map(({ tokens_input: input, tokens_output: output, tokens_cached_input: cached_input, ...row }) => {
      const {
        tokens_cache_write: cache_write,
        tokens_reasoning: reasoning,
        tokens_source: source,
        ...rest
      } = row
      const { price_id: _, snapshot, ...fields } = rest
      return {
        ...fields,
        created_at: iso(row.created_at),
        completed_at: iso(row.completed_at),
        decision: JSON.parse(row.decision),
        stream: row.stream === 1,
        tokens: { input, output, cached_input, cache_write, reasoning, source },
        price: snapshot && JSON.parse(snapshot),
      }
    }),
  )
  const lists = [text, (await house.get('/api/usage/logs')).text, (await house.get('/api/sessions')).text]
  for (const list of lists) assert.doesNotMatch(list, /CANARY/)
  const analytics = (await house.get('/api/analytics/auto-routing')).text
  for (const { id, session_id } of table)
    assert.ok(!analytics.includes(id) && !analytics.includes(session_id))
})
