// Projected spending of budgets: by the average since the first call of the period.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { dated } from '../shared/test-clock.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const HOUR = 3_600_000
const digest = `sha256:${createHash('sha256').update('key-of-ann').digest('hex')}`
const headers = { authorization: 'Bearer key-of-ann' }

test('a budget’s spending is projected by its average since the first call of the period', async (t) => {
  let at = Date.parse('2026-11-21T06:20:00Z')
  const gateway = await testGateway(t, {
    providers: { alpha: answer('x', { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000 }) },
    clock: dated(() => at),
    config: `
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
models: { alpha/model-a: { price: { input: 1000, output: 1 } } }
keys: [ { name: ann, digest: "${digest}", budget: [ { usd: 9, per: day }, { usd: 9, per: week }, { usd: 9, per: month }, { usd: 9, per: session } ] } ]`,
  })
  const projected = async (path = '/api/keys/me') => {
    const { json } = await gateway.get(path, { headers })
    return (json.data?.[0] ?? json).budgets.map((budget: any) => budget.projected_usd)
  }
  assert.deepEqual(await projected(), [null, null, null, null], 'without a call')
  await gateway.chat(ask('auto'), headers)
  at = Date.parse('2026-11-21T07:59:00Z')
  assert.deepEqual(await projected(), [null, null, null, null], 'in the first two hours')

  at = Date.parse('2026-11-21T12:00:00Z') // six hours after the hour of the first call, for one dollar
  const perHour = 1 / 6
  assert.deepEqual(
    (await projected()).map((usd: number | null) => usd?.toFixed(6) ?? null),
    [12, 36, 12 + 9 * 24].map((hours) => (1 + perHour * hours).toFixed(6)).concat(null as never),
  )
  assert.deepEqual(await projected('/api/keys'), await projected())
  at += 24 * HOUR
  assert.equal((await projected())[0], null, 'a new day begins without a call')
})
