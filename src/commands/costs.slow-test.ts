// `waybill costs` with a running gateway: by whom, at which times, exact, estimated and incomplete.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer, chunk, type Script, stream } from '../../mocks/test-upstream.ts'
import { dated } from '../shared/test-clock.ts'
import { runCli } from '../test/test-cli.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const KEYS = { boss: 'wb_boss-key', ann: 'wb_ann-key' }
const entry = (name: keyof typeof KEYS, more: string) =>
  `{ name: ${name}, ${more}, digest: "sha256:${createHash('sha256').update(KEYS[name]).digest('hex')}" }`
const CONFIG = `keys: [ ${entry('boss', 'role: admin')}, ${entry('ann', 'budget: [{ usd: 200, per: month, unpriced: allow }, { usd: 100, per: day, unpriced: allow }]')} ]
models: { alpha/model-a: { price: { input: 1000, output: 5000 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`

const usage: Script = answer('x', { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 })
const as = (key: keyof typeof KEYS, client: string) => ({
  authorization: `Bearer ${KEYS[key]}`,
  'user-agent': client,
})

test('`waybill costs` shows what calls cost and by whom, and marks estimates and minimums', async (t) => {
  // In the middle of a month and of a day, so that the spans and budgets do not depend on the date of the test.
  const noon = Date.UTC(2026, 10, 15, 12)
  let at = noon - 26 * 3_600_000
  const gateway = await testGateway(t, {
    providers: { alpha: usage },
    config: CONFIG,
    clock: dated(() => at),
  })
  const costs = async (zone: string, ...words: string[]) =>
    await runCli(['costs', '--url', gateway.url, ...words], { env: { WAYBILL_KEY: KEYS.boss, TZ: zone } })
  await gateway.chat(ask('auto'), as('ann', 'codex/1.0'))
  at = noon
  await gateway.chat(ask('auto'), as('ann', 'claude-cli/2.1 (external, cli)'))
  await gateway.chat(ask('auto'), as('boss', 'claude-cli/2.2 (external, cli)'))
  await gateway.chat(ask('alpha/free'), as('boss', 'curl/8'))
  gateway.upstream.alpha!.script = stream(chunk({ content: 'some words' }), 60_000)
  const leave = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...as('ann', 'codex/1.1'), 'content-type': 'application/json', 'x-session-id': 'left' },
    body: JSON.stringify(ask('auto', { stream: true })),
    signal: leave.signal,
  })
  await response.body!.getReader().read()
  leave.abort()
  await until('the call is over', async () => {
    const { json } = await gateway.get('/api/usage/request-logs?state=aborted', { headers: as('boss', 'x') })
    return json.data.length === 1
  })

  const span = ['--since', '2026-11-15T10:00:00Z', '--until', '2026-11-15T13:00:00Z']
  const today = await costs('UTC', ...span, '--by', 'client')
  assert.match(today.stdout, /^≥ ~\$0\.\d+ for 4 calls, 2026-11-15 10:00 to 2026-11-15 13:00 \(UTC\)\n/)
  assert.match(today.stdout, /\nclient +calls +failed +tokens +cost\nclaude-cli +2 +0 +200→40 +\$0\.40\n/)
  assert.match(today.stdout, /\ncodex +1 +0 +\S+ +~\$0\.0\d+\n/)
  assert.match(today.stdout, /\ncurl +1 +0 +100→20 +-\n/)
  assert.match(
    today.stdout,
    /\nbudget of +spent +at this pace +limit +until\nann +~\$0\.4\S+ +\$\S+( !)? +\$200.00 a month +\d/,
  )
  assert.match(today.stderr, /^waybill: the cost of 1 of these calls is not fully known, or not yet\n$/)

  const json = JSON.parse(
    (await costs('Asia/Kolkata', '--since', '2026-11-09', '--by', 'day', '--json')).stdout,
  )
  assert.match(json.zone, /^Asia\/(Kolkata|Calcutta)$/) // older name
  assert.equal(json.totals.calls, 5)
  const midnight = (iso: string) => new Date(iso).toLocaleTimeString('sv', { timeZone: 'Asia/Kolkata' })
  assert.ok(json.buckets.length >= 2)
  for (const { start } of json.buckets) assert.equal(midnight(start), '00:00:00')
  const all = (await gateway.get('/api/usage/history?window=7d', { headers: as('boss', 'x') })).json
  assert.deepEqual(json.totals, all.totals)

  const waybill = (...words: string[]) =>
    runCli([...words, '--url', gateway.url], { env: { WAYBILL_KEY: KEYS.boss } })
  assert.match((await waybill('logs')).stdout, / aborted .* ~\$0\.0\d+ /)
  assert.match(
    (await waybill('key', 'list')).stdout,
    /\nann .* ~\$0\.\d+ of \$200\.00 a month, ~\$.* ~\$0\.\d+\n/,
  )
  assert.match((await waybill('sessions')).stdout, /\nleft .* ~\$0\.0\d+\n/)
  const none = await costs('UTC', '--since', '2020-01-01', '--until', '2020-01-02')
  assert.match(none.stdout, /^\$0 for 0 calls, 2020-01-01 00:00 to 2020-01-02 00:00 \(UTC\)\n\nbudget of /)
  const own = await runCli(['costs', 'month', '--by', 'key', '--url', gateway.url], {
    env: { WAYBILL_KEY: KEYS.ann },
  })
  assert.doesNotMatch(own.stdout, /boss/)
  for (const words of [
    ['today', '--since', '1h'],
    ['--until', '1h'],
    ['--since', '2026-01-02', '--until', '2026-01-01'],
    ['yesteryear'],
    ['--by', 'nothing'],
  ])
    assert.equal((await costs('UTC', ...words)).code, 2, words.join(' '))
})
