// The read endpoints: methods, shapes, filters, pages and keys. None of them reaches a provider.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import type { CallRecord } from '../core/record.ts'
import { READS } from '../gateway/endpoints.ts'
import { filterOf, matches } from '../page/filter.ts'
import { ask, sharedGateways, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const sharedGateway = sharedGateways()

/** Replacements for `*`, and required queries. */
const SAMPLES: Readonly<Record<string, (call: { id: string; session: string }) => string>> = {
  '/v1/models/*': () => '/v1/models/auto',
  '/v1beta/models/*': () => '/v1beta/models/auto',
  '/api/cloud/model/resolve': () => '/api/cloud/model/resolve?model=auto',
  '/api/usage/what-if': () => '/api/usage/what-if?route=auto',
  '/api/usage/request-logs/*': ({ id }) => `/api/usage/request-logs/${id}`,
  '/api/usage/request-logs/*/artifact': ({ id }) => `/api/usage/request-logs/${id}/artifact`,
  '/api/usage/request-logs/*/kept': ({ id }) => `/api/usage/request-logs/${id}/kept`,
  '/api/kept': ({ session }) => `/api/kept?session_id=${session}`,
  '/api/sessions/*': ({ session }) => `/api/sessions/${session}`,
}

/** Creates a gateway with one recorded call, and lists a valid path for every read endpoint. */
async function gatewayWithReads(t: TestContext) {
  const gateway = await testGateway(t, { env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) } })
  const session = 's-1'
  const { headers } = await gateway.get('/keep/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': session },
    body: JSON.stringify(ask('auto')),
  })
  const { id } = await gateway.record(headers.get('x-gateway-request-id'))
  await until(
    'the call is kept',
    async () => (await gateway.get(`/api/usage/request-logs/${id}/kept`)).status === 200,
  )
  const paths = READS.map(({ path }) => SAMPLES[path]?.({ id, session }) ?? path)
  return { gateway, paths }
}

test('every read endpoint answers only GET, HEAD and OPTIONS, and no request to it reaches a provider (PURE-01, PURE-03, PURE-06, TELL-04)', async (t) => {
  const { gateway, paths } = await gatewayWithReads(t)
  for (const [index, { path: name }] of READS.entries())
    await t.test(name, async () => {
      const path = paths[index]!
      const get = await gateway.get(path, { headers: { 'x-session-id': 's-2' } })
      assert.equal(get.status, 200)
      assert.equal(get.headers.get('x-gateway-cache'), null)
      assert.equal(get.headers.get('x-gateway-session-id'), null)
      const head = await gateway.get(path, { method: 'HEAD' })
      assert.deepEqual([head.status, head.text], [200, ''])
      assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(get.text)))
      assert.equal(head.headers.get('content-type'), get.headers.get('content-type'))
      const options = await gateway.get(path, { method: 'OPTIONS' })
      assert.deepEqual([options.status, options.headers.get('allow')], [204, 'GET, HEAD, OPTIONS'])
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const other = await gateway.get(path, { method })
        assert.deepEqual(
          [other.status, other.headers.get('allow'), other.json.error.code],
          [405, 'GET, HEAD, OPTIONS', 'method_not_allowed'],
        )
      }
    })
  assert.equal(gateway.received(), 1, 'only the call before the reads')
})

const CONFIG = `
models: { alpha/embed: { type: embedding }, alpha/draw: { type: image } }
routes:
  auto: { description: everyday, targets: [ { model: alpha/org/model-a, tier: balanced, weight: 3 }, { model: beta/model-b } ] }
  auto/cheap: { strategy: weighted, targets: [ { model: beta/model-b, weight: 3 }, { model: alpha/org/model-a, weight: 1 } ] }
`

test('the catalog names every route and model with its type, and is always identical, byte for byte (CAT-01, CAT-02, CAT-03)', async (t) => {
  const gateway = await sharedGateway(t, { providers: { alpha: answer(), beta: answer() }, config: CONFIG })
  const first = await gateway.get('/v1/models')
  assert.deepEqual(
    first.json.data.map((entry: any) => [entry.id, entry.object, entry.owned_by, entry.type]),
    [
      ['auto', 'model', 'waybill', 'route'],
      ['auto/cheap', 'model', 'waybill', 'route'],
      ['alpha/draw', 'model', 'alpha', 'image'],
      ['alpha/embed', 'model', 'alpha', 'embedding'],
      ['alpha/org/model-a', 'model', 'alpha', 'chat'],
      ['beta/model-b', 'model', 'beta', 'chat'],
    ],
  )
  await gateway.chat(ask('auto'), { 'x-session-id': 's-1' })
  assert.equal(
    (await gateway.get('/v1/models?limit=1000', { headers: { 'x-session-id': 's-2' } })).text,
    first.text,
  )
  for (const path of ['/v1/models/alpha/org/model-a', '/v1/models/alpha%2Forg%2Fmodel-a'])
    assert.equal((await gateway.get(path)).json.id, 'alpha/org/model-a')
  for (const path of ['/v1/models/nothing', '/v1/models/%ff', '/v1/models/../../etc']) {
    const { status, json } = await gateway.get(path)
    assert.equal(status, 404, path)
    assert.match(json.error.code, /^(model_)?not_found$/)
  }
})

test('public metadata contains exactly the public fields (KEEP-05)', async (t) => {
  const gateway = await sharedGateway(t, { providers: { alpha: answer(), beta: answer() }, config: CONFIG })
  const { json, text } = await gateway.get('/v1beta/models')
  for (const entry of json.models)
    assert.deepEqual(Object.keys(entry), ['name', 'strategy', 'model_ids', 'providerId', 'description'])
  assert.deepEqual(json.models[0], {
    name: 'auto',
    strategy: 'priority',
    model_ids: ['alpha/org/model-a', 'beta/model-b'],
    providerId: null,
    description: 'everyday',
  })
  assert.doesNotMatch(text, /"weight"|tier|base_url|http|key/)
})

test('the resolve endpoint predicts the next pick, shows probabilities and cooldown, and changes nothing (PURE-04, ROUTE-11)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(500), beta: answer() },
    config: `${CONFIG}  turns: { strategy: round-robin, targets: [ { model: beta/m1 }, { model: beta/m2 }, { model: beta/m3 } ] }`,
  })
  const resolve = async (model: string) =>
    (await gateway.get(`/api/cloud/model/resolve?model=${encodeURIComponent(model)}`)).json
  for (const expected of ['m1', 'm2', 'm3', 'm1']) {
    for (let again = 0; again < 3; again++) assert.equal((await resolve('turns')).resolved_model, expected)
    assert.equal((await gateway.chat(ask('turns'))).headers.get('x-gateway-model'), expected)
  }
  const weighted = await resolve('auto/cheap')
  assert.deepEqual(
    [weighted.deterministic, weighted.candidates.map((c: any) => c.probability)],
    [false, [0.75, 0.25]],
  )
  assert.deepEqual((await resolve('auto')).provider, 'alpha')
  await gateway.chat(ask('auto'))
  const cooled = await resolve('auto')
  assert.deepEqual(
    [cooled.provider, cooled.candidates[0].state, cooled.candidates[0].probability],
    ['beta', 'cooling', 0],
  )
  assert.match(cooled.candidates[0].reason, /passed over until/)
  assert.deepEqual((await resolve('alpha/x/y')).strategy, 'direct')
  for (const [query, status] of [
    ['model=nowhere', 404],
    ['', 400],
    ['model=auto&model=auto', 400],
    ['model=auto&x=1', 400],
  ] as const)
    assert.equal((await gateway.get(`/api/cloud/model/resolve?${query}`)).status, status, query)
})

test('each filter narrows the log, and the log contains neither prompts nor answers (LOG-08, LOG-12)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer('the-answer-text'), beta: fail(400) },
    config: TWO_TARGETS,
  })
  const ids: Record<string, string> = {}
  const call = async (name: string, model: string, headers = {}, more = {}) => {
    const { headers: got } = await gateway.chat(
      { ...ask(model, more), messages: [{ role: 'user', content: 'the-secret-prompt' }] },
      headers,
    )
    ids[name] = got.get('x-gateway-request-id')!
    await gateway.record(ids[name])
  }
  await call('main', 'auto', { 'x-claude-code-session-id': 's-1' })
  await call('agent', 'auto', { 'x-claude-code-session-id': 's-1', 'x-claude-code-agent-id': 'a-1' })
  await call('body', 'alpha/other', {}, { metadata: { user_id: JSON.stringify({ session_id: 's-2' }) } })
  await call('failed', 'beta/model-b', {}, { prompt_cache_key: 's-3' })
  const found = async (query: string) => {
    const { status, json, text } = await gateway.get(`/api/usage/request-logs?${query}`)
    assert.equal(status, 200, query)
    assert.doesNotMatch(text, /the-secret-prompt|the-answer-text/)
    return json.data.map(({ id }: any) => Object.entries(ids).find(([, value]) => value === id)![0]).reverse()
  }
  const created = (await gateway.record(ids.failed!)).created_at
  const rows: [string, string[]][] = [
    ['', ['main', 'agent', 'body', 'failed']],
    ['session_id=s-1', ['main', 'agent']],
    ['session_id=s-1&agent_id=none', ['main']],
    ['agent_id=a-1', ['agent']],
    ['session_id=s-2', ['body']],
    ['session_id=s-3', ['failed']],
    ['requested_model=auto', ['main', 'agent']],
    ['provider=beta', ['failed']],
    ['model=other', ['body']],
    ['route=auto', ['main', 'agent']],
    ['strategy=direct', ['body', 'failed']],
    ['tier=balanced', ['main', 'agent']],
    ['state=failed', ['failed']],
    ['status=400', ['failed']],
    ['status=ok', ['main', 'agent', 'body']],
    ['status=error', ['failed']],
    [`since=${created}`, ['failed']],
    [`until=${created}`, ['main', 'agent', 'body']],
    ["session_id=' OR 1=1 --", []],
  ]
  const { data } = (await gateway.get('/api/usage/request-logs')).json
  for (const [query, expected] of rows) {
    assert.deepEqual(await found(query), expected, query)
    const live = data.filter((each: CallRecord) => matches(filterOf(new URLSearchParams(query)), each))
    assert.equal(live.length, expected.length, `on the page: ${query}`)
  }
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=x',
    'cursor=zzz',
    'state=odd',
    'status=99',
    'since=yesterday',
    'nonsense=1',
    'limit=1&limit=2',
  ]) {
    const { status, json } = await gateway.get(`/api/usage/request-logs?${query}`)
    assert.deepEqual([status, json.error.code], [400, 'invalid_request'], query)
  }
  for (const id of ['x', '../../../etc/passwd', '%00', ids.main!.toUpperCase()])
    assert.equal((await gateway.get(`/api/usage/request-logs/${encodeURIComponent(id)}`)).status, 404)
})
