// Effects of a reloaded configuration, and the things that it leaves unchanged (LIFE-07). `serve` tests files
// and signals.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { answer, chunk, DONE, fail, usageChunk } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { AUTO, ask, providerKey, type Setup, testGateway } from './test-gateway.ts'

/** Starts a gateway. Returns a function that reloads it with a configuration for the given providers. */
async function reloading(t: TestContext, setup: Setup) {
  const gateway = await testGateway(t, setup)
  const reload = (config: string, providers = Object.keys(gateway.upstream)) => {
    const lines = providers.map(
      (name) =>
        `  ${name}: { dialect: openai, base_url: "${gateway.upstream[name]!.baseUrl}", key: $${name}_key }`,
    )
    const env = Object.fromEntries(providers.map((name) => [`${name}_key`, providerKey(name)]))
    const text = [`server: { port: 0 }\ndata: ${gateway.data}\nproviders:`, ...lines, config].join('\n')
    assert.ok(gateway.gateway.reload(() => parseConfig(text, 'test.yaml', { env })))
  }
  return { ...gateway, reload }
}

test('after a reload changes answer_model, cached answers with the other model name are neither served nor deleted (USE-08, LIFE-07)', async (t) => {
  const route = (more: string) =>
    `cache: { enabled: true }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] ${more} } }`
  const gateway = await reloading(t, { config: route('') })
  const model = async () => (await gateway.chat(ask('auto'))).json.model
  assert.equal(await model(), 'model-a-2026-01-01')
  gateway.reload(route(', answer_model: requested'))
  assert.equal(await model(), 'auto')
  gateway.reload(route(''))
  assert.equal(await model(), 'model-a-2026-01-01')
  assert.equal(gateway.received(), 2)
})

test('a key keeps its rate window when other keys change, and a removed key is unknown immediately (LIFE-07)', async (t) => {
  const key = (name: string, more = '') =>
    `{ name: ${name}, digest: "sha256:${createHash('sha256').update(name).digest('hex')}" ${more} }`
  const ann = key('ann', ', rate: { requests: 1, per: 1h }')
  const keys = (...list: string[]) =>
    `keys: [ ${list.join()} ]\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }`
  const gateway = await reloading(t, { config: keys(ann, key('bob')) })
  const status = async (name: string) =>
    (await gateway.chat(ask('auto'), { authorization: `Bearer ${name}` })).status
  assert.deepEqual([await status('ann'), await status('ann'), await status('bob')], [200, 429, 200])
  gateway.reload(keys(ann, key('eve')))
  assert.deepEqual([await status('ann'), await status('bob'), await status('eve')], [429, 401, 200])
  gateway.reload(keys(key('ann', ', rate: { requests: 2, per: 1h }')))
  assert.equal(await status('ann'), 200, 'another rate, another window')
})

test('a page that is signed in with a key is signed out when the keys change, and by no other change (LIFE-07)', async (t) => {
  const digest = (name: string) => `sha256:${createHash('sha256').update(name).digest('hex')}`
  const keys = (name: string, more = '') => `keys: [ { name: ${name}, digest: "${digest(name)}" } ]\n${more}`
  const gateway = await reloading(t, { config: keys('ann') })
  const as = (key: string) => ({
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  const { json } = await gateway.get('/page/sign-in', { method: 'POST', ...as('ann') })
  const read = async () => (await gateway.get('/api/sessions', as(json.token))).status
  gateway.reload(keys('ann', 'cache: { enabled: true }'))
  assert.equal(await read(), 200)
  gateway.reload(keys('bob'))
  assert.equal(await read(), 401)
})

test('a file that is cut off before its keys does not open the gateway (LIFE-07)', async (t) => {
  const digest = createHash('sha256').update('ann').digest('hex')
  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }\nkeys: [ { name: ann, digest: "sha256:${digest}" } ]`,
  })
  const text = `data: ${gateway.data}\nproviders: { alpha: { dialect: openai, base_url: "${gateway.upstream.alpha!.baseUrl}" } }`
  assert.equal(
    gateway.gateway.reload(() => parseConfig(text, 'test.yaml', { env: {} })),
    false,
  )
  assert.equal((await gateway.chat(ask('alpha/model-a'))).status, 401)
  assert.equal((await gateway.chat(ask('auto'), { authorization: 'Bearer ann' })).status, 200)
})

test('a call can fall back to a provider that two reloads have meanwhile removed, and leaves nothing open (LIFE-07)', async (t) => {
  const both = 'routes: { auto: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }'
  const one = 'routes: { auto: { targets: [ { model: alpha/model-a } ] } }'
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: changed, resolve: change } = Promise.withResolvers<void>()
  const gateway = await reloading(t, {
    config: both,
    providers: {
      alpha: async (...request) => {
        arrive()
        await changed
        fail(500)(...request)
      },
      beta: answer('from beta'),
    },
  })
  const call = gateway.chat(ask('auto'))
  await arrived
  for (let n = 0; n < 2; n++) gateway.reload(one, ['alpha'])
  assert.equal((await gateway.chat(ask('beta/model-b'))).status, 404, 'a new call does not know it')
  change()
  const got = await call
  assert.deepEqual([got.status, got.json.choices[0].message.content], [200, 'from beta'])
  const record = await gateway.record(got.headers.get('x-gateway-request-id'))
  assert.deepEqual([record.resolved_provider, record.attempts], ['beta', 2])
  assert.match((await gateway.get('/metrics')).text, /^waybill_open_calls 0$/m)
})

const ANN = (more = '') =>
  `keys: [ { name: ann, role: admin, digest: "sha256:${createHash('sha256').update('ann').digest('hex')}" ${more} } ]`
const ROUTE = 'routes: { auto: { targets: [ { model: alpha/model-a } ] } }'
/** The mock reports 20 input tokens, which cost $2 per call. */
const PRICED = 'models: { alpha/model-a: { price: { input: 100000, output: 0 } } }'

/** Parts that a reload may remove during a call. */
const TAKEN: readonly (readonly [string, string, string[]])[] = [
  ['the price is taken out', `${ROUTE}\n${ANN()}`, ['alpha']],
  ['the price is ten times as high', `${ROUTE}\n${PRICED.replace('100000', '1000000')}\n${ANN()}`, ['alpha']],
  ['the budget is taken out', `${ROUTE}\n${PRICED}\n${ANN()}`, ['alpha']],
  [
    'the key is taken out',
    `${ROUTE}\n${ANN()
      .replace('name: ann', 'name: bob')
      .replace(/:[0-9a-f]{64}/, `:${'0'.repeat(64)}`)}`,
    ['alpha'],
  ],
  ['the target is taken out', `${ROUTE.replace('alpha/model-a', 'beta/model-b')}\n${ANN()}`, ['beta']],
]
for (const stream of [false, true])
  for (const [what, config, providers] of TAKEN)
    test(`a call keeps the price that applied at its start: ${what} while it is ${stream ? 'streamed' : 'open'} (USE-06, LIFE-07)`, async (t) => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
      const { promise: changed, resolve: change } = Promise.withResolvers<void>()
      const budgeted = `${ROUTE}\n${PRICED}\n${ANN(', budget: { usd: 2 }')}`
      const gateway = await reloading(t, {
        config: budgeted,
        providers: {
          alpha: async (response, received) => {
            if (stream) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({}))
            arrive()
            await changed
            if (stream) response.end(chunk({}, { finish_reason: 'stop' }) + usageChunk() + DONE)
            else answer()(response, received)
          },
          beta: answer(),
        },
      })
      const headers = { authorization: 'Bearer ann' }
      const call = gateway.chat(ask('auto', { stream }), headers)
      await arrived
      gateway.reload(config, providers)
      change()
      const id = (await call).headers.get('x-gateway-request-id')
      gateway.reload(budgeted)
      const closed = async () => (await gateway.get(`/api/usage/request-logs/${id}`, { headers })).json
      while (!(await closed()).completed_at);
      const { cost_usd, price, attempt_log } = await closed()
      assert.deepEqual([cost_usd, price.rates.input_mtok, attempt_log[0].cost_usd], [2, 100_000, 2])
      assert.match((await gateway.get('/metrics', { headers })).text, /^waybill_cost_usd_total\{.+\} 2$/m)
      const after = await gateway.chat(ask('auto'), headers)
      assert.deepEqual([after.status, after.json.error?.code], [429, 'budget_exceeded'])
    })

test('an open feed of calls ends when its key has another role, another name, or is gone (PAGE-04, LIFE-07)', async (t) => {
  const digests = ['boss', 'ann', 'bob'].map((name) =>
    createHash('sha256').update(`key-of-${name}`).digest('hex'),
  )
  const keys = (...named: string[]) =>
    `${AUTO}\nkeys: [ ${named.map((start, n) => `{ ${start}, digest: "sha256:${digests[n]}" }`).join(', ')} ]`
  const before = keys('name: boss, role: admin', 'name: ann', 'name: bob')
  const gateway = await reloading(t, { config: before })
  const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })
  for (const [who, after] of [
    ['boss', keys('name: boss, role: client', 'name: ann', 'name: bob')],
    ['ann', keys('name: boss, role: admin', 'name: ann-2', 'name: ann')],
    ['boss', keys('name: other', 'name: ann', 'name: bob').replace(digests[0]!, '0'.repeat(64))],
  ] as const) {
    gateway.reload(before)
    const feed = await fetch(`${gateway.url}/api/usage/live`, { headers: as(who) })
    gateway.reload(after)
    assert.equal((await gateway.chat(ask('auto'), as('bob'))).status, 200)
    assert.doesNotMatch(await feed.text(), /event: call/, after)
  }
})
