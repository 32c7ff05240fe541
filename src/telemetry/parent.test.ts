// A caller's trace over real sockets: continued, linked or ignored, and passed on to some providers.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createMockProviders } from '../../mocks/server/create.ts'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { ask, TWO_TARGETS, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { collector, seen } from './test-collector.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SAMPLED = {
  traceparent: `00-${TRACE}-${SPAN}-01`,
  tracestate: 'rojo=00f067,congo=t61',
  baggage: 'user=ann',
}

const traced = (t: TestContext, endpoint: string, settings = '', providers = {}) =>
  testGateway(t, {
    providers: { alpha: fail(500), beta: answer() },
    config: `telemetry: { endpoint: "${endpoint}", ${settings} }\n${TWO_TARGETS}`,
    ...providers,
  })

test("the caller's span is the parent of the call's span, and both ids are on record (TRACE-05)", async (t) => {
  const { url, spans } = await collector(t)
  const gateway = await traced(t, url)
  const { headers } = await gateway.chat(ask('auto'), SAMPLED)
  const all = await seen(spans, 3)
  const server = all.find(({ kind }) => kind === 2)!
  assert.deepEqual([server.trace, server.parent, server.links], [TRACE, SPAN, []])
  assert.deepEqual(
    all.filter(({ kind }) => kind === 3).map(({ trace, parent }) => [trace, parent]),
    [
      [TRACE, server.id],
      [TRACE, server.id],
    ],
  )
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).traceparent, SAMPLED.traceparent)
})

test('`parent: link` starts a new trace linked to the caller’s trace; `parent: none` ignores the caller’s trace (TRACE-05)', async (t) => {
  for (const [parent, links] of [
    ['link', [`${TRACE} ${SPAN}`]],
    ['none', []],
  ] as const) {
    const { url, spans } = await collector(t)
    const gateway = await traced(t, url, `parent: ${parent}`)
    const { headers } = await gateway.chat(ask('beta/model-b'), SAMPLED)
    const [server] = (await seen(spans, 2)).filter(({ kind }) => kind === 2)
    assert.equal(server!.trace, headers.get('x-gateway-request-id')!.replaceAll('-', ''))
    assert.equal(server!.parent, '')
    assert.deepEqual(server!.links, links)
  }
})

test('an invalid traceparent is ignored: the call starts a new trace (TRACE-05)', async (t) => {
  const { url, spans } = await collector(t)
  const gateway = await traced(t, url)
  const wrong = [
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    'x'.repeat(4_000),
  ]
  for (const traceparent of wrong) await gateway.chat(ask('beta/model-b'), { traceparent })
  const servers = (await seen(spans, 2 * wrong.length)).filter(({ kind }) => kind === 2)
  assert.equal(servers.length, wrong.length)
  for (const { trace, parent } of servers) assert.deepEqual([trace === TRACE, parent], [false, ''])
  // A later version of `traceparent` may have additional fields at the end.
  await gateway.chat(ask('beta/model-b'), { traceparent: `01-${TRACE}-${SPAN}-01-more` })
  const all = await seen(spans, 2 * wrong.length + 2)
  assert.ok(all.some(({ trace }) => trace === TRACE))
})

test('the caller’s decision not to sample a trace is followed, unless follow_caller is false and `sample` decides (TRACE-05, TRACE-06)', async (t) => {
  const { url, spans } = await collector(t)
  const unsampled = { traceparent: `00-${TRACE}-${SPAN}-00` }
  const follows = await traced(t, url, 'sample: 1')
  await follows.chat(ask('beta/model-b'), unsampled)
  await follows.gateway.close() // sends the waiting spans
  assert.deepEqual(spans(), [])
  const decides = await traced(t, url, 'sample: 1, follow_caller: false')
  await decides.chat(ask('beta/model-b'), unsampled)
  await decides.gateway.close()
  assert.equal(spans().length, 2)
  const zero = await traced(t, url, 'sample: 0')
  await zero.chat(ask('beta/model-b'), SAMPLED)
  await zero.gateway.close()
  assert.equal(spans().length, 4, 'the caller wants it')
})

test('in every dialect, each attempt sends its trace only to a provider with `trace: true` (TRACE-05)', async (t) => {
  const { url, spans } = await collector(t)
  const mock = await createMockProviders()
  t.after(() => mock.close())
  const provider = (name: string, api: string, id = name, more = '') =>
    `  ${id}: { dialect: ${api}, base_url: "${mock.baseUrl(name)}", key: $KEY_${name}, ${more} }`
  const text = (telemetry: string, mark: string) =>
    [
      'server: { port: 0 }',
      `data: ${temporaryDirectory(t)}`,
      telemetry,
      'providers:',
      provider('openai', 'openai', 'marked', mark),
      provider('groq', 'openai'),
      provider('anthropic', 'anthropic'),
      provider('openai', 'responses', 'codex'),
      provider('gemini', 'gemini'),
      'routes: { auto: { targets: [ { model: groq/scenario-503 }, { model: marked/gpt-5-mini } ] } }',
    ].join('\n')
  const env = Object.fromEntries(mock.providers.map((name) => [`KEY_${name}`, mock.key(name)]))
  const start = async (config: string) => {
    const gateway = await createGateway(parseConfig(config, 'test.yaml', { env }))
    t.after(() => gateway.close(100))
    return gateway.url
  }
  const post = async (address: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...SAMPLED }
    const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })
    await response.text()
    return response.status
  }
  const everyDialect = async (address: string) => {
    const messages = [{ role: 'user', content: 'where to?' }]
    await post(`${address}/v1/messages`, { model: 'anthropic/claude-x', max_tokens: 9, messages })
    await post(`${address}/v1/messages/count_tokens`, { model: 'anthropic/claude-x', messages })
    await post(`${address}/v1/responses`, { model: 'codex/gpt-5-mini', input: 'where to?' })
    await post(`${address}/v1/embeddings`, { model: 'groq/text-embedding-3-small', input: 'where to?' })
    const contents = [{ role: 'user', parts: [{ text: 'where to?' }] }]
    await post(`${address}/v1beta/models/gemini/gemini-x:generateContent`, { contents })
  }
  const TELEMETRY = `telemetry: { endpoint: "${url}" }`

  const gateway = await start(text(TELEMETRY, 'trace: true'))
  assert.equal(await post(`${gateway}/v1/chat/completions`, ask('auto')), 200)
  await everyDialect(gateway)
  await mock.settled()
  const told = mock.entries().filter(({ headers }) => headers.traceparent !== undefined)
  assert.deepEqual(
    told.map(({ provider, model }) => [provider, model]),
    [['openai', 'gpt-5-mini']],
  )
  const attempt = (await seen(spans, 3)).find(({ attributes }) => attributes['waybill.attempt'] === 2)!
  assert.equal(told[0]!.headers.traceparent, `00-${TRACE}-${attempt.id}-01`)
  assert.equal(told[0]!.headers.tracestate, SAMPLED.tracestate)
  assert.deepEqual(told[0]!.problems, [])
  assert.ok(new Set(mock.entries().map(({ endpoint }) => endpoint)).size >= 5, 'every dialect was spoken')

  // The caller's `tracestate` belongs to the caller's trace.
  const linked = await start(text(`telemetry: { endpoint: "${url}", parent: link }`, 'trace: true'))
  await post(`${linked}/v1/chat/completions`, ask('marked/gpt-5-mini'))
  const [own] = mock.entries().slice(-1)
  assert.match(own!.headers.traceparent!, /^00-0[0-9a-f]{31}-[0-9a-f]{16}-01$/)
  assert.equal(own!.headers.tracestate, undefined)

  for (const config of [text(TELEMETRY, ''), text('', '')]) {
    const address = await start(config)
    await post(`${address}/v1/chat/completions`, ask('auto'))
    await everyDialect(address)
  }
  await mock.settled()
  const names = ['traceparent', 'tracestate', 'baggage']
  const all = mock.entries().filter(({ headers }) => names.some((name) => name in headers))
  assert.deepEqual(
    all.map(({ n }) => n),
    [told[0]!.n, own!.n],
  )
})
