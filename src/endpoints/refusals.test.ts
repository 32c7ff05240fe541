// Calls that were refused before they had a record are listed with the caller, the request and the reason. The list
// is short, and strangers cannot displace the entries of known callers.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { SILENT } from '../core/process-log.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const key = (name: string, limits = '', role = 'client') =>
  `{ name: ${name}, role: ${role}, digest: "sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}"${limits} }`
const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })
const KEYS = [
  key('ann', ', rate: { requests: 2, per: 1h }'),
  key('bob', ', budget: { usd: 0.001 }'),
  key('root', '', 'admin'),
].join(', ')
const CONFIG = `models: { alpha/model-a: { price: { input: 1000, output: 1000 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ ${KEYS} ]`
const PATH = '/api/usage/refused-calls'

test('refused calls are listed with their reason; a client sees its own refusals, and an admin sees all refusals', async (t) => {
  const gateway = await testGateway(t, { config: CONFIG })
  await gateway.chat(ask('auto'), as('nobody'))
  await gateway.chat(ask('nowhere'), as('ann'))
  await gateway.chat(ask('auto'), as('ann'))
  const limited = await gateway.chat(ask('auto'), as('ann'))
  assert.equal(limited.status, 429)
  assert.equal((await gateway.chat(ask('auto'), as('bob'))).status, 200)
  let broke = await gateway.chat(ask('auto'), as('bob'))
  while (broke.status !== 429) broke = await gateway.chat(ask('auto'), as('bob'))
  await gateway.chat('{', as('root'))

  const { status, json } = await gateway.get(PATH, { headers: as('root') })
  assert.equal(status, 200)
  const seen = json.data.map(({ key_name, status, code }: any) => [key_name, status, code])
  assert.deepEqual(
    seen.filter(([name]: any) => name !== 'bob'),
    [
      ['root', 400, 'invalid_json'],
      ['ann', 429, 'rate_limited'],
      ['ann', 404, 'model_not_found'],
      [null, 401, 'invalid_api_key'],
    ],
  )
  assert.ok(seen.some(([name, , code]: any) => name === 'bob' && code === 'budget_exceeded'))
  const found = json.data.find(({ code }: any) => code === 'rate_limited')
  assert.equal(found.id, limited.json.request_id)
  assert.equal(found.message, limited.json.error.message)
  assert.equal(found.endpoint, '/v1/chat/completions')
  assert.ok(Math.abs(Date.parse(found.created_at) - clock.now()) < 10_000)
  assert.doesNotMatch(JSON.stringify(json), /key-of-/)

  const own = await gateway.get(PATH, { headers: as('ann') })
  assert.deepEqual([...new Set(own.json.data.map(({ key_name }: any) => key_name))], ['ann'])
  assert.equal((await gateway.get(PATH)).status, 401)
  assert.equal((await gateway.get(`${PATH}?limit=1`, { headers: as('root') })).json.data.length, 1)
  assert.equal((await gateway.get(`${PATH}?limit=0`, { headers: as('root') })).status, 400)
  const log = await gateway.get('/api/usage/request-logs', { headers: as('ann') })
  assert.equal(log.json.data.length, 1, 'none of them is a record')
})

test('refused calls from strangers displace neither log rows nor refused calls from known keys', async (t) => {
  const gateway = await testGateway(t, { config: CONFIG })
  await gateway.chat(ask('nowhere'), as('ann'))
  for (let n = 0; n < 300; n++) await gateway.chat(ask('auto'), as(`stranger-${n}`))
  const { json } = await gateway.get(`${PATH}?limit=200`, { headers: as('root') })
  assert.ok(json.data.length <= 200)
  const all = await gateway.get(PATH, { headers: as('ann') })
  assert.deepEqual(
    all.json.data.map(({ code }: any) => code),
    ['model_not_found'],
  )
})

test('a call refused because of its Origin is also listed', async (t) => {
  const gateway = await testGateway(t)
  await gateway.chat(ask('auto'), { origin: 'http://evil.example' })
  const { json } = await gateway.get(PATH)
  assert.deepEqual(
    json.data.map(({ code }: any) => code),
    ['host_not_allowed'],
  )
})

test('refused calls are logged, five in a second, and the next line counts those that were not', async (t) => {
  let at = Date.UTC(2026, 10, 29)
  const lines: any[] = []
  const gateway = await testGateway(t, {
    config: CONFIG,
    options: {
      log: { ...SILENT, info: (fields, message) => void lines.push({ ...fields, message }) },
      clock: dated(() => at),
    },
  })
  const hostile = 'no\u001b[31mwhere\u202e'
  for (let n = 0; n < 8; n++) await gateway.chat(ask(hostile), as('ann'))
  assert.equal(lines.length, 5)
  at += 1_000
  await gateway.chat(ask('nowhere'), as('ann'))
  const [first, last] = [lines[0], lines.at(-1)]
  assert.deepEqual(
    [first.message, first.key_name, first.endpoint, first.status, first.error_code, first.left_out],
    ['call refused', 'ann', '/v1/chat/completions', 404, 'model_not_found', undefined],
  )
  assert.equal(last.left_out, 3)
  assert.match(first.reason, /is called "no.*where/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the line must not have them
  assert.doesNotMatch(lines.map(({ reason }) => reason).join(), /[\x00-\x1f\u202e]|key-of-/)
})
