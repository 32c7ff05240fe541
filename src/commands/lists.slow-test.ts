// `waybill sessions`, `key list` and `export` with a running gateway.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { runCli } from '../test/test-cli.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const KEYS = { admin: 'wb_admin-key', client: 'wb_client-key' }
const entry = (role: keyof typeof KEYS, more = '') =>
  `{ name: of-${role}, role: ${role}, digest: "sha256:${createHash('sha256').update(KEYS[role]).digest('hex')}"${more} }`
const CONFIG = `keys: [ ${entry('admin')}, ${entry('client', ', budget: { usd: 20, per: month }, rate: { requests: 600, per: 1m }')} ]
models: { alpha/model-a: { price: { input: 2, output: 6 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`

test('the lists show only the sessions, keys and calls that the given key may see', async (t) => {
  const gateway = await testGateway(t, { config: CONFIG })
  for (const session of ['first', 'second', 'second']) {
    const headers = { authorization: `Bearer ${KEYS.client}`, 'x-session-id': session }
    assert.equal((await gateway.chat(ask('auto'), headers)).status, 200)
  }
  const waybill = (role: keyof typeof KEYS, ...words: string[]) =>
    runCli([...words, '--url', gateway.url], { env: { WAYBILL_KEY: KEYS[role] } })

  const sessions = await waybill('client', 'sessions')
  assert.match(
    sessions.stdout,
    /^session +client +began +last call +last asked → went +calls +failed +tokens +cost\n/,
  )
  assert.match(
    sessions.stdout,
    /\nsecond +node +\S+ +\S+ +auto → alpha\/model-a +2 +0 +40→14 +\$\S+\nfirst +.* 1 +0 +20→7 /,
  )
  const json = JSON.parse((await waybill('client', 'sessions', '--json', '--limit', '1')).stdout)
  assert.deepEqual(
    json.map(({ session_id }: { session_id: string }) => session_id),
    ['second'],
  )

  const all = await waybill('admin', 'key', 'list')
  assert.match(all.stdout, /^key +role +rate +budgets +spent this month\nof-admin +admin +- +- /)
  assert.match(all.stdout, /\nof-client +client +600 in 60 s +\$0\.0\S* of \$20\S* a month +\$0\.0/)
  const own = await waybill('client', 'key', 'list')
  assert.doesNotMatch(own.stdout, /of-admin/)

  const csv = await waybill(
    'client',
    'export',
    '--columns',
    'session_id,resolved_model',
    '--session',
    'second',
  )
  assert.deepEqual(csv, {
    code: 0,
    stdout: 'session_id,resolved_model\r\n'.concat('second,model-a\r\n'.repeat(2)),
    stderr: '',
  })
  assert.equal(JSON.parse((await waybill('admin', 'export', '--form', 'json')).stdout).length, 3)
  const byClient = await waybill('admin', 'export', '--form', 'json', '--client', 'nosuch/1')
  assert.match(byClient.stderr, /no call on record matches/)
  const unknown = await waybill('admin', 'export', '--form', 'json', '--route', 'atuo')
  assert.match(unknown.stderr, /the gateway has no route "atuo", [^\n]*did you mean auto\?\n$/)
  const wrong = await waybill('admin', 'export', '--columns', 'nosuch')
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /^waybill: the gateway at \S+ answered 400: .*columns/)
})

test('an empty list is reported as empty', async (t) => {
  const { url } = await testGateway(t)
  const sessions = await runCli(['sessions', '--url', url])
  assert.deepEqual([sessions.code, sessions.stdout], [0, ''])
  assert.match(sessions.stderr, /^waybill: there are no sessions on record yet\n$/)
  assert.match(
    (await runCli(['key', 'list', '--url', url])).stderr,
    /^waybill: the gateway has no keys, [^\n]+\n$/,
  )
})
