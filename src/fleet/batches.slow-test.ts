// A batch that one gateway of a fleet makes and another fetches, over real sockets and PostgreSQL.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { replyWith, startProvider } from '../passthrough/test-provider.ts'
import { type TestGateway, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { fleetTests, openShared, skip } from './test-fleet.ts'

const { freshDatabase } = fleetTests()

const KEY = 'team-key-0123456789'
const digest = createHash('sha256').update(KEY).digest('hex')
const as = { authorization: `Bearer ${KEY}` }

/** A provider with one OpenAI batch. Its finished batch reports its usage, or the usage is only in the output. */
async function startKeeper(t: TestContext, saysUsage: boolean) {
  const body = { model: 'm', usage: { prompt_tokens: 600_000, completion_tokens: 400_000 } }
  const line = JSON.stringify({ custom_id: 'a', response: { status_code: 200, body } })
  return startProvider(t, (response, arrived) => {
    const { method, url } = arrived
    const usage = { input_tokens: 1_200_000, output_tokens: 800_000 }
    const ended = {
      ...{ id: 'batch_1abcdef', status: 'completed', model: 'm', output_file_id: 'file-out-1abcdef' },
      ...{ request_counts: { total: 2, completed: 2 }, ...(saysUsage && { usage }) },
    }
    if (url === '/v1/files') return replyWith({ id: 'file-in-1abcdef' })(response, arrived)
    if (url.endsWith('/content')) return replyWith(`${line}\n${line}\n`)(response, arrived)
    if (method === 'POST') return replyWith({ id: ended.id, status: 'validating' })(response, arrived)
    return replyWith(ended)(response, arrived)
  })
}

const start = (t: TestContext, fleetUrl: string, origin: string, name: string): Promise<TestGateway> =>
  testGateway(t, {
    providers: {},
    env: { FLEET_URL: fleetUrl, ONE_KEY: 'sk-one' },
    options: { log: undefined!, fleetUrl },
    config: `  one: { dialect: openai, base_url: "${origin}/v1", key: $ONE_KEY }
passthrough: [files, batches]
models: { one/m: { price: { input: 1, output: 2, service_tier: { batch: 0.5 } } } }
keys: [ { name: team, digest: "sha256:${digest}", budget: { usd: 100, unpriced: allow } } ]
fleet: { url: $FLEET_URL, instance: ${name} }`,
  })

for (const saysUsage of [true, false])
  test(`a batch fetched by another gateway is priced once, by ${saysUsage ? 'its reported usage' : 'its output'}, and its files are available immediately (FLEET-01, PASS-04)`, {
    skip,
  }, async (t) => {
    const fleetUrl = await freshDatabase()
    const { origin } = await startKeeper(t, saysUsage)
    const [one, two] = [await start(t, fleetUrl, origin, 'one'), await start(t, fleetUrl, origin, 'two')]
    const post = (at: TestGateway, path: string, body: string) =>
      at.get(path, { method: 'POST', headers: { ...as, 'content-type': 'application/json' }, body })
    const file = (await post(one, '/v1/files', '{}')).json.id
    const batch = (await post(one, '/v1/batches', JSON.stringify({ input_file_id: file }))).json.id
    const read = (at: TestGateway, path: string) => at.get(path, { headers: as })
    const recordAt = async (at: TestGateway, query = '') =>
      (await read(at, `/api/usage/request-logs?limit=50${query}`)).json.data.find(
        ({ method, endpoint }: any) => method === 'POST' && endpoint === '/v1/batches',
      )
    await until('the other gateway sees it, open, with its id', async () => {
      const record = await recordAt(two)
      return record?.completed_at === null && record.objects?.includes(batch)
    })
    const { status, json } = await read(two, `/v1/batches/${batch}`)
    assert.deepEqual([status, json.status], [200, 'completed'])
    assert.equal((await read(two, `/v1/files/${json.output_file_id}/content`)).status, 200)
    await until('its maker has closed it', async () => (await recordAt(one, '&scope=instance')).completed_at)
    await until('the others see it', async () => (await recordAt(two)).completed_at)
    const record = await recordAt(two)
    assert.deepEqual(
      [record.state, record.tokens.input, record.tokens.output, record.objects],
      ['completed', 1_200_000, 800_000, [batch, json.output_file_id]],
    )
    assert.ok(Math.abs(record.cost_usd - 1.4) < 1e-9, `$${record.cost_usd}`)
    await read(two, `/v1/batches/${batch}`)
    await read(one, `/v1/batches/${batch}`)
    const look = openShared(t, fleetUrl)
    await until('nothing is left behind', async () => {
      const [left] = await look.query<{ n: number }>('SELECT count(*)::int AS n FROM waybill.left_writes', [])
      return left!.n === 0
    })
    for (const gateway of [one, two]) {
      const { totals } = (await gateway.get('/api/usage/history?window=24h', { headers: as })).json
      assert.ok(Math.abs(totals.cost_usd - 1.4) < 1e-9, `$${totals.cost_usd} in the sums`)
    }
  })
