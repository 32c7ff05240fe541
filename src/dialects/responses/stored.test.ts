// Responses that the gateway itself stores. Any provider can continue them, and deleting one removes all its
// data.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Script } from '../../../mocks/test-upstream.ts'
import { clock } from '../../shared/clock.ts'
import { dated } from '../../shared/test-clock.ts'
import { databaseFile } from '../../store/sqlite/open.ts'
import { type Setup, type TestGateway, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { samples as chat } from '../chat/test-samples.ts'
import { message, response } from './test-samples.ts'

const KEY = 'k'.repeat(44)
const ROUTES = `responses: { store: { enabled: true } }
routes:
  auto: { targets: [ { model: alpha/m }, { model: beta/m } ] }
  there: { targets: [ { model: beta/m } ] }`

/** Starts a gateway. Provider alpha speaks responses, and beta speaks chat. */
const start = (t: TestContext, setup: Setup & { readonly key?: string } = {}) =>
  testGateway(t, {
    dialects: { alpha: ['responses'], beta: ['chat'] },
    providers: { alpha: whole('resp_a', 'the fox', 1), beta: chatAnswer },
    config: ROUTES,
    env: { WAYBILL_RESPONSES_KEY: setup.key ?? KEY },
    ...setup,
  })

const JSON_TYPE = { 'content-type': 'application/json' }
/** The second answer's id ends in 2, the third one's in 3, and so on. */
const whole =
  (name: string, text: string, made = 0): Script =>
  (res) => {
    const id = `${name}${made++ || ''}`
    res
      .writeHead(200, JSON_TYPE)
      .end(JSON.stringify(response('m', 'completed', { id, store: true, output: [message(text)] })))
  }
const chatAnswer: Script = (res, { json }) =>
  json.stream
    ? res.writeHead(200, { 'content-type': 'text/event-stream' }).end(chat.stream('m'))
    : res.writeHead(200, JSON_TYPE).end(chat.answer('m', {}))

async function ask({ get }: TestGateway, more: object, headers: Record<string, string> = {}) {
  return get('/v1/responses', {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify({ model: 'auto', input: 'where to?', ...more }),
  })
}

test('a stored response is continued by its id at its own provider, and sent in full to any other provider (RSP-06)', async (t) => {
  const gateway = await start(t)
  const { alpha, beta } = gateway.upstream
  const first = await ask(gateway, {})
  assert.equal(first.json.id, 'resp_a1')

  const same = await ask(gateway, { input: 'and then?', previous_response_id: 'resp_a1' })
  assert.equal(same.status, 200)
  const { previous_response_id, input } = alpha!.ledger.at(-1)!.json
  assert.deepEqual([previous_response_id, input], ['resp_a1', 'and then?'])

  const there = await ask(gateway, { model: 'there', input: 'and then?', previous_response_id: 'resp_a1' })
  assert.equal(there.status, 200)
  const said = (beta!.ledger.at(-1)!.json as any).messages.map((each: any) => [
    each.role,
    textOf(each.content),
  ])
  assert.deepEqual(said, [
    ['user', 'where to?'],
    ['assistant', 'the fox'],
    ['user', 'and then?'],
  ])
  // The translated answer can also be continued with the first provider.
  const back = await ask(gateway, { input: 'home', previous_response_id: there.json.id })
  assert.equal(back.status, 200)
  const sent = alpha!.ledger.at(-1)!.json as any
  assert.equal(sent.previous_response_id, undefined)
  assert.deepEqual(
    sent.input.map((each: any) => each.role),
    ['user', 'assistant', 'user', 'assistant', 'user'],
  )
  assert.ok(
    sent.input.every((each: any) => each.id === undefined),
    'ids of another provider stay here',
  )
})

const textOf = (content: any): string => (typeof content === 'string' ? content : content[0].text)

test('a provider that has deleted a response receives the whole conversation in a second request', async (t) => {
  const gateway = await start(t)
  const { alpha } = gateway.upstream
  await ask(gateway, {})
  alpha!.script = (res, { json }) =>
    json.previous_response_id
      ? res.writeHead(400, JSON_TYPE).end('{"error":{"message":"gone","code":"previous_response_not_found"}}')
      : whole('resp_b', 'again')(res, { json } as never)
  const again = await ask(gateway, { input: 'and then?', previous_response_id: 'resp_a1' })
  assert.deepEqual([again.status, again.json.id], [200, 'resp_b'])
  assert.equal((alpha!.ledger.at(-1)!.json as any).input.length, 3)
})

test('a stored response can be read, streamed and listed at the gateway, even after a restart, and only with its own key (PURE-03)', async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const data = temporaryDirectory(t)
  const config = `${ROUTES}
keys: [ { name: one, role: admin, digest: "${digest('k1')}" }, { name: two, digest: "${digest('k2')}" } ]`
  const setup = { data, config }
  const [one, two] = ['k1', 'k2'].map((key) => ({ headers: { authorization: `Bearer ${key}` } }))
  const gateway = await start(t, setup)
  const streamed = await ask(gateway, { model: 'there', stream: true }, one!.headers)
  const id = /"id":"(resp_[^"]+)"/.exec(streamed.text)![1]!
  const unkept = await ask(gateway, { model: 'there', store: false }, one!.headers)
  await gateway.gateway.close()

  const again = await start(t, setup)
  const before = again.received()
  const kept = await again.get(`/v1/responses/${id}`, one)
  assert.deepEqual([kept.status, kept.json.id, kept.json.status], [200, id, 'completed'])
  const items = await again.get(`/v1/responses/${id}/input_items`, one)
  assert.deepEqual(
    items.json.data.map((each: any) => [each.role, each.content]),
    [['user', 'where to?']],
  )
  for (const [path, as] of [
    [id, two],
    [`${id}/input_items`, two],
    [unkept.json.id, one],
  ] as const)
    assert.equal((await again.get(`/v1/responses/${path}`, as)).status, 404)
  const stolen = await ask(again, { previous_response_id: id }, two!.headers)
  assert.deepEqual([stolen.status, stolen.json.error.code], [400, 'previous_response_not_found'])
  const cancelled = await again.get(`/v1/responses/${id}/cancel`, { method: 'POST', ...one })
  assert.deepEqual([cancelled.status, cancelled.json.error.code], [400, 'invalid_request'])
  for (const query of ['limit=0', 'after=nothing']) {
    const wrong = await again.get(`/v1/responses/${id}/input_items?${query}`, one)
    assert.equal(wrong.status, 400)
  }
  assert.equal(again.received(), before, 'no provider was asked')
})

test('a deleted response leaves nothing in the database or its log, and a changed store key causes an explicit error', async (t) => {
  const data = temporaryDirectory(t)
  const gateway = await start(t, { data })
  const first = await ask(gateway, { model: 'there' })
  const second = await ask(gateway, { model: 'there', input: 'on', previous_response_id: first.json.id })
  const file = databaseFile(data)
  const db = new Database(file, { readonly: true })
  const { sealed } = db
    .prepare<[string], { sealed: string }>('SELECT sealed FROM kept_responses WHERE id = ?')
    .get(first.json.id)!
  db.close()
  assert.ok(bytesOf(file).includes(sealed.slice(0, 60)))
  assert.ok(!bytesOf(file).includes('where to?'), 'never in clear')
  const deleted = await gateway.get(`/v1/responses/${first.json.id}`, { method: 'DELETE' })
  assert.deepEqual(deleted.json, { id: first.json.id, object: 'response', deleted: true })
  assert.ok(!bytesOf(file).includes(sealed.slice(0, 60)), 'gone')
  assert.equal((await gateway.get(`/v1/responses/${first.json.id}`, { method: 'DELETE' })).status, 404)
  for (const { json } of [first, second]) {
    const lost = await ask(gateway, { previous_response_id: json.id })
    assert.deepEqual([lost.status, lost.json.error.code], [400, 'previous_response_not_found'])
  }
  const { json: third } = await ask(gateway, { model: 'there' })
  await gateway.gateway.close()

  const other = await start(t, { data, key: 'o'.repeat(44) })
  const read = await other.get(`/v1/responses/${third.id}`)
  assert.deepEqual([read.status, read.json.error.code], [500, 'response_unreadable'])
  assert.match(read.json.error.message, /encrypted with another key/)
  const continued = await ask(other, { model: 'there', previous_response_id: third.id })
  assert.deepEqual([continued.status, continued.json.error.code], [400, 'previous_response_not_found'])
  assert.match(continued.json.error.message, /encrypted with another key/)
  assert.equal((await other.get(`/v1/responses/${third.id}`, { method: 'DELETE' })).status, 200)
})

/** Returns everything in the database's files as one text. */
const bytesOf = (file: string): string =>
  ['', '-wal'].map((end) => readFileSync(`${file}${end}`, 'latin1')).join()

test('a response expires after the configured number of days and cannot be continued afterwards', async (t) => {
  let now = clock.now()
  const gateway = await start(t, { clock: dated(() => now) })
  const { json: old } = await ask(gateway, { model: 'there' })
  now += 29 * 86_400_000
  const { json: late } = await ask(gateway, { model: 'there', input: 'on', previous_response_id: old.id })
  now += 2 * 86_400_000
  assert.equal((await gateway.get(`/v1/responses/${old.id}`)).status, 404)
  assert.equal((await gateway.get(`/v1/responses/${late.id}`)).status, 200)
  assert.equal((await ask(gateway, { model: 'there', previous_response_id: old.id })).status, 400)
  assert.equal((await ask(gateway, { model: 'there', previous_response_id: late.id })).status, 200)
})

test('the store’s key must be set and long enough', async (t) => {
  await assert.rejects(start(t, { env: {} }), /responses\.store\.key.*WAYBILL_RESPONSES_KEY/)
  await assert.rejects(start(t, { env: { WAYBILL_RESPONSES_KEY: 'short' } }), /32 characters or more/)
})
