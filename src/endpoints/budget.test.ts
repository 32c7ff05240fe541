// A budget is a bound. The possible cost of open calls is reserved, unreported cost is charged as an
// estimate, and a target without a price is refused. `limits.test.ts` tests what happens when a budget is
// spent. Over 250 lines, because all tests use the same keys and prices.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { Agent, request } from 'undici'
import { answer, chunk, type Script, stream, streamed } from '../../mocks/test-upstream.ts'
import { dated } from '../shared/test-clock.ts'
import { ask, type Setup, type TestGateway, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

/** Price of a cent per token, input or output. */
const CENT = 'price: { input: 10000, output: 10000 }'
const ROUTES = `
resilience: { retries: 0, cooldown: 0ms }
models: { alpha/model-a: { ${CENT} }, beta/model-b: { ${CENT} } }
routes:
  auto: { targets: [ { model: alpha/model-a } ] }
  both: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] }
  mixed: { targets: [ { model: alpha/unpriced }, { model: beta/model-b } ] }`
const key = (name: string, limits: string, role = 'client') =>
  `{ name: ${name}, role: ${role}, digest: "sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}", ${limits} }`
const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })

const start = (t: TestContext, keys: string, setup: Setup = {}) =>
  testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `${ROUTES}\nkeys: [ ${keys} ]`,
    ...setup,
  })
const me = async ({ get }: TestGateway, who = 'ann') => {
  const { status, json } = await get('/api/keys/me', { headers: as(who) })
  assert.equal(status, 200)
  return json
}
/** Waits until the key has no open calls. */
const settled = (gateway: TestGateway, who = 'ann') =>
  until('nothing is reserved', async () => {
    const now = await me(gateway, who)
    return now.reserved_usd === 0 && now
  })
const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual}, expected ${expected}`)

/** Reports this usage, which is at most the reserved sum. */
const cheap = answer('.', { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 })

test('1,000 concurrent calls exceed a budget for ten calls by at most one call', async (t) => {
  const slow: Script = (response, received) => pause(200).then(() => cheap(response, received))
  const gateway = await start(t, key('ann', 'budget: { usd: 1 }'), {
    providers: { alpha: slow },
    server: 'max_calls: 5000',
    config: `models: { alpha/model-a: { ${CENT} } }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }\nkeys: [ ${key('ann', 'budget: { usd: 1 }')} ]`,
  })
  const agent = new Agent({ connections: 250, pipelining: 1 })
  t.after(() => agent.destroy())
  const calls = Array.from({ length: 1_000 }, async () => {
    const { statusCode, body } = await request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      dispatcher: agent,
      headers: { 'content-type': 'application/json', ...as('ann') },
      body: JSON.stringify(ask('auto', { max_tokens: 7 })),
    })
    return { statusCode, json: (await body.json()) as any }
  })
  const results = await Promise.all(calls)
  const went = results.filter(({ statusCode }) => statusCode === 200).length
  assert.equal(gateway.received(), went)
  assert.ok(went >= 1 && went <= 11, `${went} went out`)
  for (const { statusCode, json } of results)
    if (statusCode !== 200) assert.deepEqual([statusCode, json.error.code], [429, 'budget_exceeded'])
  near((await settled(gateway)).spent_usd, went * 0.1)
})

test('Health warns when a key has spent more than four fifths of its budget', async (t) => {
  const gateway = await start(
    t,
    `${key('ann', 'budget: { usd: 1 }')}, ${key('op', '', 'admin').replace(', }', ' }')}`,
    {
      providers: { alpha: cheap, beta: cheap },
    },
  )
  const warnings = async () => {
    const { findings } = (await gateway.get('/api/health', { headers: as('op') })).json
    return findings.map(({ text }: { text: string }) => text).filter((text: string) => /has spent/.test(text))
  }
  for (let n = 0; n < 7; n++) await gateway.chat(ask('auto', { max_tokens: 7 }), as('ann'))
  await settled(gateway)
  assert.deepEqual(await warnings(), [])
  for (let n = 0; n < 2; n++) await gateway.chat(ask('auto', { max_tokens: 7 }), as('ann'))
  await settled(gateway)
  assert.match((await warnings()).join(), /"ann" has spent \$0\.90 of its \$1\.00/)
})

test('the possible cost of an open call is reserved, and released when it ends', async (t) => {
  const slow = stream(chunk({ content: 'a' }), 300, chunk({}, { finish_reason: 'stop' }), 'data: [DONE]\n\n')
  const gateway = await start(t, key('ann', 'budget: { usd: 1000 }'), {
    providers: { alpha: slow, beta: answer() },
  })
  for (const [max, expected] of [
    [{ max_tokens: 50 }, 50],
    [{ max_completion_tokens: 60, max_tokens: 5 }, 60],
    [{ max_tokens: 50, n: 3 }, 150],
    [{}, 4_096],
    [{ max_tokens: 'many' }, 4_096],
    [{ max_tokens: -5, n: -1 }, 4_096],
  ] as const) {
    const call = gateway.chat(ask('auto', { stream: true, ...max }), as('ann'))
    let open = await me(gateway)
    for (; open.reserved_usd === 0; open = await me(gateway)) await pause(5)
    const tokens = Math.round(open.reserved_usd * 100)
    assert.ok(tokens > expected && tokens < expected + 40, `${tokens} for ${JSON.stringify(max)}`)
    await call
    await settled(gateway)
  }
})

test('a call whose client leaves before the answer is charged for its estimated input', async (t) => {
  const gateway = await start(t, key('ann', 'budget: { usd: 5 }'), {
    providers: { alpha: () => {}, beta: answer() },
  })
  const long = ask('auto', {
    max_tokens: 1,
    messages: [{ role: 'user', content: 'so many words '.repeat(10) }],
  })
  for (let calls = 1; calls <= 10; calls++) {
    const left = new AbortController()
    const call = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...as('ann') },
      body: JSON.stringify(long),
      signal: left.signal,
    }).catch(() => {})
    await until('all requests', () => gateway.received() >= calls)
    left.abort()
    await call
  }
  const { spent_usd, estimated_usd } = await settled(gateway)
  assert.ok(spent_usd > 10 * 0.3 && spent_usd < 10 * 0.6, `$${spent_usd} for 10 × some 40 tokens`)
  near(estimated_usd, spent_usd)
  const { json } = await gateway.get('/api/usage/request-logs', { headers: as('ann') })
  assert.deepEqual(
    [...new Set(json.data.map(({ cost_usd }: any) => cost_usd))],
    [null],
    'on record it is unknown',
  )
  let more = 0
  for (; more < 10; more++) {
    const left = new AbortController()
    const headers = { 'content-type': 'application/json', ...as('ann') }
    const before = gateway.received()
    let got: Response | undefined
    const call = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(long),
      signal: left.signal,
    }).then(
      (response) => (got = response),
      () => {},
    )
    await until('the call has arrived or is refused', () => got || gateway.received() > before)
    left.abort()
    await call
    if (got?.status === 429) break
  }
  assert.ok(more < 9, 'the budget ends')
})

for (const [name, script, expected] of [
  ['the connection breaks', (response) => response.destroy(), 'input'],
  ['an answer that is none', (response) => response.writeHead(200).end('<html>'), 'input'],
  ['no usage in the answer', answer('.', null), 'reserved'],
  [
    'no usage in the stream',
    stream(chunk({ content: 'a' }, { finish_reason: 'stop' }), 'data: [DONE]\n\n'),
    'reserved',
  ],
  ['an error status', (response) => response.writeHead(500).end('{}'), 'nothing'],
  ['a refusal', (response) => response.writeHead(400).end('{}'), 'nothing'],
] as readonly [string, Script, string][])
  test(`an attempt without a reported cost is charged correctly: ${name}`, async (t) => {
    const gateway = await start(t, key('ann', 'budget: { usd: 100 }'), {
      providers: { alpha: script, beta: answer() },
    })
    await gateway.chat(ask('auto', { max_tokens: 100, stream: name.endsWith('stream') }), as('ann'))
    const { spent_usd, estimated_usd } = await settled(gateway)
    near(spent_usd, estimated_usd)
    const cents = spent_usd * 100
    if (expected === 'nothing') assert.equal(cents, 0)
    else if (expected === 'input') assert.ok(cents > 1 && cents < 40, `${cents}`)
    else assert.ok(cents > 100 && cents < 140, `${cents}`)
  })

test('after a fallback, the failed attempt is charged as an estimate, and the successful one as reported', async (t) => {
  const gateway = await start(t, key('ann', 'budget: { usd: 100 }'), {
    providers: { alpha: (response) => response.destroy(), beta: cheap },
  })
  assert.equal((await gateway.chat(ask('both', { max_tokens: 10 }), as('ann'))).status, 200)
  const { spent_usd, estimated_usd } = await settled(gateway)
  assert.ok(estimated_usd > 0)
  near(spent_usd, estimated_usd + 0.1)
})

test('a key with a budget cannot use a target without a known price unless the budget allows it', async (t) => {
  const keys = [
    key('ann', 'budget: { usd: 5 }'),
    key('bob', 'budget: { usd: 5, unpriced: allow }'),
    key('cas', 'rate: { requests: 50, per: 1m }'),
  ]
  const gateway = await start(t, keys.join(', '))
  const refused = await gateway.chat(ask('alpha/unpriced'), as('ann'))
  assert.deepEqual([refused.status, refused.json.error.code], [403, 'price_unknown'])
  const line =
    /"ann".*Under `models` of the configuration, the operator can write `(alpha\/unpriced: .*?)`/.exec(
      refused.json.error.message,
    )![1]!
  assert.equal(gateway.received(), 0)
  assert.equal((await gateway.chat(ask('alpha/unpriced'), as('bob'))).status, 200)
  assert.equal((await gateway.chat(ask('alpha/unpriced'), as('cas'))).status, 200)

  const written = await start(t, '', {
    config: `${ROUTES.replace('models: {', `models: { ${line.replace('INPUT', '1').replace('OUTPUT', '2')},`)}\nkeys: [ ${keys} ]`,
  })
  assert.equal((await written.chat(ask('alpha/unpriced'), as('ann'))).status, 200)

  const mixed = await gateway.chat(ask('mixed'), as('ann'))
  assert.equal(mixed.headers.get('x-gateway-provider'), 'beta', 'the priced target of the route serves')
  const path = `/api/usage/request-logs/${mixed.headers.get('x-gateway-request-id')}`
  const { json } = await gateway.get(path, { headers: as('ann') })
  assert.deepEqual(
    json.decision.skipped.map(({ target }: any) => target),
    ['alpha/unpriced'],
  )
  assert.equal((await gateway.chat(ask('mixed'), as('bob'))).headers.get('x-gateway-provider'), 'alpha')
})

test('the amounts that a killed gateway had reserved for open calls are charged at the next start (LIFE-01)', async (t) => {
  const gateway = await start(t, key('ann', 'budget: { usd: 100 }'), {
    providers: { alpha: () => {}, beta: answer() },
  })
  const calls = [1, 2].map(() => gateway.chat(ask('auto', { max_tokens: 100 }), as('ann')).catch(() => {}))
  await until('two requests', () => gateway.received() >= 2)
  const { reserved_usd } = await me(gateway)
  const data = temporaryDirectory(t)
  cpSync(gateway.data, data, { recursive: true }) // the state that a kill would leave
  const next = await start(t, key('ann', 'budget: { usd: 100 }'), { data })
  const after = await me(next)
  near(after.spent_usd, reserved_usd)
  near(after.estimated_usd, reserved_usd)
  assert.equal(after.reserved_usd, 0)
  await next.gateway.close()
  const again = await start(t, key('ann', 'budget: { usd: 100 }'), { data })
  near((await me(again)).spent_usd, reserved_usd)
  await gateway.gateway.close(0)
  await Promise.all(calls)
})

test('a key can see its own limits and how much of its budget is spent, but nothing about other keys', async (t) => {
  const keys = [
    key('ann', 'budget: { usd: 3 }, rate: { requests: 60, per: 1m }'),
    key('root', '', 'admin').replace(', }', ' }'),
  ]
  const gateway = await start(t, keys.join(', '), { clock: dated(() => Date.UTC(2026, 10, 30)) })
  assert.equal((await gateway.chat(ask('auto'), as('ann'))).status, 200)
  assert.deepEqual(await settled(gateway), {
    name: 'ann',
    role: 'client',
    rate: { requests: 60, per_ms: 60_000 },
    budget: { usd: 3, per: 'month', unpriced: 'refuse' },
    spent_usd: 0.27,
    spent_is_minimum: false,
    estimated_usd: 0,
    reserved_usd: 0,
    resets_at: '2026-12-01T00:00:00.000Z',
    budgets: [
      {
        ...{ usd: 3, per: 'month', unpriced: 'refuse', spent_usd: 0.27, spent_is_minimum: false },
        ...{ estimated_usd: 0, reserved_usd: 0, projected_usd: null, resets_at: '2026-12-01T00:00:00.000Z' },
      },
    ],
  })
  const root = await me(gateway, 'root')
  assert.deepEqual(
    [root.name, root.role, root.rate, root.budget, root.spent_usd],
    ['root', 'admin', null, null, 0],
  )
  assert.equal((await gateway.get('/api/keys/me')).status, 401)
  const { text } = await gateway.get('/metrics', { headers: as('root') })
  assert.match(text, /^waybill_key_budget_usd\{key="ann",per="month"\} 3$/m)
  assert.match(text, /^waybill_key_spent_usd\{key="ann",per="month"\} 0\.27$/m)
  assert.match(text, /^waybill_key_reserved_usd\{key="ann",per="month"\} 0$/m)
  assert.doesNotMatch(text, /key="root"/)
})

test('without keys, the operator sees that there is no limit', async (t) => {
  const gateway = await testGateway(t)
  const { json } = await gateway.get('/api/keys/me')
  assert.deepEqual(
    [json.name, json.role, json.rate, json.budget, json.spent_usd],
    [null, 'admin', null, null, null],
  )
})

test('if the client disconnects during a stream, the part that has arrived is charged', async (t) => {
  const gateway = await start(t, key('ann', 'budget: { usd: 100 }'), {
    providers: {
      alpha: streamed('so many words'),
      beta: stream(chunk({ content: 'word '.repeat(50) }), 10_000),
    },
  })
  const left = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...as('ann') },
    body: JSON.stringify(ask('beta/model-b', { stream: true })),
    signal: left.signal,
  })
  await response.body!.getReader().read()
  left.abort()
  const { spent_usd } = await settled(gateway)
  assert.ok(spent_usd > 0.4 && spent_usd < 1.2, `$${spent_usd}`)
})

test('spending restarts each month and is counted separately for each key, and a cache hit costs nothing', async (t) => {
  let now = Date.UTC(2026, 10, 30, 23, 59, 50)
  const keys = [key('ann', 'budget: { usd: 1 }'), key('ben', 'budget: { usd: 1 }')]
  const gateway = await start(t, '', {
    providers: { alpha: cheap, beta: cheap },
    config: `${ROUTES}\ncache: { enabled: true }\nkeys: [ ${keys.join(', ')} ]`,
    clock: dated(() => now),
  })
  const spent = async (text: string, cache: string, who = 'ann') => {
    const asked = { model: 'auto', messages: [{ role: 'user', content: text }], max_tokens: 7 }
    const { status, headers } = await gateway.chat(asked, as(who))
    assert.deepEqual([status, headers.get('x-gateway-cache')], [200, cache])
    return (await settled(gateway, who)).spent_usd
  }
  near(await spent('one', 'MISS'), 0.1)
  near(await spent('one', 'HIT'), 0.1)
  near(await spent('two', 'MISS'), 0.2)
  near(await spent('one', 'MISS', 'ben'), 0.1)
  now = Date.UTC(2026, 11, 1)
  const { spent_usd, resets_at } = await me(gateway)
  assert.deepEqual([spent_usd, resets_at], [0, '2027-01-01T00:00:00.000Z'])
  near(await spent('three', 'MISS'), 0.1)
})
