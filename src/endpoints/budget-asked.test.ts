// How much output a call may make: it may say so twice, and providers differ in which one they heed. A budget sets aside
// for the larger one.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const digest = createHash('sha256').update('key-of-ann').digest('hex')

const ASKED: readonly object[] = [
  { max_tokens: 100 },
  { max_completion_tokens: 100 },
  { max_completion_tokens: 1, max_tokens: 100 },
  { max_tokens: 1, max_completion_tokens: 100 },
  { max_output_tokens: 1, max_completion_tokens: 1, max_tokens: 100 },
  { max_tokens: 1, generationConfig: { maxOutputTokens: 100 } },
  { max_tokens: 1, n: 100 },
  { max_tokens: 1, n: 1, generationConfig: { candidateCount: 100 } },
  { max_tokens: '100' },
  { max_tokens: 1, n: '100' },
]

for (const asked of ASKED)
  test(`20 calls at once, a budget for one, asking for ${JSON.stringify(asked)}`, async (t) => {
    const use = { prompt_tokens: 1, completion_tokens: 100, total_tokens: 101 }
    const slow: Script = (response, received) =>
      void setTimeout(() => answer('.', use)(response, received), 200)
    const gateway = await testGateway(t, {
      providers: { alpha: slow },
      config: `
models: { alpha/model-a: { price: { input: 10000, output: 10000 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 0.9 } } ]`,
    })
    const headers = { authorization: 'Bearer key-of-ann' }
    const calls = Array.from({ length: 20 }, () => gateway.chat(ask('auto', asked), headers))
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 1)
    assert.equal(gateway.received(), 1)
    const reserved = async () => (await gateway.get('/api/keys/me', { headers })).json.reserved_usd
    for (let tries = 0; tries < 200 && (await reserved()) !== 0; tries++) await sleep(10)
    assert.equal(await reserved(), 0)
  })
