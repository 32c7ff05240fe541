// Several keys of one provider over real sockets: which call uses which key, when a session moves, the
// record, and the sources of keys.
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer, fail, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { SYSTEM_CLOCK, useClock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'
import { PoolKey } from './key-pool.ts'
import { limitedProvider } from './test-limited-provider.ts'

const ENV = { A: 'sk-pool-key-of-a', B: 'sk-pool-key-of-b', C: 'sk-pool-key-of-c' }
const THREE = '{ name: a, key: $A }, { name: b, key: $B }, { name: c, key: $C }'

async function start(t: TestContext, script: Script, keys = THREE, more = '') {
  const pool = await startMockServer(script)
  t.after(() => pool.close())
  const gateway = await testGateway(t, {
    env: ENV,
    config: `  pool: { dialect: openai, base_url: "${pool.baseUrl}", keys: [ ${keys} ] }
routes: { auto: { targets: [ { model: pool/m } ] }, two: { targets: [ { model: pool/m }, { model: alpha/m } ] } }
artifacts: { bodies: true }
${more}`,
  })
  const call = (session: string, model = 'auto', extra: object = {}) =>
    gateway.chat(ask(model, { user: session, ...extra }), { 'x-gateway-session-id': session })
  const attempts = async (headers: Headers) =>
    (await gateway.record(headers.get('x-gateway-request-id'))).attempt_log
  const keysSeen = () => pool.ledger.map(({ headers }) => headers.authorization!.at(-1)!)
  return { ...gateway, pool, call, attempts, keysSeen }
}

test('a short rest of a key does not end a longer one', () => {
  const key = new PoolKey('a')
  key.rest('spent', null, 0)
  key.rest('limit', null, 1)
  assert.equal(key.readyAt(2), 600_000)
})

test('a session stays with its key, sessions are spread over the keys, and the record names the key (KEEP-08)', async (t) => {
  const { call, attempts, keysSeen } = await start(t, answer())
  for (let n = 0; n < 4; n++) for (const session of ['s1', 's2', 's3']) await call(session)
  const seen = keysSeen()
  assert.deepEqual(seen.slice(0, 3).toSorted(), ['a', 'b', 'c'])
  for (let n = 3; n < seen.length; n++) assert.equal(seen[n], seen[n - 3])
  const { headers } = await call('s1')
  const [attempt] = await attempts(headers)
  assert.equal(attempt.provider_key, seen[0])
  assert.equal(attempt.losses, null)
})

for (const [what, status, error] of [
  ['429', 429, {}],
  ['401', 401, {}],
  ['spent quota', 429, { code: 'insufficient_quota' }],
  ['402', 402, {}],
] as const)
  test(`a ${what} for one key moves the session to another key at the same target, and the loss is named`, async (t) => {
    let refusing = ''
    const { call, attempts, keysSeen, pool } = await start(t, (response, received) =>
      received.headers.authorization!.endsWith(refusing)
        ? fail(status, {}, error)(response, received)
        : answer()(response, received),
    )
    refusing = 'none'
    await call('s1')
    refusing = keysSeen()[0]!
    const moved = await call('s1', 'auto', { note: { encrypted_content: 'of the first key' } })
    assert.equal(moved.status, 200)
    assert.equal(moved.headers.get('x-gateway-lossy'), 'key.cache, key.reasoning')
    const [refused, served] = await attempts(moved.headers)
    assert.equal(refused.provider_key, refusing)
    assert.equal(refused.status, status)
    assert.notEqual(served.provider_key, refusing)
    assert.deepEqual(served.losses, ['key.cache', 'key.reasoning'])
    assert.equal(moved.headers.get('x-gateway-attempts'), '2')
    // The session stays with its new key, and meanwhile no call uses the old one.
    const before = pool.ledger.length
    assert.equal((await call('s1')).headers.get('x-gateway-lossy'), null)
    for (const session of ['s2', 's3', 's4', 's5']) await call(session)
    assert.ok(!keysSeen().slice(before).includes(refusing))
  })

test('if every key is refused, the next target serves the call, and the provider cools down until a key is ready', async (t) => {
  const { call, pool, attempts } = await start(t, fail(429, { 'retry-after': '30' }))
  const first = await call('s1', 'two')
  assert.equal(first.headers.get('x-gateway-provider'), 'alpha')
  assert.deepEqual(
    (await attempts(first.headers)).map(({ provider_key: key }: { provider_key: string }) => key).toSorted(),
    ['a', 'b', 'c', null].toSorted(),
  )
  assert.equal(pool.ledger.length, 3)
  await call('s1', 'two')
  assert.equal(pool.ledger.length, 3)
})

test('limits in headers prevent a 429: calls use other keys, and if no key is left, they are refused with Retry-After', async (t) => {
  const limited = limitedProvider(5, 60_000)
  const { call, record, pool } = await start(t, limited.script, '{ name: a, key: $A }, { name: b, key: $B }')
  for (let n = 0; n < 10; n++) assert.equal((await call('s1')).status, 200)
  const refused = await call('s1')
  assert.equal(refused.status, 429)
  assert.equal(refused.json.error.code, 'rate_limited')
  assert.match(refused.json.error.message, /pool: none of its keys can be used before \d+ s are over/)
  assert.ok(Number(refused.headers.get('retry-after')) > 30)
  assert.equal(limited.refused(), 0)
  assert.equal(pool.ledger.length, 10)
  const { attempt_log: log } = await record(refused.headers.get('x-gateway-request-id'))
  assert.deepEqual([log.length, log[0].outcome, log[0].cost_usd], [1, 'not_sent', 0])
  assert.deepEqual([...limited.keysOf.get('s1')!.map((key) => key.at(-1))].length, 2)
})

test('a key file is read again when it changes, and a key command is run again when the provider refuses its key', async (t) => {
  let ahead = 0
  t.after(useClock(dated(() => SYSTEM_CLOCK.now() + ahead)))
  const directory = temporaryDirectory(t)
  const [file, script, current] = ['key', 'print.sh', 'current'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(file, 'sk-first-of-file\n')
  writeFileSync(current, 'sk-first-of-command')
  writeFileSync(script, `#!/bin/sh\ncat ${current}\n`)
  chmodSync(script, 0o755)
  const right = new Set(['sk-first-of-file', 'sk-first-of-command'])
  const check: Script = (response, received) =>
    right.has(received.headers.authorization!.replace('Bearer ', ''))
      ? answer()(response, received)
      : fail(401, {}, { message: `wrong: ${received.headers.authorization}` })(response, received)
  const keys = `{ name: f, file: "${file}" }, { name: c, command: ["${script}"] }`
  const { call, pool, get } = await start(t, check, keys)
  for (const session of ['s1', 's2']) assert.equal((await call(session)).status, 200)
  right.clear()
  right.add('sk-second-of-file').add('sk-second-of-command')
  writeFileSync(file, 'sk-second-of-file-longer'.slice(0, 17))
  writeFileSync(current, 'sk-second-of-command')
  ahead = 1_100
  const before = pool.ledger.length
  const { status, headers } = await call('s1')
  assert.equal(status, 200)
  const sent = pool.ledger.slice(before).map(({ headers }) => headers.authorization!)
  assert.ok(
    sent.some((value) => /second-of-file$/.test(value)),
    sent.join(),
  )
  // A key that was read while the gateway is running is masked like any other key.
  right.clear()
  const failed = await call('s9')
  assert.ok(failed.status >= 400)
  const { text } = await get(`/api/usage/request-logs/${headers.get('x-gateway-request-id')}`)
  assert.ok(!text.includes('sk-second'))
  assert.ok(!failed.text.includes('sk-second'), failed.text)
})

/** Starts a provider with one key from a file and one with a key from a command; only keys in `right` are accepted. */
async function rotated(t: TestContext) {
  let ahead = 0
  t.after(useClock(dated(() => SYSTEM_CLOCK.now() + ahead)))
  const directory = temporaryDirectory(t)
  const [file, current] = [join(directory, 'key'), join(directory, 'current')]
  const right = new Set<string>()
  const held: (() => void)[] = []
  const check: Script = (response, received) => {
    const isRight = right.has(received.headers.authorization!.replace('Bearer ', ''))
    const send = () => (isRight ? answer() : fail(401))(response, received)
    if (JSON.stringify(received.json).includes('held')) held.push(send)
    else send()
  }
  const put = (key: string, ms: number) => {
    for (const path of [file, current]) writeFileSync(path, key)
    ahead += ms
  }
  put('sk-first-key-of-the-pool', 0)
  const keys = { file: `file: "${file}"`, command: `command: [cat, "${current}"], renew: 1h` }
  return { right, held, put, keys, check }
}

for (const kind of ['file', 'command'] as const) {
  test(`a key of a ${kind} that was refused rests no longer when there is another one`, async (t) => {
    const { right, put, keys, check } = await rotated(t)
    const { call } = await start(t, check, `{ name: only, ${keys[kind]} }`)
    assert.equal((await call('s1')).status, 502)
    assert.equal((await call('s1')).status, 429) // it rests, and the command prints it once more
    right.add('sk-second-key')
    let status = 429
    for (let n = 0; n < 9 && status !== 200; n++) {
      put('sk-second-key', 31_000) // 279 s in all, less than the rest
      status = (await call('s1')).status
      await pause(100) // the command runs
    }
    assert.equal(status, 200)
  })

  test(`a refusal of an earlier key of a ${kind} does not rest the present one`, async (t) => {
    const { right, held, put, keys, check } = await rotated(t)
    const { call } = await start(t, check, `{ name: only, ${keys[kind]} }`)
    const early = call('s1', 'auto', { metadata: { held: 'yes' } })
    await until('the call is at the provider', () => held.length === 1)
    right.add('sk-second-key')
    put('sk-second-key', 3_700_000)
    await until(
      'the new key is used',
      async () => (await call('s2')).status === 200 || put('sk-second-key', 301_000),
    )
    held[0]!()
    assert.equal((await early).status, 502)
    assert.equal((await call('s2')).status, 200)
  })
}

test('a key that cannot be read is skipped, with a reason that names it', async (t) => {
  const directory = temporaryDirectory(t)
  const two = join(directory, 'two')
  writeFileSync(two, 'sk-one-line\nsk-another-line\n')
  const cases: [string, RegExp][] = [
    [`file: "${join(directory, 'absent')}"`, /pool: key only: its file cannot be read \(ENOENT\)/],
    [`file: "${two}"`, /pool: key only: its file has 2 lines; it must have one, the key/],
    ['command: [cat, /dev/null]', /pool: key only: its command has 0 lines/],
    [`command: [cat, "${two}"]`, /pool: key only: its command has 2 lines/],
    ['command: ["false"]', /pool: key only: its command failed \(1\)/],
    ['command: [no-such-program-here]', /pool: key only: its command failed \(ENOENT\)/],
  ]
  for (const [source, message] of cases) {
    const { call, pool } = await start(t, answer(), `{ name: only, ${source} }`)
    const { status, json } = await call('s1')
    assert.equal(status, 502, source)
    assert.match(json.error.message, message)
    assert.ok(!JSON.stringify(json).includes('sk-one-line'))
    assert.equal(pool.ledger.length, 0)
    const both = await start(t, answer(), `{ name: only, ${source} }, { name: a, key: $A }`)
    for (const session of ['s1', 's2', 's3']) assert.equal((await both.call(session)).status, 200, source)
  }
})

test('mistakes in `keys` are reported when the configuration is read', () => {
  const cases: [string, RegExp][] = [
    ['key: $A, keys: [ { name: b, key: $B } ]', /providers\.p\.key: cannot stand beside `keys`/],
    ['keys: [ { name: a } ]', /providers\.p\.keys\.0: must have exactly one of `key`, `file` and `command`/],
    ['keys: [ { name: a, key: $A, file: f } ]', /providers\.p\.keys\.0: must have exactly one of/],
    ['keys: [ { name: a, key: $A }, { name: a, key: $B } ]', /keys\.1\.name: there is another key "a"/],
    ['keys: [ { name: a, key: $NOT_SET } ]', /keys\.0\.key: environment variable NOT_SET is not set/],
    ['keys: []', /providers\.p\.keys: names no key/],
    [
      'auth: caller, keys: [ { name: a, key: $A } ]',
      /providers\.p\.keys: cannot stand beside `auth: caller`/,
    ],
  ]
  for (const [members, message] of cases)
    assert.throws(
      () =>
        parseConfig(
          `providers: { p: { dialect: chat, base_url: "https://a.example/v1", ${members} } }`,
          'w.yaml',
          { env: ENV },
        ),
      message,
      members,
    )
})
