// The estimated cost of calls on record on another route: which calls are repriced, at which tokens, and what is named.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { manualClock } from '../shared/test-clock.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const CONFIG = `
models:
  alpha/a: { price: { input: 10, output: 20, cached_input: 1 }, accepts: { cache: { by: provider, min: 1000 } } }
  beta/b: { price: { input: 1, output: 2, cached_input: 0.1 }, accepts: { cache: { by: provider, min: 1000, step: 100 } } }
  beta/marked: { price: { input: 1, output: 2, cached_input: 0.1, cache_write: 2 }, accepts: { cache: { by: request, min: 1000 } } }
routes:
  a: { targets: [ { model: alpha/a }, { model: beta/b } ] }
  b: { targets: [ { model: beta/b } ] }
  priceless: { targets: [ { model: beta/none } ] }
  drawn: { strategy: weighted, targets: [ { model: beta/b, weight: 1 }, { model: alpha/a, weight: 1 } ] }
resilience: { retries: 0, cooldown: 1ms }`

const usage = (prompt: number, output: number, cached?: number) => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
  ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
})

const setup = async (t: Parameters<typeof testGateway>[0]) => {
  const clock = manualClock()
  const gateway = await testGateway(t, {
    clock,
    config: CONFIG,
    providers: { alpha: answer(), beta: answer() },
  })
  const call = async (model: string, used: object | null, session?: string) => {
    gateway.upstream.alpha!.script = answer('text', used)
    gateway.upstream.beta!.script = answer('text', used)
    const headers: Record<string, string> = session === undefined ? {} : { 'x-session-id': session }
    const { headers: answered } = await gateway.chat(ask(model), headers)
    await gateway.record(answered.get('x-gateway-request-id'))
    await clock.advance(1_000)
  }
  const whatIf = async (query: string) => (await gateway.get(`/api/usage/what-if?${query}`)).json
  return { ...gateway, clock, call, whatIf }
}

test('what-if prices the tokens on record at the other target, with its cache', async (t) => {
  const { call, whatIf } = await setup(t)
  await call('a', usage(2_000, 100, 0), 's')
  await call('a', usage(3_050, 100, 2_000), 's')
  const { calls, recorded, repriced, targets, statement } = await whatIf('route=b')
  assert.equal(calls, 2)
  assert.equal(recorded.cost_usd, (2_000 * 10 + 100 * 20 + 1_050 * 10 + 2_000 * 1 + 100 * 20) / 1e6)
  assert.ok(Math.abs(repriced.cost_usd - (2_000 + 200 + 1_050 + 200 + 200) / 1e6) < 1e-12)
  assert.deepEqual(
    targets.map(({ cost_usd: _, ...each }: any) => each),
    [
      {
        ...{ target: 'beta/b', calls: 2, input_tokens: 5_050, output_tokens: 200 },
        ...{ cached_input_tokens: 2_000, cache_write_tokens: 3_000 },
      },
    ],
  )
  assert.equal(statement, 'cost proved on 2 calls; quality not measured')
})

test('a route that is estimated from its own record costs what it cost', async (t) => {
  const { call, whatIf, clock } = await setup(t)
  await call('a', usage(2_000, 100, 0), 's')
  await call('a', usage(3_000, 100, 2_000), 's')
  await call('a', usage(1_500, 50, 1_200), 's') // another beginning
  await call('a', usage(1_600, 70, 1_500), 's')
  await clock.advance(6 * 60_000)
  await call('a', usage(1_800, 70, 0), 's') // the cache has ended
  await call('a', usage(1_200, 10, 0)) // no session
  const { recorded, repriced, outputs } = await whatIf('route=a')
  assert.ok(Math.abs(repriced.cost_usd - recorded.cost_usd) < 1e-9, `${repriced.cost_usd}`)
  assert.deepEqual(outputs, [])
  assert.equal(repriced.low_usd, repriced.cost_usd)
})

test('a model that caches only what is marked caches nothing of chat calls without marks', async (t) => {
  const { call, whatIf } = await setup(t)
  await call('a', usage(2_000, 100, 0), 's')
  await call('a', usage(3_000, 100, 2_000), 's')
  const [target] = (await whatIf('route=beta/marked')).targets
  assert.equal(target.cached_input_tokens + target.cache_write_tokens, 0)
})

test('calls that cannot be repriced are counted and named (PAGE-10)', async (t) => {
  const { call, chat, upstream, whatIf, clock } = await setup(t)
  await call('a', usage(20, 7))
  await call('alpha/a', usage(20, 7))
  await call('a', null)
  upstream.alpha!.script = fail(400)
  await chat(ask('a'))
  await clock.advance(1_000)
  const left = async (query: string) =>
    Object.fromEntries((await whatIf(query)).left_out.map(({ reason, calls }: any) => [reason, calls]))
  assert.deepEqual(await left('route=b'), { fixed_model: 1, no_usage: 1, not_answered: 1 })
  assert.deepEqual(await left('route=b&direct=true'), { no_usage: 1, not_answered: 1 })
  assert.deepEqual(await left('route=priceless'), {
    fixed_model: 1,
    no_usage: 1,
    not_answered: 1,
    no_price: 1,
  })
  assert.equal((await whatIf('route=b&direct=true')).calls, 2)
})

test('the output of another model is a range: assumed, or by the calls on record', async (t) => {
  const { call, whatIf } = await setup(t)
  for (let n = 0; n < 30; n++) await call('a', usage(100, 100))
  const unknown = await whatIf('route=b')
  assert.deepEqual(unknown.outputs, [
    { from: 'alpha/a', to: 'beta/b', calls: 30, low: 0.5, high: 2, is_known: false },
  ])
  assert.ok(Math.abs(unknown.repriced.high_usd - (30 * (100 + 2 * 200)) / 1e6) < 1e-12)
  for (let n = 0; n < 30; n++) await call('b', usage(100, 150))
  const [known] = (await whatIf('route=b')).outputs
  assert.deepEqual([known.low, known.high, known.is_known], [1, 1.5, true])
})

test('a target fails for the calls for which it failed on record, and else as often', async (t) => {
  const { call, chat, upstream, whatIf, clock } = await setup(t)
  for (let n = 0; n < 40; n++) {
    if (n % 4 > 0) await call('a', usage(100, 100))
    else {
      upstream.alpha!.script = fail(503)
      upstream.beta!.script = answer('text', usage(100, 100))
      await chat(ask('a'))
      await clock.advance(1_000)
    }
  }
  const { targets, assumed } = await whatIf('route=a')
  assert.deepEqual(
    targets.map(({ target, calls }: any) => [target, calls]),
    [
      ['alpha/a', 30],
      ['beta/b', 10],
    ],
  )
  assert.ok(assumed.length > 0)
  const drawn = await whatIf('route=drawn')
  assert.equal(drawn.calls, 40)
  assert.ok(drawn.assumed.some((each: string) => each.includes('drawn once')))
})

test('an unknown route is refused by name', async (t) => {
  const { get } = await setup(t)
  const { status, json } = await get('/api/usage/what-if?route=nowhere')
  assert.equal(status, 400)
  assert.match(json.error.message, /no such route/)
  assert.equal((await get('/api/usage/what-if')).status, 400)
})

test('what-if leaves out calls that the gateway answered from its cache, and says so', async (t) => {
  const gateway = await testGateway(t, {
    config: `${CONFIG}\ncache: { enabled: true }`,
    providers: { alpha: answer(), beta: answer() },
  })
  for (const cache of ['MISS', 'HIT']) {
    const { headers } = await gateway.chat(ask('alpha/a', { temperature: 0 }))
    assert.equal(headers.get('x-gateway-cache'), cache)
    await gateway.record(headers.get('x-gateway-request-id'))
  }
  const { json } = await gateway.get('/api/usage/what-if?route=alpha/a&direct=true')
  assert.equal(json.calls, 1)
  assert.deepEqual(json.left_out, [
    { reason: 'gateway_cache', calls: 1, text: "came from the gateway's cache" },
  ])
})
