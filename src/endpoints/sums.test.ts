// LOG-10: every sum equals the total of the pages of the request log, for every key, window and bucket. Over
// 250 lines, because every sum is compared with the same calls.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { answer, chunk, fail, type Script, stream, USAGE } from '../../mocks/test-upstream.ts'
import { isOtherModel } from '../shared/model-names.ts'
import { dated } from '../shared/test-clock.ts'
import { ask, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { IS_FULL } from '../test/test-size.ts'
import { pause, until } from '../test/test-until.ts'

const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
const KEYS = ['ann', 'bob', 'boss'] as const
const SESSIONS = ['s-1', 's/2 ü', null]
const MODELS = ['auto', 'turns', 'alpha/odd', 'beta/free', 'beta/__proto__']
const CONFIG = `
models: { alpha/model-a: { price: { input: 3, output: 15 } }, beta/model-b: { price: { input: 0.1, output: 0.3 } } }
routes:
  auto: { targets: [ { model: alpha/model-a, tier: balanced }, { model: beta/model-b, tier: cheap } ] }
  turns: { strategy: round-robin, targets: [ { model: beta/model-b, tier: cheap }, { model: beta/free } ] }
resilience: { cooldown: 1ms }
keys:
${KEYS.map((name) => `  - { name: ${name}, role: ${name === 'boss' ? 'admin' : 'client'}, digest: "${digest(`key-of-${name}`)}" }`).join('\n')}
`

/** Answers that differ by the number in the prompt. */
const moody: Script = (response, received) => {
  const number = Number(/number (\d+)/.exec(received.text)![1])
  const script =
    number % 7 === 3
      ? fail(500)
      : number % 11 === 5
        ? fail(400)
        : number % 15 === 10 && received.json.model === 'model-a'
          ? answerWith('<p>not the API</p>')
          : answer('x', number % 8 === 0 ? null : { ...USAGE, prompt_tokens: number })
  script(response, received)
}

const answerWith =
  (page: string): Script =>
  (response) =>
    void response.end(page)

const as = (key: string) => ({ headers: { authorization: `Bearer key-of-${key}` } })

async function get(gateway: TestGateway, path: string, key: string) {
  const { status, json } = await gateway.get(path, as(key))
  assert.equal(status, 200, `${path}: ${JSON.stringify(json)}`)
  return json
}

/** Returns all pages of a list. */
async function all(gateway: TestGateway, path: string, key: string): Promise<any[]> {
  const items: any[] = []
  let cursor = ''
  do {
    const page = await get(gateway, `${path}${path.includes('?') ? '&' : '?'}limit=37${cursor}`, key)
    items.push(...page.data)
    assert.equal(page.has_more, page.next_cursor !== null)
    cursor = page.next_cursor && `&cursor=${page.next_cursor}`
  } while (cursor)
  return items
}

/** Filters of the request log, and the rows that each selects. */
const FILTERS: [query: string, holds: (record: any) => boolean][] = [
  ['provider=alpha', (record) => record.resolved_provider === 'alpha'],
  ['model=model-b', (record) => record.resolved_model === 'model-b'],
  ['model=nothing', () => false],
  ['requested_model=turns', (record) => record.requested_model === 'turns'],
  ['requested_model=alpha%2Fonly-open', (record) => record.requested_model === 'alpha/only-open'],
  ['route=auto', (record) => record.route === 'auto'],
  ['strategy=direct', (record) => record.strategy === 'direct'],
  ['tier=cheap', (record) => record.tier === 'cheap'],
  ['status=error', (record) => isFailed(record)],
  ['status=ok', (record) => record.state === 'completed'],
  ['status=400', (record) => record.status === 400],
  ['state=aborted', (record) => isAborted(record)],
  ['client=the-agent%2F1.0', (record) => record.client === 'the-agent/1.0'],
  ['state=streaming', (record) => record.state === 'streaming'],
  ['session_id=s-1', (record) => record.session_id === 's-1'],
  ['agent_id=none', (record) => record.agent_id === null],
  ['agent_id=a-1', (record) => record.agent_id === 'a-1'],
]

const isFailed = ({ state }: any) => ['failed', 'interrupted'].includes(state)
const isAborted = ({ state }: any) => state === 'aborted'
const isEstimated = ({ cost_usd, tokens }: any) => cost_usd > 0 && tokens.source === 'estimated'
/** Partly known, because a target failed before another answered. */
const isPartial = ({ cost_usd, cost_missing }: any) => cost_usd !== null && cost_missing.length > 0

/**
 * Computes a sum as in the contract: the total of the known values, or null if there were calls but no known
 * value.
 */
function sum(records: any[], value: (record: any) => number | null): number | null {
  const known = records.map(value).filter((each) => each !== null)
  return records.length > 0 && known.length === 0 ? null : known.reduce((a, b) => a + b, 0)
}
const near = (a: number | null, b: number | null, what: string) =>
  assert.ok(a === b || Math.abs(a! - b!) < 1e-9, `${what}: ${a} is not ${b}`)

function equalCounts(said: any, records: any[], what: string): void {
  const incomplete = records.filter(({ cost_missing }) => cost_missing?.length !== 0).length
  assert.deepEqual(
    [
      said.calls,
      said.failed,
      said.aborted,
      said.calls_without_cost,
      said.cost_is_minimum,
      said.cost_is_estimated,
    ],
    [
      records.length,
      records.filter(isFailed).length,
      records.filter(isAborted).length,
      incomplete,
      incomplete > 0,
      records.some(isEstimated),
    ],
    what,
  )
}

function equalUsage(said: any, records: any[], what: string): void {
  equalCounts(said, records, what)
  assert.equal(
    said.input_tokens,
    sum(records, (each) => each.tokens.input),
    what,
  )
  assert.equal(
    said.output_tokens,
    sum(records, (each) => each.tokens.output),
    what,
  )
  near(
    said.cost_usd,
    sum(records, (each) => each.cost_usd),
    what,
  )
}

function equalSession(said: any, records: any[], what: string): void {
  equalCounts(said, records, what)
  for (const name of Object.keys(said.tokens))
    assert.equal(
      said.tokens[name],
      sum(records, (each) => each.tokens[name]),
      `${what} ${name}`,
    )
  near(
    said.cost_usd,
    sum(records, (each) => each.cost_usd),
    what,
  )
}

/** Zones whose days begin at a full hour of UTC, at a half and at a quarter. */
const ZONES = ['America/New_York', 'Asia/Kolkata', 'Asia/Kathmandu']

/** Returns the date in a zone. */
const dayIn = (iso: string, timeZone: string): string => new Date(iso).toLocaleDateString('sv', { timeZone })

/**
 * Returns a clock that starts at 22:58 and advances 37 s at each reading, so that the calls fall into
 * different hours.
 */
function clock(): () => number {
  let now = Date.parse('2026-11-20T22:58:00Z')
  return () => {
    now += 37_000
    return now
  }
}

test('history, usage logs, sessions and analytics add up to the request log (LOG-10, KEEP-04)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: moody, beta: moody },
    config: CONFIG,
    clock: dated(clock()),
  })
  const at = (number: number) => ({
    messages: [{ role: 'user', content: `number ${number}` }],
  })
  for (let number = 0; number < 150; number++) {
    const session = SESSIONS[number % 3]
    const key = KEYS[Math.floor(number / 3) % 3]!
    await gateway.chat(
      { ...ask(MODELS[number % MODELS.length]!), ...at(number) },
      {
        ...as(key).headers,
        ...(session && { 'x-session-id': encodeURIComponent(session) }),
        ...(number % 13 === 0 && { 'x-claude-code-agent-id': 'a-1' }),
        'user-agent': `agent-${number % 2}/1.${number % 5}`,
      },
    )
  }
  gateway.upstream.alpha!.script = stream(chunk({ content: 'a' }), 60_000)
  const leave = new AbortController()
  const left = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      ...as('bob').headers,
      'content-type': 'application/json',
      'x-session-id': 's-1',
      'user-agent': 'the-agent/1.0',
    },
    body: JSON.stringify(ask('alpha/model-a', { stream: true })),
    signal: leave.signal,
  }).then((response) => response.text())
  while ((await get(gateway, '/api/usage/request-logs?state=streaming', 'boss')).data.length === 0)
    await pause(5)
  leave.abort()
  await left.catch(() => {})
  while ((await get(gateway, '/api/usage/request-logs?state=aborted', 'boss')).data.length === 0)
    await pause(5)
  const open = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...as('ann').headers, 'content-type': 'application/json', 'x-session-id': 's-1' },
    body: JSON.stringify(ask('alpha/only-open', { stream: true })),
  })
  while ((await get(gateway, '/api/usage/request-logs?state=streaming', 'boss')).data.length === 0)
    await pause(5)
  await until(
    'all are over',
    async () => (await get(gateway, '/api/usage/request-logs?state=routed', 'boss')).data.length === 0,
  )

  const log = Object.fromEntries(
    await Promise.all(KEYS.map(async (key) => [key, await all(gateway, '/api/usage/request-logs', key)])),
  ) as Record<(typeof KEYS)[number], any[]>
  assert.equal(log.boss.length, 152)
  assert.ok(log.boss.some(({ cost_usd }) => cost_usd > 0) && log.boss.some(isFailed))
  assert.ok(log.boss.some(isPartial) && log.boss.some(isAborted) && log.boss.some(isEstimated))
  assert.deepEqual(
    log.ann,
    log.boss.filter(({ key_name }) => key_name === 'ann'),
  )
  assert.ok(log.boss.some(({ fallbacks }) => fallbacks > 0))

  const times = log.boss.map(({ created_at }) => created_at as string)
  const moment = fc.oneof(
    fc.constantFrom(...times),
    fc.integer({ min: -3e7, max: 2e7 }).map(shift(times[0]!)),
  )
  const FIELD = {
    provider: 'resolved_provider',
    model: 'resolved_model',
    route: 'route',
    tier: 'tier',
    key: 'key_name',
    session: 'session_id',
    client: 'client',
    answered: 'response_model',
  }
  const groupOf = (by: keyof typeof FIELD, record: Record<string, any>) => {
    if (by === 'client') return record.client.replace(/\/.*/, '')
    const isAsked = by === 'answered' && !isOtherModel(record.resolved_model, record.response_model)
    return isAsked ? record.resolved_model : record[FIELD[by]]
  }
  const bucketOf = (iso: string, bucket: string, since: string): string => {
    const zone = /zone=(.*)/.exec(bucket)?.[1]
    if (zone !== undefined) return dayIn(iso, zone)
    return bucket === 'all' ? since : floor(iso, bucket as '1d')
  }
  const asked = fc.record({
    key: fc.constantFrom(...KEYS),
    span: fc.tuple(moment, moment).filter(([a, b]) => a < b),
    bucket: fc.constantFrom('1m', '5m', '1h', '1d', 'all', ...ZONES.map((zone) => `1d&zone=${zone}`)),
    by: fc.constantFrom(undefined, ...(Object.keys(FIELD) as (keyof typeof FIELD)[])),
    filter: fc.uniqueArray(fc.constantFrom(...FILTERS), {
      maxLength: 3,
      selector: ([query]) => query.split('=')[0],
    }),
  })
  await fc.assert(
    fc.asyncProperty(asked, async ({ key, span: [since, until], bucket, by, filter }) => {
      const span = `since=${since}&until=${until}`
      const records = log[key].filter(({ created_at }) => created_at >= since && created_at < until)
      assert.deepEqual(await all(gateway, `/api/usage/request-logs?${span}`, key), records)

      const narrowed = filter.map(([query]) => `&${query}`).join('')
      assert.deepEqual(
        (await all(gateway, `/api/usage/request-logs?${span}${narrowed}`, key)).map(({ id }) => id),
        records.filter((record) => filter.every(([, holds]) => holds(record))).map(({ id }) => id),
        narrowed,
      )

      const logs = await all(gateway, `/api/usage/logs?${span}`, key)
      assert.deepEqual(
        logs.map(({ id, tokens, cost_usd }) => [id, tokens, cost_usd]),
        records.map(({ id, tokens, cost_usd }) => [id, tokens, cost_usd]),
      )

      const history = await get(
        gateway,
        `/api/usage/history?${span}&bucket=${bucket}${by ? `&by=${by}` : ''}`,
        key,
      )
      assert.deepEqual(history.window, { since, until })
      equalUsage(history.totals, records, 'totals')
      const buckets = Map.groupBy(records, (record) =>
        JSON.stringify([bucketOf(record.created_at, bucket, since), by && groupOf(by, record)]),
      )
      assert.equal(history.buckets.length, buckets.size)
      for (const said of history.buckets) {
        const start = bucketOf(said.start, bucket, since)
        equalUsage(said, buckets.get(JSON.stringify([start, said.by])) ?? [], `${start} ${said.by}`)
      }

      const routing = await get(gateway, `/api/analytics/auto-routing?${span}`, key)
      assert.equal(routing.total_calls, records.length)
      const count = (field: string) =>
        Object.fromEntries(
          [...Map.groupBy(records, (each) => each[field] ?? 'none')].map(([k, v]) => [k, v.length]),
        )
      const said = (shares: Record<string, any>) =>
        Object.fromEntries(Object.entries(shares).map(([name, { calls }]) => [name, calls]))
      assert.deepEqual(said(routing.strategy_distribution), count('strategy'))
      assert.deepEqual(said(routing.tier_distribution), count('tier'))
      assert.deepEqual(
        Object.fromEntries(routing.top_providers.map((each: any) => [each.provider, each.calls])),
        count('resolved_provider'),
      )
      assert.equal(routing.fallback.calls, records.filter(({ fallbacks }) => fallbacks > 0).length)
    }),
    { numRuns: IS_FULL ? 100 : 30 },
  )

  for (const key of KEYS) {
    const inSessions = Map.groupBy(
      log[key].filter(({ session_id }) => session_id !== null),
      ({ session_id }) => session_id,
    )
    const sessions = await all(gateway, '/api/sessions', key)
    assert.deepEqual(sessions.map(({ session_id }) => session_id).sort(), [...inSessions.keys()].sort())
    for (const session of sessions) {
      const records = inSessions.get(session.session_id)!
      equalSession(session, records, session.session_id)
      assert.deepEqual(
        [session.first_seen, session.last_seen],
        [records.at(-1).created_at, records[0].created_at],
      )
      assert.deepEqual(
        [session.last_requested_model, session.last_provider, session.last_model, session.last_client],
        [
          ...[records[0].requested_model, records[0].resolved_provider, records[0].resolved_model],
          records[0].client.replace(/\/.*/, ''),
        ],
      )
      const one = await get(gateway, `/api/sessions/${encodeURIComponent(session.session_id)}`, key)
      const { by_model, parts, ...rest } = one
      assert.deepEqual(rest, session)
      for (const said of by_model)
        equalSession(
          said,
          records.filter(
            (each) =>
              each.resolved_provider === said.provider &&
              each.resolved_model === said.model &&
              said.answered ===
                (isOtherModel(each.resolved_model, each.response_model) ? each.response_model : null),
          ),
          `${session.session_id} ${said.model}`,
        )
      for (const said of parts)
        equalSession(
          said,
          records.filter((each) => each.agent_id === said.agent_id && each.purpose === said.purpose),
          `${session.session_id} ${said.agent_id}`,
        )
      for (const list of [by_model, parts])
        near(
          sum(list, ({ calls }: any) => calls),
          records.length,
          'calls of the parts',
        )
    }
  }
  await open.body?.cancel() // held until here, otherwise it would be collected and closed
})

test('the median latency in the analytics is within a fifth of the true median', async (t) => {
  const gateway = await testGateway(t)
  const latencies: number[] = []
  for (let call = 0; call < 30; call++) {
    if (call === 10)
      gateway.upstream.alpha!.script = (...args) => pause(40 + call).then(() => answer()(...args))
    const { headers } = await gateway.chat(ask('auto'))
    latencies.push((await gateway.record(headers.get('x-gateway-request-id'))).latency_ms)
  }
  const [provider] = (await gateway.get('/api/analytics/auto-routing')).json.top_providers
  const median = latencies.sort((a, b) => a - b)[14]!
  assert.ok(Math.abs(provider.p50_latency_ms / median - 1) < 0.2, `${provider.p50_latency_ms} for ${median}`)
})

test('a session with any characters in its id can be found, but only by its owner; invalid queries are refused with 400', async (t) => {
  const gateway = await testGateway(t)
  await gateway.chat(ask('auto'), { 'x-session-id': 'a/b c' })
  assert.equal((await gateway.get('/api/sessions/a%2Fb%20c')).json.session_id, 'a/b c')
  for (const id of ['x', '%00', "' OR 1=1 --"])
    assert.equal((await gateway.get(`/api/sessions/${encodeURIComponent(id)}`)).status, 404, id)
  for (const path of [
    '/api/usage/history?window=1h',
    '/api/usage/history?window=24h&since=2026-01-01T00:00:00Z',
    '/api/usage/history?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z',
    '/api/usage/history?bucket=1m&window=30d',
    '/api/usage/history?by=nothing',
    '/api/usage/history?bucket=1d&zone=Mars',
    '/api/usage/history?bucket=1h&zone=UTC',
    '/api/usage/logs?limit=0',
    '/api/analytics/auto-routing?window=1y',
    '/api/sessions?limit=201',
    '/api/sessions?session_id=x',
    '/api/sessions/x?y=1',
  ]) {
    const { status, json } = await gateway.get(path)
    assert.deepEqual([status, json.error.code], [400, 'invalid_request'], path)
  }
})

const SIZES: Record<string, number> = { '1m': 60_000, '5m': 300_000, '1h': 3_600_000, '1d': 86_400_000 }
const floor = (iso: string, bucket: string) =>
  new Date(Math.floor(Date.parse(iso) / SIZES[bucket]!) * SIZES[bucket]!).toISOString()
const shift = (iso: string) => (ms: number) => new Date(Date.parse(iso) + ms).toISOString()
