// Several gateways over one PostgreSQL, each with a journal of its own, over real sockets.
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, fail } from '../../mocks/stand-in.ts'
import { type Link, openLink } from '../store/postgres/link.ts'
import { checkSharedSums } from '../store/postgres/test-shared-log.ts'
import {
  ask,
  type Setup,
  slowness,
  type TestGateway,
  temporaryDirectory,
  testGateway,
} from '../test-gateway.ts'
import { NO_POSTGRES, startPostgres, type TestPostgres } from '../test-postgres.ts'

const skip = NO_POSTGRES
let postgres: TestPostgres
if (!skip) {
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.end())
}

let databases = 0
const freshDatabase = () => postgres.database(`fleet${++databases}`)

interface Instance extends Pick<Setup, 'data' | 'config' | 'providers' | 'options'> {
  readonly name?: string
  readonly durability?: string
  /** Further members of `fleet`, as YAML. */
  readonly fleet?: string
}

const AUTO = 'routes: { auto: { targets: [ { model: alpha/model-a, tier: balanced } ] } }'

function instance(
  t: TestContext,
  url: string,
  { name = 'one', durability = 'process', fleet = '', config = AUTO, ...setup }: Instance = {},
): Promise<TestGateway> {
  return testGateway(t, {
    ...setup,
    env: { FLEET_URL: url },
    config: `durability: ${durability}\nfleet: { url: $FLEET_URL, instance: ${name}, ${fleet} }\n${config}`,
    options: { log: undefined!, ...setup.options, fleetUrl: url },
  })
}

const shared = async (t: TestContext, url: string): Promise<Link> => {
  const link = openLink({ url, tls: 'verify' }, 'look')
  t.after(() => link.close())
  return link
}
const listed = async ({ get }: TestGateway, query = ''): Promise<string[]> =>
  (await get(`/api/usage/request-logs?limit=200${query}`)).json.data.map(({ id }: { id: string }) => id)

/** Waits until something is so, for a while. */
async function until(what: string, is: () => Promise<boolean> | boolean, ms = 5_000): Promise<void> {
  const end = Date.now() + ms * slowness()
  while (!(await is())) {
    if (Date.now() > end) assert.fail(`not within ${ms} ms: ${what}`)
    await sleep(20)
  }
}

test('a call is readable at its own instance at once, elsewhere within a second, and adds up (FLEET-06, FLEET-07)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const [one, two] = [await instance(t, url), await instance(t, url, { name: 'two' })]
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    const { headers, status } = await (n % 2 ? one : two).chat(ask('auto'), { 'x-session-id': 'both' })
    assert.equal(status, 200)
    const id = headers.get('x-gateway-request-id')!
    ids.unshift(id)
    assert.deepEqual((await listed(n % 2 ? one : two))[0], id)
  }
  const began = performance.now()
  await until(
    'the other has it',
    async () => (await listed(one)).length === 6 && (await listed(two)).length === 6,
  )
  assert.ok(performance.now() - began < 1_000 * slowness())
  assert.deepEqual(await listed(one), ids)
  assert.deepEqual((await listed(one, '&scope=instance')).length, 3)
  for (const each of [one, two]) {
    const { json } = await each.get('/api/usage/history?window=24h&by=provider')
    assert.equal(json.totals.calls, 6)
    assert.equal((await each.get('/api/usage/history?window=24h&scope=instance')).json.totals.calls, 3)
    assert.equal((await each.get('/api/analytics/auto-routing')).json.total_calls, 6)
    const { json: session } = await each.get('/api/sessions/both')
    assert.equal(session.calls, 6)
    assert.equal((await each.get('/api/sessions')).json.data[0].calls, 6)
    const { json: call } = await each.get(`/api/usage/request-logs/${ids[0]}`)
    assert.equal(call.attempt_log.length, 1)
    assert.equal(call.attempt_log[0].outcome, 'answered')
  }
  assert.match((await one.get('/api/statusline?session_id=both')).text, /model-a/)
  assert.match((await one.get('/metrics')).text, /waybill_fleet_instances\{instance="one"\} [12]/)
  assert.equal((await one.get('/readyz')).json.fleet.shared_log, 'ready')
  await checkSharedSums(await shared(t, url))
})

test('an outage: process and full lose no call, reads are 503 and never a part, and all is there once (FLEET-03, FLEET-15)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const [one, two] = [await instance(t, url), await instance(t, url, { name: 'two', durability: 'full' })]
  let made = 0
  const call = async (gateway: TestGateway) => {
    assert.equal((await gateway.chat(ask('auto'))).status, 200)
    made++
  }
  const outages: readonly (readonly [string, () => unknown, () => unknown])[] = [
    ['stopped', () => postgres.stop(), () => postgres.start()],
    ['killed', () => postgres.stop('SIGKILL'), () => postgres.start()],
    ['frozen', () => postgres.freeze(), () => postgres.thaw()],
  ]
  for (const [name, begin, end] of outages) {
    await call(one)
    await begin()
    await call(one)
    await call(two)
    const { status, json } = await one.get('/api/usage/request-logs')
    assert.equal(status, 503, name)
    assert.equal(json.error.code, 'log_unavailable')
    assert.equal((await one.get('/api/usage/history?window=24h')).status, 503)
    assert.equal((await one.get('/api/usage/request-logs?scope=instance')).status, 200)
    assert.equal((await one.get('/readyz')).status, 200, 'process and full take calls')
    await end()
    await until(
      `all of it, ${name}`,
      async () => (await two.get('/api/usage/request-logs')).json?.data?.length === made,
      10_000,
    )
  }
  assert.equal(one.received() + two.received(), made)
  const link = await shared(t, url)
  assert.deepEqual(await link.query("SELECT count(*) AS n FROM waybill.calls WHERE state = 'completed'"), [
    { n: made },
  ])
  await checkSharedSums(link)
})

test('shared: without the shared log a call is refused within 5 s, with no inference; then all goes on (FLEET-03)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const one = await instance(t, url, { durability: 'shared' })
  assert.equal((await one.chat(ask('auto'))).status, 200)
  const link = await shared(t, url)
  const state = () => link.query<{ state: string }>('SELECT state FROM waybill.calls ORDER BY id')
  assert.equal((await state()).length, 1, 'it was there before the answer')
  for (const [begin, end] of [
    [() => postgres.freeze(), () => postgres.thaw()],
    [() => postgres.stop('SIGKILL'), () => postgres.start()],
  ] as const) {
    const before = one.received()
    await begin()
    for (let n = 0; n < 3; n++) {
      const began = performance.now()
      const { status, json } = await one.chat(ask('auto'))
      assert.equal(status, 503)
      assert.equal(json.error.code, 'log_unavailable')
      assert.ok(performance.now() - began < 5_000 + 500 * slowness())
    }
    assert.equal((await one.get('/readyz')).status, 503)
    assert.equal(one.received(), before)
    await end()
    await until('it takes calls again', async () => (await one.get('/readyz')).status === 200, 10_000)
    assert.equal((await one.chat(ask('auto'))).status, 200)
  }
  const rows = await until('the refused are told from the made', async () => {
    const states = (await state()).map(({ state }) => state)
    return states.filter((each) => each === 'completed').length === 3 && !states.includes('routed')
  })
  assert.equal(rows, undefined)
  assert.equal(one.received(), 3)
  await checkSharedSums(link)
})

test('it starts without the shared log, and joins when that comes (FLEET-03)', { skip }, async (t) => {
  const url = await freshDatabase()
  await postgres.stop()
  const one = await instance(t, url)
  assert.equal((await one.chat(ask('auto'))).status, 200)
  await postgres.start()
  await until('it has joined', async () => (await one.get('/readyz')).json.fleet.shared_log === 'ready')
  assert.equal((await listed(one)).length, 1)
})

test('a full spool refuses calls and drops no row; what waits is not deleted (FLEET-04)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const one = await instance(t, url, {
    fleet: 'spool: { calls: 30 }',
    config: `retention: { rows: 5 }\n${AUTO}`,
  })
  await postgres.stop()
  const statuses: number[] = []
  for (let n = 0; n < 40; n++) statuses.push((await one.chat(ask('auto'))).status)
  const taken = statuses.filter((status) => status === 200).length
  assert.ok(taken >= 20 && taken <= 30, `${taken} calls were taken`)
  assert.equal(one.received(), taken)
  const { status, text } = await one.get('/readyz')
  assert.equal(status, 503)
  assert.match(text, /the spool holds 30/)
  await postgres.start()
  await until('it takes calls again', async () => (await one.get('/readyz')).status === 200)
  assert.equal((await listed(one)).length, taken)
  await checkSharedSums(await shared(t, url))
})

test('two live gateways with one identity: a copied directory or a name twice, and the second is refused (FLEET-11)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const data = temporaryDirectory(t)
  const one = await instance(t, url, { data })
  assert.equal((await one.chat(ask('auto'))).status, 200)
  const copy = temporaryDirectory(t)
  cpSync(data, copy, { recursive: true })
  await assert.rejects(instance(t, url, { data: copy, name: 'other' }), /copy of this data directory/)
  await assert.rejects(instance(t, url), /another gateway takes part as "one"/)
  await one.gateway.close()
  const again = await instance(t, url, { data })
  assert.equal((await listed(again)).length, 1)
})

test('a cool-down holds at every gateway within 2 s, the later end wins (FLEET-10)', { skip }, async (t) => {
  const url = await freshDatabase()
  const config =
    'resilience: { cooldown: 20s }\nroutes: { auto: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }'
  const providers = { alpha: fail(500), beta: answer() }
  const one = await instance(t, url, { config, providers })
  const two = await instance(t, url, { name: 'two', config, providers })
  const until1 = async (gateway: TestGateway) =>
    (await gateway.get('/api/cloud/model/resolve?model=auto')).json.candidates[0].reason as string | null
  assert.equal((await one.chat(ask('auto'))).status, 200)
  const began = performance.now()
  await until('the other passes it over', async () => (await until1(two)) !== null)
  assert.ok(performance.now() - began < 2_000 * slowness())
  const ends = [await until1(one), await until1(two)].map((text) =>
    Date.parse(text!.replace(/^.*until /, '')),
  )
  assert.ok(Math.abs(ends[0]! - ends[1]!) < 1_000, `${ends}`)
  assert.equal(two.upstream.alpha!.ledger.length, 0, 'nobody tried it to find out')
  assert.equal((await two.chat(ask('auto'))).headers.get('x-gateway-provider'), 'beta')
})

test('the address of the shared log is in no log, error or read (FLEET-17)', { skip }, async (t) => {
  const lines: string[] = []
  const note = (fields: object, said: string) => void lines.push(JSON.stringify(fields) + said)
  const log = { debug: note, info: note, warn: note, error: note }
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  t.after(() => silent.close())
  const { port } = await new Promise<{ port: number }>((done) =>
    silent.once('listening', () => done(silent.address() as never)),
  )
  for (const address of [
    `postgresql://ann:hunter2@127.0.0.1:${port}/log`,
    'postgresql://ann:hunter2@127.0.0.1:1/log',
  ]) {
    const one = await instance(t, address, { options: { log } as never, durability: 'shared' })
    const { status, text } = await one.chat(ask('auto'))
    assert.equal(status, 503)
    const ready = await one.get('/readyz')
    const read = await one.get('/api/usage/request-logs')
    const metrics = await one.get('/metrics')
    assert.doesNotMatch(
      [text, ready.text, read.text, metrics.text, ...lines].join('\n'),
      /hunter2|postgresql:/,
    )
    await one.gateway.close()
  }
  assert.ok(lines.some((line) => line.includes('the shared log does not take calls')))
})
