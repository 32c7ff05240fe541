// Keys at every endpoint. Only valid keys are admitted (KEEP-03), and no key sees another key's rows
// (KEEP-04). A new endpoint is requested by its path. If that is not enough, the test fails until the
// endpoint has a row here.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { idOf } from '../core/call.ts'
import { CALLS, READS } from '../gateway/endpoints.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { ask, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'

const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
const CONFIG = `
routes: { auto: { targets: [ { model: alpha/model-a, tier: balanced } ] } }
models: { alpha/model-a: { price: { input: 1, output: 2 } } }
keys:
  - { name: ann, digest: "${digest('key-of-ann')}" }
  - { name: bob, digest: "${digest('key-of-bob')}" }
  - { name: boss, role: admin, digest: "${digest('key-of-boss')}" }`
const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })

/** A call by Bob, with everything that another key might use to find it. */
interface Others {
  readonly id: string
  readonly session: string
  readonly model: string
}

/**
 * Parameters of endpoints whose bare path is not a valid request. The parameters replace the `*`, or follow
 * the path.
 */
const ASKED: Readonly<Record<string, (others: Others) => string[]>> = {
  '/v1/models/*': () => ['auto'],
  '/v1beta/models/*': () => ['auto'],
  '/api/cloud/model/resolve': () => ['?model=auto'],
  '/api/usage/what-if': () => ['?route=auto'],
  '/api/usage/request-logs': ({ session, model }) => [
    '',
    `?session_id=${session}`,
    `?requested_model=${model}`,
    '?limit=1',
  ],
  '/api/usage/request-logs/*': ({ id }) => [id],
  '/api/usage/request-logs/*/artifact': ({ id }) => [id],
  '/api/usage/request-logs/*/kept': ({ id }) => [id],
  '/api/kept': ({ session }) => [`?session_id=${session}`],
  '/api/usage/logs': ({ session }) => ['', `?session_id=${session}`],
  '/api/usage/history': () => ['', '?by=key', '?window=30d&by=model&bucket=1d', '?bucket=1m'],
  '/api/sessions/*': ({ session }) => [session],
  '/api/statusline': ({ session, model }) => [
    `?session_id=${session}&model=${model}`,
    `?session_id=${session}&model=auto`,
  ],
}

const urlsOf = (path: string, others: Others): string[] => {
  assert.ok(!path.includes('*') || ASKED[path], `${path} needs a row in ASKED`)
  const place = (rest: string) => (path.includes('*') ? path.replace('*', rest) : path + rest)
  return (ASKED[path]?.(others) ?? ['']).map(place)
}

const NO_KEY: readonly (readonly [string, Record<string, string>])[] = [
  ['no key', {}],
  ['a wrong key', { authorization: 'Bearer nope' }],
  ['an empty key', { authorization: 'Bearer ' }],
  ['another scheme', { authorization: 'Basic key-of-ann' }],
  ['a key and more', { authorization: 'Bearer key-of-anna' }],
  ['a part of a key', { authorization: 'Bearer key-of-an' }],
  ['the digest of a key', { authorization: `Bearer ${digest('key-of-ann')}` }],
  ['two keys', { authorization: 'Bearer key-of-ann key-of-ann' }],
  ['a wrong key of the other kind', { 'x-api-key': 'nope' }],
  ['a right key and another', { authorization: 'Bearer key-of-ann', 'x-api-key': 'nope' }],
  ['another and a right key', { authorization: 'Bearer nope', 'x-api-key': 'key-of-ann' }],
]

test('without a valid key, every endpoint except the probes answers with 401, and no provider is reached (KEEP-03, PURE-07)', async (t) => {
  const gateway = await testGateway(t, { config: CONFIG })
  const others = { id: '01900000-0000-7000-8000-000000000001', session: 's', model: 'auto' }
  const reads = READS.flatMap((endpoint) =>
    urlsOf(endpoint.path, others).map((url) => ({ url, open: 'open' in endpoint && endpoint.open === true })),
  )
  const requests = [
    ...reads.flatMap((read) => ['GET', 'HEAD', 'OPTIONS', 'DELETE'].map((method) => ({ ...read, method }))),
    ...CALLS.map(({ path }) => ({ url: path, open: false, method: 'POST' })),
    { url: '/nothing/here', open: false, method: 'GET' },
  ]
  assert.deepEqual(
    reads.filter(({ open }) => open).map(({ url }) => url),
    ['/healthz', '/readyz', '/api/hello'],
  )
  const asked = requests.flatMap((request) =>
    NO_KEY.map(([what, headers]) => ({ ...request, what, headers })),
  )
  for (const { url, open, method, what, headers } of sample(asked, 5)) {
    const body = method === 'POST' ? { body: JSON.stringify(ask('auto')) } : {}
    const { status, json } = await gateway.get(url, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...body,
    })
    if (open) assert.notEqual(status, 401, `${method} ${url} with ${what}`)
    else {
      assert.equal(status, 401, `${method} ${url} with ${what}`)
      if (method !== 'HEAD') assert.match(json.error.message, /^Incorrect API key provided/)
    }
  }
  assert.equal(gateway.received(), 0)
  assert.equal((await gateway.chat(ask('auto'), as('ann'))).status, 200)
})

interface Seen {
  readonly url: string
  /** Leaves out the id, which is new in each answer. */
  readonly text: string
}

/** Returns everything that is shown to a key. */
async function view(gateway: TestGateway, who: string, others: Others): Promise<Seen[]> {
  const seen: Seen[] = []
  for (const { path } of READS)
    for (const url of urlsOf(path, others)) {
      const { status, text } = await gateway.get(url, { headers: as(who) })
      const may = path.includes('*') || status === 403 ? [200, 403, 404] : [200]
      assert.ok(
        may.includes(status),
        `${url} is ${status} for ${who}; a row in ASKED may say how it is asked`,
      )
      seen.push({ url, text: text.replace(/"request_id":"[^"]+"/, '') })
    }
  return seen
}

test('another key’s calls do not change any list, sum, line or single record that a key sees (KEEP-04)', async (t) => {
  const at = clock.now()
  const gateway = await testGateway(t, { config: CONFIG, clock: dated(() => at) })
  const closed = async (who: string, id: string | null) => {
    while (!(await gateway.get(`/api/usage/request-logs/${id}`, { headers: as(who) })).json.completed_at);
  }
  const call = async (who: string, agent = {}) => {
    const { status, headers } = await gateway.chat(ask(who === 'bob' ? 'alpha/bobs-model' : 'auto'), {
      ...as(who),
      'x-session-id': `session-of-${who}`,
      ...agent,
    })
    assert.equal(status, 200)
    await closed(who, headers.get('x-gateway-request-id'))
    return headers.get('x-gateway-request-id')!
  }
  const mine = await call('ann')
  const others = { id: idOf(at), session: 'session-of-bob', model: 'alpha/bobs-model' }
  const before = await view(gateway, 'ann', others) // before any call by Bob
  others.id = await call('bob')
  gateway.upstream.alpha!.script = answer('longer', { prompt_tokens: 9_000, completion_tokens: 9_000 })
  await call('bob', { 'x-claude-code-agent-id': 'agent-of-bob' })
  const after = await view(gateway, 'ann', others)

  for (const [index, { url, text }] of after.entries()) {
    assert.equal(text, before[index]!.text, `${url} shows something of another key`)
    for (const trace of [others.id, others.session, others.model, 'agent-of-bob', '"bob"'])
      if (!url.includes(trace)) assert.ok(!text.includes(trace), `${url} shows ${trace}`)
  }
  const shown = (seen: Seen[], path: string) => seen.find(({ url }) => url === path)!.text
  const [list, one] = ['/api/usage/request-logs', `/api/usage/request-logs/${others.id}`]
  assert.match(shown(after, list), new RegExp(mine), 'and its own is there')
  const all = await view(gateway, 'boss', others)
  assert.match(shown(all, list), new RegExp(others.id), 'and an admin sees both')
  assert.match(shown(all, one), /"key_name":"bob"/)
})
