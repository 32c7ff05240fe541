// A relayed call reserves what it may cost, whichever way it asks for more output.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { pause, until } from '../test/test-until.ts'
import { gatewayTo, replyWith, startProvider } from './test-provider.ts'

const KEY = 'budget-key-0123456789'
const digest = createHash('sha256').update(KEY).digest('hex')
const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const config = (usd: number) => `passthrough: [completions]
models: { one/m: { price: { input: 0, output: 10000 } } }
keys: [ { name: team, digest: "sha256:${digest}", budget: { usd: ${usd} } } ]`

/** Bodies, and the number of outputs of 100 tokens that are reserved, at $1 each. */
const ASKED: readonly (readonly [object, number])[] = [
  [{ prompt: 'a' }, 1],
  [{ prompt: ['a'] }, 1],
  [{ prompt: Array(20).fill('a') }, 20],
  [{ prompt: [1, 2, 3] }, 1],
  [{ prompt: [[1, 2, 3], [4]] }, 2],
  [{ prompt: ['a', [1, 2]] }, 2],
  [{ prompt: [] }, 1],
  [{ prompt: 'a', n: 4 }, 4],
  [{ prompt: 'a', best_of: 5, n: 2 }, 5],
  [{ prompt: ['a', 'b', 'c'], n: '4', best_of: 2 }, 12],
  [{ prompt: 'a', num_return_sequences: 3 }, 3],
  [{ prompt: 'a', num_generations: 3 }, 3],
  [{ prompt: 'a', parameters: { candidate_count: 6 } }, 6],
  [{ prompt: 'a', extra_body: { n: 6 } }, 6],
  [{ instances: [{ prompt: 'a' }, { prompt: 'b' }], parameters: { sampleCount: 4 } }, 8],
  [{ prompt: ['a', 'b'], max_tokens: 1, max_completion_tokens: 100 }, 2],
]

test('a call reserves the cost of all outputs that it asks for', async (t) => {
  let reserved = 0
  const provider = await startProvider(t, async (response, arrived) => {
    reserved = await reservedNow()
    return replyWith({ model: 'm', usage: { prompt_tokens: 0, completion_tokens: 0 } })(response, arrived)
  })
  const gateway = await gatewayTo(t, { one: { dialect: 'openai', origin: provider.origin } }, config(1_000))
  const reservedNow = async () => (await gateway.get('/api/keys/me', { headers })).json.reserved_usd
  for (const [asked, outputs] of ASKED) {
    await until('nothing is reserved', async () => (await reservedNow()) === 0)
    const body = JSON.stringify({ model: 'one/m', max_tokens: 100, ...asked })
    const { status } = await gateway.get('/v1/completions', { method: 'POST', headers, body })
    assert.deepEqual([status, reserved], [200, outputs], body)
  }
})

test('of many calls at the same time, each with 20 prompts, a budget for one prompt admits one call (PASS-05)', async (t) => {
  const provider = await startProvider(t, async (response, arrived) => {
    await pause(300)
    return replyWith({ model: 'm', usage: { prompt_tokens: 0, completion_tokens: 2_000 } })(response, arrived)
  })
  const gateway = await gatewayTo(t, { one: { dialect: 'openai', origin: provider.origin } }, config(0.9))
  const body = JSON.stringify({ model: 'one/m', max_tokens: 100, prompt: Array(20).fill('a') })
  const calls = Array.from({ length: 100 }, () =>
    gateway.get('/v1/completions', { method: 'POST', headers, body }),
  )
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 200).length, 1)
  assert.equal(provider.arrived.length, 1)
})
