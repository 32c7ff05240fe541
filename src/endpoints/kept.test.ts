// Kept calls over a real socket: they are what the client sent and got, and only where it was asked for.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { answer, chunk, DONE, fail, type Script, stream } from '../../mocks/test-upstream.ts'
import { ALL } from '../dialects/test-samples.ts'
import { createSealer } from '../responses-store/response-store.ts'
import { SYSTEM_CLOCK } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { ask, type Setup, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const KEY = { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) }
const start = (t: TestContext, setup: Setup = {}) => testGateway(t, { env: KEY, ...setup })
const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
const JSON_TYPE = { 'content-type': 'application/json' }
const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })

const post = (gateway: TestGateway, path: string, body: unknown, headers: Record<string, string> = {}) =>
  gateway.get(path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

const kept = (gateway: TestGateway, id: string | null, headers = {}) =>
  gateway.get(`/api/usage/request-logs/${id}/kept`, { headers })

const untilKept = (gateway: TestGateway, id: string | null, headers = {}) =>
  until('the call is kept', async () => (await kept(gateway, id, headers)).status === 200)

/** Makes a call, and returns its id once it is kept. */
async function keepOne(
  gateway: TestGateway,
  { path = '/keep/v1/chat/completions', headers = {}, more = {} } = {},
) {
  const asked = { ...ask('auto', more), messages: [{ role: 'user', content: 'PROMPT-CANARY' }] }
  const { headers: got, text } = await post(gateway, path, asked, headers)
  const id = got.get('x-gateway-request-id')
  await untilKept(gateway, id, headers)
  return { id, text, asked: JSON.stringify(asked) }
}

/** Returns true if any file below a directory contains a text. */
const holds = (directory: string, text: string): boolean =>
  readdirSync(directory, { recursive: true, withFileTypes: true }).some(
    (each) => each.isFile() && readFileSync(join(each.parentPath, each.name)).includes(text),
  )

test('a kept call is byte for byte what its client sent and got, in every dialect, whole and streamed (STEP-01)', async (t) => {
  for (const [name, dialect, samples] of ALL.filter(([name]) => name !== 'toy')) {
    const script: Script = (res, { json, path }) =>
      json.stream || path.includes('stream')
        ? res.writeHead(200, { 'content-type': 'text/event-stream' }).end(samples.stream('m'))
        : res.writeHead(200, JSON_TYPE).end(samples.answer('m', {}))
    const gateway = await start(t, { providers: { alpha: script }, dialects: { alpha: [name] } })
    for (const streaming of dialect.blocks ? [false, true] : [false]) {
      const path = pathOf(dialect.client.path, streaming)
      const body = samples.request('alpha/m', streaming)
      const { status, text, headers } = await gateway.get(`/keep${path}`, {
        method: 'POST',
        headers: JSON_TYPE,
        body,
      })
      assert.equal(status, 200, `${name}: ${text}`)
      const id = headers.get('x-gateway-request-id')
      await untilKept(gateway, id)
      const { json } = await kept(gateway, id)
      assert.equal(json.request, body)
      assert.equal(json.answer, text)
      assert.equal(json.status, 200)
      if (!dialect.blocks) continue
      assert.ok(
        json.input.some((part: any) => part.role === 'user' && part.text !== ''),
        name,
      )
      assert.ok(
        json.output.some((part: any) => part.kind === 'text' && part.text !== ''),
        `${name} ${streaming}`,
      )
    }
  }
})

const pathOf = (path: string, streaming: boolean) =>
  path
    .replace('*', 'alpha/m')
    .replace('generateContent', streaming ? 'streamGenerateContent?alt=sse' : 'generateContent')

const RELAYED = {
  messages: { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a, b', 'anthropic-new': 'CANARY-1' },
  responses: { 'openai-beta': 'c=v1', 'x-codex-window-id': 'CANARY-2' },
  gemini: { 'x-goog-request-params': 'CANARY-3' },
  chat: {},
}
const SECRETS = {
  cookie: 'a=SECRET-CANARY',
  'x-openai-actor-authorization': 'SECRET-CANARY',
  'anthropic-session-token': 'SECRET-CANARY',
  'x-goog-user-project': 'SECRET-CANARY',
  'x-goog-api-client': 'gl-node/24',
  'x-other': 'SECRET-CANARY',
}
test('of the headers, those are kept that are relayed to the provider and hold no secret, and as unreadable as the body (STEP-01, STEP-02)', async (t) => {
  for (const [name, dialect, samples] of ALL) {
    const relayed = RELAYED[name as keyof typeof RELAYED]
    if (!relayed) continue
    const gateway = await start(t, {
      providers: { alpha: (res) => res.writeHead(200, JSON_TYPE).end(samples.answer('m', {})) },
      dialects: { alpha: [name] },
      config: `routes: { auto: { targets: [ { model: alpha/m } ] } }
keys: [ { name: ann, digest: "${digest('key-of-ann')}" } ]`,
    })
    const path = `/keep${pathOf(dialect.client.path, false)}`
    const headers = { ...JSON_TYPE, ...as('ann'), 'x-api-key': 'key-of-ann', ...SECRETS, ...relayed }
    const body = samples.request('alpha/m', false)
    const made = await gateway.get(path, { method: 'POST', headers, body })
    assert.equal(made.status, 200, made.text)
    const id = made.headers.get('x-gateway-request-id')
    await untilKept(gateway, id, as('ann'))
    assert.deepEqual((await kept(gateway, id, as('ann'))).json.headers, relayed)
    for (const [name, value] of Object.entries(relayed))
      assert.equal(gateway.upstream.alpha!.ledger[0]!.headers[name], value)
    await gateway.gateway.close()
    assert.equal(holds(gateway.data, 'CANARY'), false)
  }
})

test('a call that was kept before headers were is read without them', async (t) => {
  const gateway = await start(t)
  const { id, asked } = await keepOne(gateway)
  await gateway.gateway.close()
  const sealer = createSealer(KEY.WAYBILL_RESPONSES_KEY)
  const place = JSON.stringify([id, 'calls of '])
  const database = new Database(databaseFile(gateway.data))
  const { sealed } = database.prepare('SELECT sealed FROM kept_responses WHERE id = ?').get(id) as any
  const { headers, ...old } = JSON.parse(gunzipSync(sealer.open(sealed, place)).toString())
  assert.deepEqual(headers, {})
  const again = sealer.seal(gzipSync(JSON.stringify(old)), place)
  assert.equal(
    database.prepare('UPDATE kept_responses SET sealed = ? WHERE id = ?').run(again, id).changes,
    1,
  )
  database.close()
  const { status, json } = await kept(await start(t, { data: gateway.data }), id)
  assert.deepEqual([status, json.request, json.headers], [200, asked, {}])
})

test('what cannot be written on a full disk is one line of the log, and its deletion is refused with 503', async (t) => {
  const said: any[] = []
  const error = (fields: object, message?: string) => void said.push({ ...fields, message })
  const log = { error, warn() {}, info() {}, debug() {} }
  const gateway = await start(t, { options: { log } })
  const { id } = await keepOne(gateway, { headers: { 'x-session-id': 'one' } })
  const database = new Database(databaseFile(gateway.data))
  for (const event of ['INSERT', 'DELETE'])
    database.exec(
      `CREATE TRIGGER full_${event} BEFORE ${event} ON kept_responses BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`,
    )
  database.close()
  const { headers } = await post(gateway, '/keep/v1/chat/completions', ask('auto'))
  await until('the failure is in the log', () => said.length > 0)
  assert.deepEqual(said[0], {
    request_id: headers.get('x-gateway-request-id'),
    reason: 'database or disk is full',
    message: 'the request log failed',
  })
  const { status, json } = await gateway.get('/api/kept/one', { method: 'DELETE' })
  assert.deepEqual([status, json.error.code], [503, 'log_unavailable'])
  assert.equal((await kept(gateway, id)).status, 200)
})

test('a failed call is kept with its error, and a call of a tool as a part (STEP-01)', async (t) => {
  const gateway = await start(t, { providers: { alpha: fail(400) } })
  const failed = await keepOne(gateway)
  const { json } = await kept(gateway, failed.id)
  assert.deepEqual([json.status, json.answer, json.output], [400, failed.text, []])
  assert.deepEqual(json.input, [{ role: 'user', kind: 'text', name: null, text: 'PROMPT-CANARY' }])

  const call = { id: 'c1', type: 'function', index: 0, function: { name: 'read', arguments: '{"a":1}' } }
  gateway.upstream.alpha!.script = stream(
    chunk({ content: 'I look.' }),
    chunk({ tool_calls: [call] }),
    chunk({}, { finish_reason: 'tool_calls' }),
    DONE,
  )
  const { id } = await keepOne(gateway, { more: { stream: true } })
  assert.deepEqual((await kept(gateway, id)).json.output, [
    { role: 'assistant', kind: 'text', name: null, text: 'I look.' },
    { role: 'assistant', kind: 'call', name: 'read', text: '{"a":1}' },
  ])
})

test('nothing of a prompt is on disk without being asked for, and nothing readable with it (STEP-02)', async (t) => {
  const said: unknown[] = []
  const note = (...line: unknown[]) => void said.push(line)
  const log = { error: note, warn: note, info: note, debug: note }
  const gateway = await start(t, { providers: { alpha: answer('ANSWER-CANARY') }, options: { log } })
  const { headers } = await post(gateway, '/v1/chat/completions', {
    ...ask('auto'),
    messages: [{ role: 'user', content: 'PROMPT-CANARY' }],
  })
  await gateway.record(headers.get('x-gateway-request-id'))
  assert.equal((await kept(gateway, headers.get('x-gateway-request-id'))).status, 404)
  const { id, asked, text } = await keepOne(gateway)
  await gateway.gateway.close()
  assert.equal(holds(gateway.data, 'CANARY'), false)
  assert.ok(said.length >= 2)
  assert.doesNotMatch(JSON.stringify(said), /CANARY/)

  const again = await start(t, { data: gateway.data })
  const { json } = await kept(again, id)
  assert.deepEqual([json.request, json.answer], [asked, text])
  await again.gateway.close()
  const other = await start(t, { data: gateway.data, env: { WAYBILL_RESPONSES_KEY: 'o'.repeat(44) } })
  const unreadable = await kept(other, id)
  assert.deepEqual([unreadable.status, unreadable.json.error.code], [500, 'response_unreadable'])
})

test('a kept call is read by its own key and by an admin only, and ends with its days (STEP-03)', async (t) => {
  const names = ['ann', 'bob']
  const setup = {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keep: { days: 1 }
keys: [ ${names.map((name) => `{ name: ${name}, digest: "${digest(`key-of-${name}`)}", keep: ${name === 'ann'} }`)}, { name: boss, role: admin, digest: "${digest('key-of-boss')}" } ]`,
  }
  const gateway = await start(t, setup)
  const { id } = await keepOne(gateway, { path: '/v1/chat/completions', headers: as('ann') })
  const status = async (name: string) => (await kept(gateway, id, as(name))).status
  assert.deepEqual([await status('ann'), await status('bob'), await status('boss')], [200, 404, 200])
  const bobs = await post(gateway, '/v1/chat/completions', ask('auto'), as('bob'))
  const bobsId = bobs.headers.get('x-gateway-request-id')
  await gateway.record(bobsId, as('bob'))
  assert.equal((await kept(gateway, bobsId, as('bob'))).status, 404)
  await gateway.gateway.close()
  const later = await start(t, {
    ...setup,
    data: gateway.data,
    clock: dated(() => SYSTEM_CLOCK.now() + 86_400_001),
  })
  assert.equal((await kept(later, id, as('ann'))).status, 404)
})

test('the kept calls of a session are deleted by one request, those of another key are not (STEP-03)', async (t) => {
  const gateway = await start(t, {
    config: `routes: { auto: { keep: true, targets: [ { model: alpha/model-a } ] } }
keys: [ ${['ann', 'bob'].map((name) => `{ name: ${name}, digest: "${digest(`key-of-${name}`)}" }`)} ]`,
  })
  const session = { 'x-gateway-session-id': 'a/session' }
  const made: { id: string | null; name: string }[] = []
  for (const name of ['ann', 'ann', 'bob']) {
    const headers = { ...as(name), ...session }
    made.push({ name, ...(await keepOne(gateway, { path: '/v1/chat/completions', headers })) })
  }
  const branch = { ...as('ann'), 'x-gateway-session-id': 'branch', 'x-gateway-parent': made[0]!.id! }
  const branched = await gateway.chat(ask('auto'), branch)
  await gateway.record(branched.headers.get('x-gateway-request-id'), as('ann'))
  const listed = async (name: string) =>
    (await gateway.get('/api/kept?session_id=a%2Fsession', { headers: as(name) })).json
  const branches = [{ session_id: 'branch', parent_id: made[0]!.id }]
  assert.deepEqual(await listed('ann'), { kept: [made[1]!.id, made[0]!.id], branches })
  assert.deepEqual(await listed('bob'), { kept: [made[2]!.id], branches: [] })
  const path = `/api/kept/${encodeURIComponent('a/session')}`
  const gone = await gateway.get(path, { method: 'DELETE', headers: as('ann') })
  assert.deepEqual([gone.status, gone.json], [200, { deleted: 2 }])
  assert.deepEqual(await listed('ann'), { kept: [], branches })
  for (const { id, name } of made)
    assert.equal((await kept(gateway, id, as(name))).status, name === 'ann' ? 404 : 200)
  assert.equal((await gateway.record(made[0]!.id, as('ann'))).session_id, 'a/session')
})

test('a gateway without an encryption key refuses to keep, before anything is spent (STEP-02)', async (t) => {
  for (const env of [{}, { WAYBILL_RESPONSES_KEY: 'too short' }]) {
    const gateway = await start(t, { env })
    const { status, json } = await post(gateway, '/keep/v1/chat/completions', ask('auto'))
    assert.equal(status, 400)
    assert.match(json.error.message, /no key to encrypt.*WAYBILL_RESPONSES_KEY/)
    assert.equal(gateway.received(), 0)
    assert.equal((await post(gateway, '/v1/chat/completions', ask('auto'))).status, 200)
  }
  await assert.rejects(
    start(t, { env: {}, config: 'routes: { auto: { keep: true, targets: [ { model: alpha/m } ] } }' }),
    /WAYBILL_RESPONSES_KEY is not set/,
  )
})

test('a call says its parent, and only ids of calls are parents (STEP-04)', async (t) => {
  const gateway = await start(t)
  const first = await gateway.chat(ask('auto'))
  const parent = first.headers.get('x-gateway-request-id')!
  for (const [sent, recorded] of [
    [parent, parent],
    ['no id', null],
    [`${parent}x`, null],
  ] as const) {
    const { headers } = await gateway.chat(ask('auto'), { 'x-gateway-parent': sent })
    assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).parent_id, recorded)
  }
  const { json } = await gateway.get(`/api/usage/request-logs?parent_id=${parent}`)
  assert.equal(json.data.length, 1)
  for (const { headers } of gateway.upstream.alpha!.ledger)
    assert.equal(headers['x-gateway-parent'], undefined)
})
