// The list equals the table. If the table cannot be read, the list reports an error.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { ask, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'

test('the list has exactly the rows of call_logs, with the same values (LOG-13)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(500), beta: answer() },
    config: TWO_TARGETS,
  })
  for (let i = 0; i < 7; i++) {
    const { headers } = await gateway.chat(ask(i % 2 ? 'auto' : 'beta/other'), { 'x-session-id': `s-${i}` })
    await gateway.record(headers.get('x-gateway-request-id'))
  }
  const db = new Database(join(gateway.data, 'waybill.db'), { readonly: true })
  t.after(() => db.close())
  const rows = db.prepare('SELECT * FROM call_logs ORDER BY id DESC').all() as Record<string, any>[]
  const { json } = await gateway.get('/api/usage/request-logs?limit=200')
  assert.deepEqual(
    json.data.map((record: any) => record.id),
    rows.map(({ id }) => id),
  )
  const same =
    'state endpoint requested_model resolved_provider resolved_model picked_provider picked_model response_model'
  const more =
    'route strategy tier session_id agent_id purpose key_name status error_code attempts fallbacks latency_ms ttft_ms'
  for (const [index, row] of rows.entries()) {
    const record = json.data[index]
    for (const name of `${same} ${more} cost_usd cache saved_usd`.split(' '))
      assert.equal(record[name], row[name], `${row.id} ${name}`)
    assert.equal(Date.parse(record.created_at), row.created_at)
    assert.equal(Date.parse(record.completed_at), row.completed_at)
    assert.equal(record.tokens.input, row.tokens_input)
    assert.equal(record.tokens.output, row.tokens_output)
  }
})

test('a table that cannot be read is reported as a 503 in the usual error shape, never as an empty list (LOG-11)', async (t) => {
  const said: string[] = []
  const gateway = await testGateway(t, {
    options: { log: { error: (_, text) => void said.push(text), warn() {}, info() {}, debug() {} } },
  })
  await gateway.record((await gateway.chat(ask('auto'))).headers.get('x-gateway-request-id'))
  const other = new Database(join(gateway.data, 'waybill.db'))
  other.exec('ALTER TABLE call_logs RENAME TO gone')
  for (const path of [
    '/api/usage/request-logs',
    '/api/usage/request-logs/x',
    '/api/statusline?session_id=s',
  ]) {
    const { status, json, text } = await gateway.get(path)
    assert.deepEqual([status, json.error.code], [503, 'log_unavailable'], path)
    assert.doesNotMatch(text, /call_logs|SQL/, 'the cause is for the log only')
  }
  other.exec('ALTER TABLE gone RENAME TO call_logs')
  other.close()
  assert.equal((await gateway.get('/api/usage/request-logs')).json.data.length, 1)
  assert.deepEqual(said, Array(3).fill('the request log failed'))
})

test('the list can be filtered by the purpose of calls, with or without other filters (DIAL-10)', async (t) => {
  const gateway = await testGateway(t)
  const tools = [{ type: 'function', function: { name: 'read' } }]
  const session = { 'x-claude-code-session-id': 's' }
  for (const [headers, more, model] of [
    [{}, {}, 'alpha/plain'],
    [session, { tools }, 'alpha/turn'],
    [session, {}, 'alpha/title'],
    [{ ...session, 'x-claude-code-agent-id': 'a' }, { tools }, 'alpha/agent'],
    [{ 'x-codex-turn-metadata': '{"request_kind":"compaction"}' }, {}, 'alpha/summary'],
  ] as const)
    await gateway.record((await gateway.chat(ask(model, more), headers)).headers.get('x-gateway-request-id'))
  const models = async (query: string) =>
    (await gateway.get(`/api/usage/request-logs?${query}`)).json.data.map((row: any) => row.resolved_model)
  assert.deepEqual(await models('purpose=main'), ['turn', 'plain'])
  assert.deepEqual(await models('purpose=background'), ['title'])
  assert.deepEqual(await models('purpose=subagent'), ['agent'])
  assert.deepEqual(await models('purpose=compaction'), ['summary'])
  assert.deepEqual(await models('purpose=background&session_id=s&model=title'), ['title'])
  assert.equal((await gateway.get('/api/usage/request-logs?purpose=fun')).status, 400)

  const db = new Database(join(gateway.data, 'waybill.db'), { readonly: true })
  t.after(() => db.close())
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN SELECT * FROM call_logs WHERE purpose = ? AND purpose <> 'main' AND id < ?`)
    .all('background', 'g') as { detail: string }[]
  assert.match(plan[0]!.detail, /call_logs_purpose/)
})

test('a call is found by the name of its client as shown, and by the whole User-Agent', async (t) => {
  const gateway = await testGateway(t)
  const agents = [
    'claude-cli/2.1.332 (external, cli)',
    'claude-cli-2/1',
    'claude-cli',
    'Claude-cli/1',
    'プログラム/1',
    'a%b_c/1',
    'aXbYc/1',
  ]
  for (const agent of agents) {
    const { headers } = await gateway.chat(ask('auto'), {
      'user-agent': Buffer.from(agent).toString('latin1'),
    })
    await gateway.record(headers.get('x-gateway-request-id'))
  }
  const found = async (client: string) =>
    (await gateway.get(`/api/usage/request-logs?${new URLSearchParams({ client })}`)).json.data.map(
      (record: any) => record.client,
    )
  const shown = async (name: string) => (await found(name)).map((client: string) => client.split('/', 1)[0])
  assert.deepEqual(await found('claude-cli'), ['claude-cli', agents[0]])
  assert.deepEqual(await found(agents[0]!), [agents[0]])
  assert.deepEqual(await found('claude'), [])
  const { data } = (await gateway.get('/api/usage/request-logs')).json
  for (const { client } of data) {
    const name = client.split('/', 1)[0]
    assert.ok(
      (await shown(name)).every((each: string) => each === name) && (await shown(name)).length > 0,
      name,
    )
  }
})
