// `waybill doctor` on real directories, with and without a gateway. The command reports its findings and
// changes nothing. Over 250 lines, because most tests begin with the same directory.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { createSealer } from '../responses-store/response-store.ts'
import { runCli } from '../test/test-cli.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'

async function doctor(config: string, env = {}) {
  const { code, stdout, stderr } = await runCli(['doctor', '-c', config], {
    env: { KEY: 'sk-of-the-operator', ...env },
  })
  return { code, said: stdout + stderr }
}

/**
 * Returns every file with its mode, size and time. Leaves out the bytes: a process that opens and closes the
 * lock file loses its own gateway's lock. Leaves out the shared memory, because every reader of a running
 * database changes it.
 */
const snapshot = (directory: string) =>
  readdirSync(directory)
    .filter((name) => !name.endsWith('-shm'))
    .map((name) => {
      const { mode, mtimeMs, size } = statSync(join(directory, name))
      return { name, mode, mtimeMs, size }
    })

/**
 * Creates a configuration, and the data directory of a gateway that ran with it and was stopped. `port` is
 * the port on which it listened.
 */
async function directoryOf(t: TestContext) {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  const file = join(directory, 'waybill.yaml')
  // Without artifacts, the directory does not change while doctor runs. Artifacts are written some seconds
  // after a call.
  const text = (port: number) =>
    `server: { port: ${port} }\ndata: ./data\nartifacts: { keep: 0 }\nproviders: { alpha: { dialect: openai, base_url: "${provider.baseUrl}", key: $KEY } }\nroutes: { auto: { targets: [ { model: alpha/own } ] } }\n`
  const start = async (port: number) => {
    const env = { KEY: 'sk-of-the-operator', WAYBILL_DATA: data }
    const started = await createGateway(parseConfig(text(port), file, { env }))
    t.after(() => started.close(100))
    const bound = Number(new URL(started.url).port)
    writeFileSync(file, text(bound))
    await fetch(`${started.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask('auto')),
    })
    await (await fetch(`${started.url}/api/usage/request-logs`)).text() // waits for the closing write (LOG-04)
    return started
  }
  return { directory, data, file, text, start, provider }
}

test('before, during and after a gateway’s first run, `waybill doctor` finds no problem and changes nothing', async (t) => {
  const { data, file, start, provider } = await directoryOf(t)
  writeFileSync(file, 'server: { port: 9 }\nproviders: {}\n')
  const before = await doctor(file)
  assert.equal(before.code, 0, before.said)
  assert.match(before.said, /^note data directory .+ does not exist yet/m)

  const started = await start(0)
  const running = snapshot(data)
  const beside = await doctor(file)
  assert.equal(beside.code, 0, beside.said)
  assert.match(beside.said, /^ok {3}.+waybill\.yaml is valid/m)
  assert.match(beside.said, /^note no price is known for alpha\/own/m)
  assert.match(beside.said, /^(ok {3}|note )the built-in prices are \d+ days old \(genai-prices \S+, \d{4}-/m)
  assert.match(beside.said, /^ok {3}a running gateway holds /m)
  assert.match(
    beside.said,
    /^ok {3}the gateway at http:\/\/127\.0\.0\.1:\d+ is ready and is Waybill \d+\.\d+/m,
  )
  assert.deepEqual(snapshot(data), running)
  assert.equal(provider.ledger.length, 1, 'no inference')

  await started.close(100)
  const stopped = snapshot(data)
  const after = await doctor(file)
  assert.equal(after.code, 0, after.said)
  assert.match(after.said, /^ok {3}no gateway runs on /m)
  assert.match(after.said, /^ok {3}.+waybill\.db is intact: schema \d+, /m)
  assert.match(after.said, /^ok {3}nothing answers at /m)
  assert.deepEqual(snapshot(data), stopped)
  assert.doesNotMatch(before.said + beside.said + after.said, /sk-of-the-operator/)
})

test('each problem is reported as BAD with advice, and the exit code is 1', async (t) => {
  const { data, file, start } = await directoryOf(t)
  await (await start(0)).close(100)
  const text = readFileSync(file, 'utf8')
  const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const db = join(data, 'waybill.db')
  const rows: [string, () => object | undefined, RegExp][] = [
    [
      'a key that is not set',
      () => ({ KEY: '' }),
      /waybill\.yaml:4:\d+ providers\.alpha\.key: environment variable KEY is not set/,
    ],
    [
      'an invalid file',
      () => void writeFileSync(file, `${text}nonsense: 1\n`),
      /waybill\.yaml:6:\d+ nonsense: no such setting/,
    ],
    [
      'a public address without keys',
      () => ({ WAYBILL_HOST: '0.0.0.0' }),
      /0\.0\.0\.0:\d+ would be open to everyone/,
    ],
    [
      'another program at the port',
      () => ({ WAYBILL_PORT: String((other.address() as AddressInfo).port) }),
      /something else answers/,
    ],
    ['a directory that is open to others', () => void chmodSync(data, 0o755), /run chmod 700 /],
    [
      'a database that is open to others',
      () => void chmodSync(db, 0o644),
      /open to others: .+waybill\.db; run chmod 600/,
    ],
    [
      'a newer schema',
      () => void pragma(db, 'user_version = 999'),
      /written by a newer Waybill \(schema 999/,
    ],
    [
      'a damaged database',
      () => void writeFileSync(db, damaged(readFileSync(db))),
      /waybill\.db (is damaged|cannot be read) \(/,
    ],
    ['a file in the place of the directory', () => ({ WAYBILL_DATA: file }), /is not a directory/],
  ]
  const whole = readFileSync(db)
  for (const [name, harm, expected] of sample(rows, 3)) {
    const env = harm() ?? {}
    const { code, said } = await doctor(file, env)
    assert.equal(code, 1, `${name}: ${said}`)
    assert.match(said, new RegExp(`^BAD  .*${expected.source}`, 'm'), name)
    assert.match(said, /waybill: problems were found; see BAD above\n$/)
    assert.doesNotMatch(said, /\n {4}at /)
    writeFileSync(file, text)
    writeFileSync(db, whole)
    chmodSync(data, 0o700)
    chmodSync(db, 0o600)
  }
  mkdirSync(join(data, 'artifacts'), { mode: 0o700 })
  assert.equal((await doctor(file)).code, 0, 'and well again')
})

test('the sizes of stored data are compared with their limits, and advice is given for a size near or above its limit', async (t) => {
  const { data, file, start } = await directoryOf(t)
  await (await start(0)).close(100)
  const empty = await doctor(file)
  assert.match(
    empty.said,
    /^ok {3}on record: 1 of 100,000 calls, 0[\d.]* of 30 days, 0\.\d+ of 878 MiB in use$/m,
  )
  assert.doesNotMatch(empty.said, /retention\./)

  const db = new Database(join(data, 'waybill.db'))
  db.exec('UPDATE call_logs SET created_at = created_at - 31 * 86400000')
  db.close()
  const limits = (more: string) => writeFileSync(file, `${text}retention: { ${more} }\n`)
  const text = readFileSync(file, 'utf8')
  limits('rows: 1, days: 30')
  const full = await doctor(file)
  assert.equal(full.code, 0, full.said)
  assert.match(
    full.said,
    /^note 1 of 1 calls: the oldest calls will soon be deleted; raise retention\.rows to keep more$/m,
  )
  assert.match(
    full.said,
    /^note 31 of 30 days: the next start deletes the oldest calls; raise retention\.days before then to keep them$/m,
  )
  assert.doesNotMatch(full.said, /retention\.bytes/)

  await start(0)
  limits('days: 30')
  const running = await doctor(file)
  assert.match(
    running.said,
    /^note 31 of 30 days: the oldest calls are being deleted; raise retention\.days to keep more, or restart if it was lowered$/m,
  )
})

test('a gateway that cannot read its record is reported as BAD, although it accepts calls', async (t) => {
  const { file, start } = await directoryOf(t)
  const end = (worker: Worker) => void (worker.threadName === 'reader' && worker.terminate())
  process.on('worker', end) // true after any number of restarts
  t.after(() => process.off('worker', end))
  const { url } = await start(0)
  assert.equal((await fetch(`${url}/api/sessions`)).status, 503)
  const { code, said } = await doctor(file)
  assert.equal(code, 1)
  assert.match(
    said,
    /^BAD {2}the gateway at http\S+ accepts calls, but cannot read the request log; its process log says why$/m,
  )
})

function pragma(file: string, what: string): void {
  const db = new Database(file)
  db.pragma(what)
  db.close()
}

/** The pages after the first contain random bytes. */
const damaged = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte, at) => (at < 4096 ? byte : 0xa5)))

test('a replaying gateway is distinguished from a live one', async (t) => {
  const { file, text, data } = await directoryOf(t)
  const env = { WAYBILL_DATA: data }
  const gateway = await createGateway({ ...parseConfig(text(0), file, { env, replay: true }), replay: true })
  t.after(() => gateway.close(100))
  writeFileSync(file, text(Number(new URL(gateway.url).port)))
  const { code, said } = await doctor(file)
  assert.equal(code, 0, said)
  assert.match(
    said,
    /^ok {3}the gateway at \S+ is ready and .*; it REPLAYS: no call reaches a provider, and its record is in \S+\/data\/replay$/m,
  )
})

test('each key’s spending is shown next to its budget, with a warning from 80 % on', async (t) => {
  const data = temporaryDirectory(t)
  const file = join(data, 'waybill.yaml')
  const key = (name: string, digit: string) =>
    `{ name: ${name}, digest: "sha256:${digit.repeat(64)}", budget: { usd: 10 } }`
  const text = `server: { port: 0 }\ndata: ${data}/data\nkeys: [ ${key('ann', 'a')}, ${key('bob', 'b')}, ${key('cas', 'c')}, { name: dan, digest: "sha256:${'d'.repeat(64)}" } ]\n`
  writeFileSync(file, text)
  await (await createGateway(parseConfig(text, file, { env: {} }))).close()
  const db = new Database(join(data, 'data', 'waybill.db'))
  const spend = db.prepare(
    `INSERT INTO key_spending (key_name, period, usd, estimated_usd) VALUES (?, strftime('%Y-%m', 'now'), ?, ?)`,
  )
  spend.run('bob', 8.5, 0.25)
  spend.run('cas', 11, 0)
  db.close()
  const { said } = await doctor(file)
  assert.match(said, /^ok {3}the key "ann" has spent \$0 of its \$10\.00 in \d{4}-\d\d \(UTC\)$/m)
  assert.match(
    said,
    /^note the key "bob" has spent \$8\.50 of .*, \$0\.25 of it estimated; its calls are refused when/m,
  )
  assert.match(
    said,
    /^note the key "cas" has spent \$11\.00 of .*; its calls are refused until the month ends/m,
  )
  assert.doesNotMatch(said, /"dan"/)
})

test('another encryption key than that of the kept calls is reported once, with what to do', async (t) => {
  const { data, file, start } = await directoryOf(t)
  const started = await start(0)
  await started.close(100)
  const said = async (key: string) => {
    const found = await doctor(file, { WAYBILL_RESPONSES_KEY: key })
    assert.equal(found.code, 0, found.said)
    return found.said.match(/^note .*WAYBILL_RESPONSES_KEY.*$/gm)
  }
  assert.equal(await said(''), null, 'nothing is kept')
  const db = new Database(join(data, 'waybill.db'))
  const insert = db.prepare(
    "INSERT INTO kept_responses (id, key_name, expires_at, bytes, sealed) VALUES (?, '', ?, 9, ?)",
  )
  for (const [id, secret, days] of [
    ['a', 'first', 1],
    ['b', 'first', 1],
    ['c', 'second', 1],
    ['d', 'second', -1],
  ] as const)
    insert.run(id, Date.now() + days * 86_400_000, createSealer(secret.repeat(9)).seal('{}', id))
  db.close()
  assert.match(
    (await said('first'.repeat(9)))!.join(),
    /^note 1 stored responses or kept calls cannot be read, .*; set that key again/,
  )
  assert.match((await said('second'.repeat(9)))!.join(), /^note 2 stored/)
  assert.match((await said(''))!.join(), /^note 3 stored/)
})
