// Official clients and a spent budget. Although these clients normally retry, they try once and stop, because a retry
// would not help.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { answer } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const KEY = 'key-of-ann'
const digest = createHash('sha256').update(KEY).digest('hex')
const headers = { authorization: `Bearer ${KEY}` }
const messages = [{ role: 'user' as const, content: 'more' }]

/** Functions that each make one call with a client's default settings. */
const CLIENTS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'OpenAI, chat': (url) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).chat.completions.create({ model: 'auto', messages }),
  'OpenAI, a streamed response': (url) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).responses.create({
      model: 'auto',
      input: 'more',
      stream: true,
    }),
  'Anthropic, messages': (url) =>
    new Anthropic({ baseURL: url, apiKey: KEY }).messages.create({ model: 'auto', max_tokens: 9, messages }),
}

for (const [name, call] of Object.entries(CLIENTS))
  test(`the client ${name} tries only once when the budget is spent`, async (t) => {
    const gateway = await testGateway(t, {
      providers: { alpha: answer() },
      config: `models: { alpha/model-a: { price: { input: 10000, output: 10000 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 0.01, per: day } } ]`,
    })
    assert.equal((await gateway.chat(ask('auto'), headers)).status, 200)
    const own = async () => (await gateway.get('/api/keys/me', { headers })).json
    await until('nothing is reserved', async () => (await own()).reserved_usd === 0)
    await assert.rejects(call(gateway.url), (error: { status?: number }) => error.status === 429)
    const { json } = await gateway.get('/api/usage/refused-calls', { headers })
    assert.deepEqual(
      json.data.map(({ code }: { code: string }) => code),
      ['budget_exceeded'],
    )
    assert.equal(gateway.received(), 1)
  })
