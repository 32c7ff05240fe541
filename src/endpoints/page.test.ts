// The served page, signing in, its live feed, and the files that it can export. Tests of the page in a
// browser are in `src/page`.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { answer, fail, streamed, USAGE } from '../../mocks/test-upstream.ts'
import { idAt } from '../core/call.ts'
import { clock, useClock } from '../shared/clock.ts'
import { dated, manualClock } from '../shared/test-clock.ts'
import { ask, sharedGateways, type TestGateway, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const sharedGateway = sharedGateways()

const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
const KEYS = `
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys:
  - { name: ann, digest: "${digest('key-of-ann')}" }
  - { name: bob, digest: "${digest('key-of-bob')}" }
  - { name: boss, role: admin, digest: "${digest('key-of-boss')}" }`
const as = (key: string) => ({ authorization: `Bearer ${key}` })
const post = (headers: Record<string, string>) => ({ method: 'POST', headers })

/** Files as the bundler writes them. */
function files(t: TestContext): URL {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-files-'))
  t.after(() => rmSync(directory, { recursive: true }))
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg'])
    writeFileSync(join(directory, name), name)
  return pathToFileURL(`${directory}/`)
}

const VIEWS = [
  '/',
  '/calls',
  `/calls/${idAt(0)}`,
  '/sessions',
  '/sessions/a%2Fb',
  '/routes',
  '/costs',
  '/recordings',
  '/health',
]

test('every view is the same document, with a policy that allows only its own files (PAGE-02)', async (t) => {
  const gateway = await testGateway(t, { config: KEYS, options: { page: files(t) } })
  for (const path of VIEWS) {
    const { status, headers, text } = await gateway.get(path, {
      headers: { accept: 'text/html' },
      method: 'GET',
      redirect: 'error',
    })
    assert.deepEqual([path, status, text], [path, 200, 'index.html'])
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
  }
  const { headers } = await gateway.get('/page/page.js')
  assert.equal(headers.get('content-type'), 'text/javascript; charset=utf-8')
  const again = await gateway.get('/page/page.js', { headers: { 'if-none-match': headers.get('etag')! } })
  assert.deepEqual([again.status, again.text], [304, ''])
  assert.equal((await gateway.get('/page/cli.js')).status, 404)
  assert.equal((await gateway.get('/page/..%2fcli.js')).status, 404)
  const posted = await gateway.get('/calls', { method: 'POST' })
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
})

test('at an unknown address, a browser receives the page, and a program receives a JSON error', async (t) => {
  const gateway = await testGateway(t, { config: KEYS, options: { page: files(t) } })
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const path of ['/nosuch', '/call']) {
    const { status, headers, text } = await gateway.get(path, { headers: html })
    assert.deepEqual([path, status, text], [path, 404, 'index.html'])
    assert.match(headers.get('content-security-policy')!, /default-src 'none'/)
    const head = await gateway.get(path, { headers: html, method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [404, ''])
    const posted = await gateway.get(path, {
      method: 'POST',
      headers: { ...html, ...as('key-of-boss') },
      body: '{}',
    })
    assert.equal(posted.json.error.code, 'not_found')
    const program = await gateway.get(path, { headers: as('key-of-boss') })
    assert.deepEqual([program.status, program.json.error.code], [404, 'not_found'])
  }
  for (const path of ['/api/nosuch', '/v1/nosuch', '/v1beta/nosuch', '/page/nosuch'])
    assert.ok((await gateway.get(path, { headers: { ...html, ...as('key-of-boss') } })).json.error, path)
})

test('a gateway reports that its page was not built', async (t) => {
  const gateway = await testGateway(t, { options: { page: pathToFileURL('/nowhere/') } })
  assert.match((await gateway.get('/')).text, /npm run build/)
})

test('a page token has the read rights of its key, but can create neither calls nor tokens (PAGE-03)', async (t) => {
  const gateway = await sharedGateway(t, { config: KEYS })
  for (const key of ['ann', 'bob']) await gateway.chat(ask('auto'), as(`key-of-${key}`))
  const { status, json } = await gateway.get('/page/sign-in', post(as('key-of-ann')))
  assert.equal(status, 200)
  assert.deepEqual([json.name, json.role], ['ann', 'client'])
  const token = as(json.token)
  const list = await gateway.get('/api/usage/request-logs', { headers: token })
  assert.deepEqual(
    list.json.data.map((each: any) => each.key_name),
    ['ann'],
  )
  const others = await gateway.get('/api/usage/request-logs?key_name=bob', { headers: token })
  assert.deepEqual([others.status, others.json.error.code], [403, 'forbidden'])
  const before = gateway.received()
  for (const [path, init] of [
    ['/v1/chat/completions', { ...post(token), body: JSON.stringify(ask('auto')) }],
    ['/v1/messages', { ...post(token), body: '{}' }],
    ['/v1/messages/count_tokens', { ...post(token), body: '{}' }],
    ['/v1/models', { headers: token }],
    ['/page/sign-in', post(token)],
    ['/page/code', post(token)],
  ] as const)
    assert.equal((await gateway.get(path, init)).status, 403, path)
  assert.equal(gateway.received(), before)
  await gateway.get('/page/sign-out', post(token))
  assert.equal((await gateway.get('/api/sessions', { headers: token })).status, 401)
})

test('a code can be used once, within a minute, to sign in; its token expires after twelve hours (PAGE-03)', async (t) => {
  let time = clock.now()
  const gateway = await testGateway(t, { config: KEYS, clock: dated(() => time) })
  const code = async () => (await gateway.get('/page/code', post(as('key-of-boss')))).json.token as string
  const signIn = async (text: string) => gateway.get('/page/sign-in', post(as(text)))
  const first = await code()
  const { json } = await signIn(first)
  assert.equal(json.name, 'boss')
  assert.equal((await signIn(first)).status, 401)
  assert.equal(
    (await gateway.get('/api/sessions', { headers: as(await code()) })).status,
    401,
    'a code reads nothing',
  )
  const late = await code()
  time += 61_000
  assert.equal((await signIn(late)).status, 401)
  const read = async () => (await gateway.get('/api/sessions', { headers: as(json.token) })).status
  assert.equal(await read(), 200)
  time += 12 * 3_600_000
  assert.equal(await read(), 401)
})

test('signing in from another site’s page, or without a key, is refused', async (t) => {
  const gateway = await sharedGateway(t, { config: KEYS })
  for (const [headers, expected] of [
    [{}, 401],
    [as('nope'), 401],
    [{ ...as('key-of-ann'), 'sec-fetch-site': 'same-site' }, 403],
    [{ ...as('key-of-ann'), 'sec-fetch-site': 'cross-site' }, 403],
    [{ ...as('key-of-ann'), origin: 'http://127.0.0.1:1' }, 403],
    [{ ...as('key-of-ann'), origin: gateway.url, 'sec-fetch-site': 'same-origin' }, 200],
  ] as const)
    for (const path of ['/page/sign-in', '/page/code'])
      assert.equal(
        (await gateway.get(path, post(headers))).status,
        expected,
        `${path} ${JSON.stringify(headers)}`,
      )
})

/** Reads the events of the live feed from now on. */
async function follow(t: TestContext, gateway: TestGateway, key: string | null) {
  const stop = new AbortController()
  t.after(() => stop.abort())
  const response = await fetch(`${gateway.url}/api/usage/live`, {
    signal: stop.signal,
    headers: key === null ? {} : as(key),
  })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const records: any[] = []
  void (async () => {
    let text = ''
    for await (const bytes of response.body!) {
      text += Buffer.from(bytes).toString()
      const events = text.split('\n\n')
      text = events.pop()!
      for (const event of events)
        if (event.startsWith('event: call\ndata: '))
          records.push(JSON.parse(event.slice('event: call\ndata: '.length)))
    }
  })().catch(() => {})
  return {
    records,
    ended: (id: string) =>
      until(`the feed has the end of ${id}`, () =>
        records.find((each) => each.id === id && each.completed_at !== null),
      ),
  }
}

test('the feed reports each change to a call with the fields of the call’s record (PAGE-05)', async (t) => {
  const gateway = await testGateway(t, {
    providers: {
      alpha: fail(503),
      beta: streamed('a', 'b'),
      gamma: answer('whole', { ...USAGE, prompt_tokens_details: { audio_tokens: 3 }, cost: 0.5 }),
    },
    config: `${TWO_TARGETS}\nmodels: { beta/model-b: { price: { input: 1, output: 2 } } }`,
  })
  const feed = await follow(t, gateway, null)
  for (const [model, more] of [
    ['auto', { stream: true }],
    ['alpha/x', {}],
    ['beta/model-b', { stream: true }],
    ['gamma/model-c', {}],
  ] as const) {
    const { headers } = await gateway.chat(ask(model, more), { 'x-session-id': 's' })
    const id = headers.get('x-gateway-request-id')!
    const heard = await feed.ended(id)
    const { attempt_log, artifact, ...record } = await gateway.record(id)
    assert.deepEqual(heard, record)
    const [first] = feed.records.filter((each) => each.id === id)
    assert.deepEqual([first.state, first.completed_at, first.attempts], ['routed', null, 1])
  }
  assert.ok(feed.records.some(({ state }) => state === 'streaming'))
})

test('a client’s feed has only its own calls, and an admin’s feed has all calls (PAGE-04)', async (t) => {
  const gateway = await sharedGateway(t, { config: KEYS })
  const [ann, boss] = [await follow(t, gateway, 'key-of-ann'), await follow(t, gateway, 'key-of-boss')]
  await gateway.chat(ask('auto'), as('key-of-bob'))
  const { headers } = await gateway.chat(ask('auto'), as('key-of-ann'))
  const id = headers.get('x-gateway-request-id')!
  await Promise.all([ann.ended(id), boss.ended(id)])
  assert.deepEqual(new Set(ann.records.map((each) => each.key_name)), new Set(['ann']))
  assert.deepEqual(new Set(boss.records.map((each) => each.key_name)), new Set(['ann', 'bob']))
  assert.equal((await gateway.get('/api/usage/live')).status, 401)
})

test('an open feed does not delay the shutdown of a gateway', async (t) => {
  const gateway = await testGateway(t)
  await follow(t, gateway, null)
  const manual = manualClock()
  t.after(useClock(manual))
  const before = manual.now()
  await manual.during(gateway.gateway.close(3_600_000))
  assert.ok(manual.now() - before < 3_600_000)
})

test('an export has every call that matches the filters, as JSON or as CSV without formulas (PAGE-08)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: TWO_TARGETS,
  })
  const formula = 'alpha/=1+1,"x"'
  for (const model of ['auto', formula, 'beta/model-b', 'auto']) await gateway.chat(ask(model))
  const csv = await gateway.get(
    '/api/usage/export?provider=alpha&columns=requested_model,tokens.input,status',
  )
  assert.equal(csv.headers.get('content-disposition'), 'attachment; filename="calls.csv"')
  assert.equal(
    csv.text,
    'requested_model,tokens.input,status\r\nauto,20,200\r\n"alpha/=1+1,""x""",20,200\r\nauto,20,200\r\n',
  )
  const models = await gateway.get('/api/usage/export?columns=resolved_model&provider=alpha')
  assert.match(models.text, /^"'=1\+1,""x"""\r$/m)
  const { json } = await gateway.get('/api/usage/export?form=json')
  const list = await gateway.get('/api/usage/request-logs')
  assert.deepEqual(json, list.json.data)
  assert.equal((await gateway.get('/api/usage/export?form=json&limit=1')).status, 400)
  assert.equal((await gateway.get('/api/usage/export?columns=nope')).status, 400)
})
