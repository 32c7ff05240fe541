// Conversations shared by two gateways, over real sockets and PostgreSQL.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, fail } from '../../mocks/test-upstream.ts'
import type { TestGateway } from '../test/test-gateway.ts'
import { fleetTests, instance, skip } from './test-fleet.ts'

const { freshDatabase } = fleetTests()
const usage = {
  prompt_tokens: 2_500,
  completion_tokens: 1,
  total_tokens: 2_501,
  prompt_tokens_details: { cached_tokens: 2_000 },
}
const cold = { ...usage, prompt_tokens_details: { cached_tokens: 0 } }
const config = (sticky: string) =>
  `routes: { auto: { strategy: round-robin, sticky: ${sticky}, targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }`
const providers = { alpha: answer('a', usage), beta: answer('b', usage) }
const LONG = 'a rule of this house. '.repeat(400)

const ask = async ({ chat }: TestGateway, first: string, headers = {}) => {
  const body = {
    model: 'auto',
    messages: [
      { role: 'system', content: LONG },
      { role: 'user', content: first },
    ],
  }
  return (await chat(body, headers)).headers
}
const provider = async (gateway: TestGateway, first: string, headers = {}) =>
  (await ask(gateway, first, headers)).get('x-gateway-provider')

/** Waits until the gateways know each other's conversations: ten times as long as on an idle machine. */
const exchanged = () => sleep(10_000)

for (const [sticky, headers] of [
  ['prefix', {}],
  ['session', { 'x-session-id': 'of-ann' }],
] as const)
  test(`with sticky: ${sticky}, a conversation keeps its target at another gateway and after a restart, and the fleet counts the tokens lost by a move (ROUTE-14)`, {
    skip,
  }, async (t) => {
    const url = await freshDatabase()
    const start = (name: string) => instance(t, url, { name, config: config(sticky), providers })
    const [one, two] = [await start('one'), await start('two')]
    // Each gateway's rotation begins with alpha. This conversation begins at beta.
    assert.equal(await provider(one, 'of another', { ...headers, 'x-session-id': 'of-bob' }), 'alpha')
    assert.equal(await provider(one, 'hello', headers), 'beta')
    await exchanged()
    assert.equal(await provider(two, 'hello', headers), 'beta')
    await one.gateway.close()
    const three = await start('three')
    await exchanged()
    three.upstream.beta!.script = fail(429, { 'retry-after': '60' })
    three.upstream.alpha!.script = answer('a', cold)
    const moved = await three.record((await ask(three, 'hello', headers)).get('x-gateway-request-id'))
    assert.deepEqual([moved.resolved_provider, moved.cache_lost], ['alpha', 2_000])
    const { totals } = (await two.get('/api/usage/history?window=24h')).json
    assert.deepEqual([totals.moved, totals.cache_lost], [1, 2_000], 'the other gateway adds it up')
  })
