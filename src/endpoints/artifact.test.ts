// Artifacts over a real socket: their contents, their omissions, who may see them, and when they are deleted.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer, chunk, DONE, fail, stream, streamed } from '../../mocks/test-upstream.ts'
import {
  ask,
  providerKey,
  type TestGateway,
  TWO_TARGETS,
  temporaryDirectory,
  testGateway,
} from '../test/test-gateway.ts'
import { artifact as endpoint } from './request-logs.ts'

const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`

/** Reads the artifact of a call that is over. */
async function read(gateway: TestGateway, id: string | null, headers = {}) {
  const { status, json, text } = await gateway.get(`/api/usage/request-logs/${id}/artifact`, { headers })
  if (status === 200) assert.deepEqual(endpoint.response.parse(json), json)
  return { status, json, text }
}

/** Reads the artifact of a call once its record is closed. */
async function readAtEnd(gateway: TestGateway, id: string | null, headers = {}) {
  await gateway.record(id, headers)
  return read(gateway, id, headers)
}

test('an artifact lists the names of a request’s first hundred fields and skips any name that is too long (LIFE-03)', async (t) => {
  const gateway = await testGateway(t)
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field-${n}`, n]))
  const { headers } = await gateway.chat(ask('auto', { ['long'.repeat(100)]: 1, ...many }))
  const { fields } = (await readAtEnd(gateway, headers.get('x-gateway-request-id'))).json.request
  assert.deepEqual(fields.slice(0, 3), ['model', 'messages', 'field-0'])
  assert.equal(fields.length, 100)
})

test('an artifact contains every exchange with sizes and times, but no bodies or keys (KEEP-01)', async (t) => {
  const gateway = await testGateway(t, {
    providers: {
      alpha: fail(429, { 'retry-after': '7', 'set-cookie': 'COOKIE-CANARY', 'x-request-id': 'r-1' }),
      beta: stream(chunk({ content: 'ANSWER-CANARY' }), 60, chunk({}, { finish_reason: 'stop' }), DONE),
    },
    config: TWO_TARGETS,
  })
  const { headers } = await gateway.chat(
    { ...ask('auto', { stream: true }), messages: [{ role: 'user', content: 'PROMPT-CANARY' }] },
    { 'x-odd': 'HEADER-CANARY', 'user-agent': 'a client' },
  )
  const id = headers.get('x-gateway-request-id')
  const { json, text } = await readAtEnd(gateway, id)
  assert.doesNotMatch(text, /CANARY/)
  assert.doesNotMatch(text, new RegExp(`${providerKey('alpha')}|${providerKey('beta')}`))
  assert.deepEqual(json.request.fields, ['model', 'messages', 'stream'])
  assert.equal(json.request.headers['user-agent'], 'a client')
  assert.equal(json.request.headers['x-odd'], null)
  const [first, second] = json.exchanges
  assert.deepEqual(
    [
      first.provider,
      first.answer.status,
      first.answer.headers['retry-after'],
      first.answer.headers['set-cookie'],
    ],
    ['alpha', 429, '7', null],
  )
  assert.equal(first.request.headers.authorization, null)
  assert.equal(first.request.path, '/v1/chat/completions')
  assert.deepEqual([second.n, second.model, second.answer.end], [2, 'model-b', 'complete'])
  assert.ok(second.answer.chunks.length >= 2)
  assert.ok(second.answer.chunks.at(-1).at_ms - second.answer.chunks[0].at_ms > 30, 'the pause is seen')
  assert.equal(
    second.answer.bytes,
    second.answer.chunks.reduce((sum: number, { bytes }: any) => sum + bytes, 0),
  )
  assert.equal(json.outcome.state, 'completed')

  const record = await gateway.record(id)
  assert.deepEqual(record.artifact, { available: true, bytes: Buffer.byteLength(text) })
  await gateway.gateway.close() // the artifact is written to the database
  const again = await testGateway(t, {
    config: TWO_TARGETS,
    providers: { alpha: answer(), beta: answer() },
    data: gateway.data,
  })
  assert.equal((await read(again, id)).text, text)
  assert.deepEqual((await again.record(id)).artifact, record.artifact)
})

test('bodies are stored only if configured, without keys that a provider repeats', async (t) => {
  const echo = `you sent ${providerKey('alpha')} and key-of-boss`
  const gateway = await testGateway(t, {
    providers: { alpha: answer(echo) },
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }
artifacts: { bodies: true }
keys: [ { name: boss, role: admin, digest: "${digest('key-of-boss')}" } ]`,
  })
  const headers = { authorization: 'Bearer key-of-boss' }
  const script = [answer(echo), streamed(echo)]
  for (const streaming of [false, true]) {
    gateway.upstream.alpha!.script = script[Number(streaming)]!
    const { headers: got } = await gateway.chat(ask('auto', { stream: streaming }), headers)
    const { json, text } = await readAtEnd(gateway, got.get('x-gateway-request-id'), headers)
    assert.match(json.request.body, /where to\?/)
    assert.match(json.exchanges[0].request.body, /"model-a"/)
    assert.match(json.exchanges[0].answer.body, /you sent \*\*\* and \*\*\*/)
    assert.doesNotMatch(text, /key-of-|sk-alpha/)
  }
})

test('only the newest artifacts are stored, and a client sees only its own artifacts (KEEP-04, LIFE-03)', async (t) => {
  const keys = ['ann', 'bob'].map((name) => `{ name: ${name}, digest: "${digest(`key-of-${name}`)}" }`)
  const config = `routes: { auto: { targets: [ { model: alpha/model-a } ] } }
artifacts: { keep: 3 }
keys: [ ${keys} ]`
  const data = temporaryDirectory(t)
  let gateway = await testGateway(t, { config, data })
  const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })
  const ids: string[] = []
  for (let round = 0; round < 2; round++) {
    for (let call = 0; call < 4; call++)
      ids.push((await gateway.chat(ask('auto'), as('ann'))).headers.get('x-gateway-request-id')!)
    await gateway.gateway.close() // artifacts are written to the database
    gateway = await testGateway(t, { config, data })
  }
  const found = async (name: string) =>
    Promise.all(ids.map(async (id) => (await read(gateway, id, as(name))).status))
  assert.deepEqual(await found('ann'), [404, 404, 404, 404, 404, 200, 200, 200])
  assert.deepEqual(
    await found('bob'),
    ids.map(() => 404),
  )
  const { json } = await gateway.get(`/api/usage/request-logs/${ids[0]}`, { headers: as('ann') })
  assert.deepEqual(json.artifact, { available: false, bytes: 0 })
})

test('a call without an answer also has an artifact', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: (response) => response.destroy() } })
  const { headers } = await gateway.chat(ask('auto'))
  const { json } = await readAtEnd(gateway, headers.get('x-gateway-request-id'))
  assert.equal(json.exchanges[0].answer.status, null)
  assert.match(json.exchanges[0].answer.end, /^(UND_ERR_SOCKET|ECONNRESET)$/)
  assert.deepEqual([json.outcome.state, json.outcome.error_code], ['failed', 'upstream_unreachable'])
})
