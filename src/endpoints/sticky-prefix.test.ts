// `sticky: prefix` over real sockets: clients without sessions, a move, its cost, and the sum of such costs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { type TestGateway, testGateway } from '../test/test-gateway.ts'

const TARGETS = 'targets: [ { model: alpha/model-a }, { model: beta/model-b } ]'
const usage = (input: number, cached: number) => ({
  prompt_tokens: input,
  completion_tokens: 1,
  total_tokens: input + 1,
  prompt_tokens_details: { cached_tokens: cached },
})
const LONG = 'a rule of this house. '.repeat(400)
const ask = (first: string, ...later: string[]) => ({
  model: 'auto',
  messages: [
    { role: 'system', content: LONG },
    { role: 'user', content: first },
    ...later.flatMap((content) => [
      { role: 'assistant', content: 'yes' },
      { role: 'user', content },
    ]),
  ],
})

async function call({ chat, record }: TestGateway, body: object) {
  const { headers } = await chat(body)
  return record(headers.get('x-gateway-request-id'))
}

test('with `sticky: prefix`, calls with the same beginning stay with one target; cached tokens lost by a move are recorded and summed by target (ROUTE-14)', async (t) => {
  let time = clock.now()
  const gateway = await testGateway(t, {
    providers: { alpha: answer('a', usage(2_100, 1_900)), beta: answer('b', usage(2_200, 200)) },
    config: `routes: { auto: { strategy: round-robin, sticky: prefix, ${TARGETS} } }`,
    clock: dated(() => time),
  })
  const first = await call(gateway, ask('hello'))
  assert.equal(first.resolved_provider, 'alpha')
  assert.equal(first.session_id, null, 'no session is invented')
  assert.equal((await call(gateway, ask('another'))).resolved_provider, 'beta')
  const second = await call(gateway, ask('hello', 'go on'))
  assert.deepEqual(
    [second.resolved_provider, second.decision.cause, second.cache_lost],
    ['alpha', 'sticky', null],
  )

  gateway.upstream.alpha!.script = fail(429, { 'retry-after': '60' })
  const moved = await call(gateway, ask('hello', 'go on', 'further'))
  assert.deepEqual([moved.resolved_provider, moved.fallbacks, moved.cache_lost], ['beta', 1, 1_700])
  time += 61_000
  gateway.upstream.alpha!.script = answer('a', usage(2_100, 1_900))
  assert.equal((await call(gateway, ask('hello', 'go on', 'further', 'still'))).resolved_provider, 'beta')

  const { json } = await gateway.get('/api/routes?window=24h')
  const sums = json.routes[0].targets.map((target: Record<string, unknown>) => [
    target.provider,
    target.moved,
    target.cache_lost,
    target.cached_input_tokens,
  ])
  assert.equal(json.routes[0].sticky, 'prefix')
  assert.deepEqual(sums, [
    ['alpha', 0, 0, 3_800],
    ['beta', 1, 1_700, 600],
  ])
  const { totals } = (await gateway.get('/api/usage/history?window=24h')).json
  assert.deepEqual([totals.moved, totals.cache_lost], [1, 1_700])

  time += 5 * 60_000 + 1
  const late = await call(gateway, ask('hello', 'after a while'))
  assert.deepEqual([late.decision.cause, late.cache_lost], ['round-robin', null], 'no cache lasts so long')
})
