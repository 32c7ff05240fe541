// Anthropic's Messages dialect over real sockets, from Messages clients to Messages providers: the provider's
// request, the client's answer, and the record. Behaviour of all dialects is tested in ../toy. Over 250
// lines, because it is a list of cases with one fixture.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Script, stream } from '../../../mocks/test-upstream.ts'
import { providerKey, type Setup, sharedGateways } from '../../test/test-gateway.ts'
import { MessagesTraits } from './client.ts'
import { samples } from './test-samples.ts'

const sharedGateway = sharedGateways()

const JSON_TYPE = { 'content-type': 'application/json' }
const PRICE = '{ input: 3, output: 15, cached_input: 0.3, cache_write: 3.75, cache_write_1h: 6 }'
const ONE = `models: { alpha/m: { price: ${PRICE} } }
routes: { auto: { targets: [ { model: alpha/m } ] } }`
const TWO = 'routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] } }'

const start = async (t: TestContext, setup: Setup = {}) => {
  const providers = setup.providers ?? { alpha: undefined }
  const dialects = Object.fromEntries(Object.keys(providers).map((name) => [name, ['messages']]))
  const gateway = await sharedGateway(t, { config: ONE, dialects, ...setup })
  const send = (body: unknown, headers: Record<string, string> = {}, query = '') =>
    gateway.get(`/v1/messages${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { ...gateway, send }
}

const ask = (more: object = {}) => ({
  model: 'auto',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'where to?' }],
  ...more,
})
const errorOf = (type: string, message: string) => ({ type: 'error', error: { type, message } })

const whole: Script = (response) =>
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'request-id': 'req_1',
      'anthropic-ratelimit-tokens-remaining': '7',
      'anthropic-organization-id': 'org-of-the-operator',
      server: 'theirs',
    })
    .end(
      samples.answer('m-1', {
        input_tokens: 10,
        output_tokens: 100,
        cache_read_input_tokens: 2_000,
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
      }),
    )
const fail =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

test('the provider receives the client’s bytes, query and anthropic headers, and only the gateway’s key (DIAL-01, DIAL-02, MSG-01)', async (t) => {
  const { send, upstream, record } = await start(t, { providers: { alpha: whole } })
  const session = '4f6e77aa-8408-4f57-8b47-3e91f5a853b2'
  const body = samples.request('auto', false)
  const answer = await send(
    body,
    {
      'anthropic-beta': 'one-2025-01-01,two-of-tomorrow',
      'anthropic-dangerous-direct-browser-access': 'true',
      authorization: 'Bearer of-the-client',
      'x-app': 'cli',
      'user-agent': 'claude-cli/2.1.328',
      'x-claude-code-session-id': session,
    },
    '?beta=true&x=%20y',
  )
  assert.equal(answer.status, 200)
  const [received] = upstream.alpha!.ledger
  assert.equal(received!.text, body.replace('"auto"', '"m"'))
  assert.equal(received!.path, '/v1/messages?beta=true&x=%20y')
  const { headers } = received!
  assert.deepEqual(
    ['anthropic-beta', 'anthropic-version', 'anthropic-dangerous-direct-browser-access', 'x-api-key'].map(
      (name) => headers[name],
    ),
    ['one-2025-01-01,two-of-tomorrow', '2023-06-01', 'true', providerKey('alpha')],
  )
  assert.deepEqual(
    [headers.authorization, headers['x-app'], headers['user-agent']],
    [undefined, undefined, 'waybill'],
  )
  assert.deepEqual(
    ['request-id', 'anthropic-ratelimit-tokens-remaining', 'anthropic-organization-id', 'server'].map(
      (name) => answer.headers.get(name),
    ),
    ['req_1', '7', null, null],
  )
  const { session_id, endpoint, response_model } = await record(answer.headers.get('x-gateway-request-id'))
  assert.deepEqual([session_id, endpoint, response_model], [session, '/v1/messages', 'm-1'])
})

test('the session may be in metadata.user_id, and a default version is sent if the client sends none', async (t) => {
  const { get, upstream, record } = await start(t, { providers: { alpha: whole } })
  const metadata = { user_id: JSON.stringify({ device_id: 'd', account_uuid: '', session_id: 's-9' }) }
  const { headers } = await get('/v1/messages', {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(ask({ metadata })),
  })
  assert.equal((await record(headers.get('x-gateway-request-id'))).session_id, 's-9')
  assert.equal(upstream.alpha!.ledger[0]!.headers['anthropic-version'], '2023-06-01')
})

test('cache reads and writes count as input, are recorded separately, and have their own prices (USE-05, MSG-07)', async (t) => {
  const { send, record } = await start(t, { providers: { alpha: whole } })
  const answer = await send(ask())
  const { tokens, cost_usd } = await record(answer.headers.get('x-gateway-request-id'))
  assert.deepEqual(tokens, {
    source: 'reported',
    input: 2_310,
    output: 100,
    cached_input: 2_000,
    cache_write: 300,
    reasoning: null,
  })
  assert.ok(
    Math.abs(cost_usd - (10 * 3 + 2_000 * 0.3 + 200 * 3.75 + 100 * 6 + 100 * 15) / 1e6) < 1e-12,
    `${cost_usd}`,
  )
})

test('token counts at the end of a stream replace earlier counts, unless the later counts are zero', async (t) => {
  const { send, record, upstream } = await start(t)
  const streamOf = (first: object, last: object) =>
    stream(
      `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { model: 'm', usage: first } })}\n\n`,
      `event: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: last })}\n\n`,
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    )
  for (const [first, last, expected] of [
    [
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 5 },
      [13, 5, 4],
    ],
    [
      { input_tokens: 9, cache_read_input_tokens: 4 },
      { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 },
      [13, 5, 4],
    ],
    [{ input_tokens: 9, output_tokens: 1 }, {}, [9, null, null]],
  ] as const) {
    upstream.alpha!.script = streamOf(first, last)
    const { headers } = await send(ask({ stream: true }))
    const { tokens } = await record(headers.get('x-gateway-request-id'))
    assert.deepEqual([tokens.input, tokens.output, tokens.cached_input], expected)
  }
})

test('a broken stream ends with an error event and never looks complete, and the rest of its usage is estimated (DIAL-05)', async (t) => {
  const begin = samples.stream('m').split('event: content_block_stop')[0]!
  const { url, record } = await start(t, {
    providers: { alpha: stream(begin, 30, (response) => response.destroy()) },
  })
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(ask({ stream: true })),
  })
  let text = ''
  await assert.rejects(async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString()
  })
  assert.ok(text.startsWith(begin))
  const [, data] = /^event: error\ndata: (.*)\n\n$/.exec(text.slice(begin.length)) ?? []
  const { type, error } = JSON.parse(data!)
  assert.deepEqual([type, error.type], ['error', 'api_error'])
  const { state, tokens, cost_usd } = await record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual([state, tokens.source, tokens.input], ['failed', 'estimated', 20])
  assert.ok(tokens.output > 1, `${tokens.output} tokens of output`)
  assert.ok(cost_usd > 0)
})

test('a late error event is relayed and recorded, and a connection that closes early does not count as the end of the stream (DIAL-05, MSG-14)', async (t) => {
  const { send, url, record, upstream } = await start(t)
  const begin = samples.stream('m').split('event: content_block_stop')[0]!
  const event = `event: error\ndata: ${JSON.stringify(errorOf('overloaded_error', 'Overloaded'))}\n\n`
  upstream.alpha!.script = stream(begin, 20, event)
  const answer = await send(ask({ stream: true }))
  assert.equal(answer.text, begin + event)
  const failed = await record(answer.headers.get('x-gateway-request-id'))
  assert.deepEqual([failed.state, failed.error_code, failed.status], ['failed', 'overloaded_error', 200])

  upstream.alpha!.script = stream(begin)
  const cut = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(ask({ stream: true })),
  })
  assert.match(await cut.text(), /\nevent: error\ndata: .*Premature end/)
  const record2 = await record(cut.headers.get('x-gateway-request-id'))
  assert.deepEqual([record2.state, record2.error_code], ['failed', 'upstream_invalid'])
})

test('if a status or a stream’s first event reports an overload, the next target is tried', async (t) => {
  const overloaded = errorOf('overloaded_error', 'Overloaded')
  const { send, upstream } = await start(t, {
    providers: { alpha: whole, beta: whole },
    config: `${TWO}\nresilience: { cooldown: 0s }`,
  })
  for (const script of [
    fail(529, overloaded),
    stream(`event: error\ndata: ${JSON.stringify(overloaded)}\n\n`),
  ]) {
    upstream.alpha!.script = script
    const { status, headers } = await send(ask({ stream: true }))
    assert.deepEqual(
      [status, headers.get('x-gateway-provider'), headers.get('x-gateway-attempts')],
      [200, 'beta', '2'],
    )
  }
  upstream.beta!.script = stream(`event: error\ndata: ${JSON.stringify(overloaded)}\n\n`)
  const last = await send(ask({ stream: true }))
  assert.deepEqual([last.status, last.json], [529, overloaded])
})

test('a provider’s refusal arrives word for word, and errors in other formats are converted to Anthropic’s (MSG-12)', async (t) => {
  const { send, upstream } = await start(t)
  const refusal = {
    ...errorOf('invalid_request_error', 'messages.1.role: Input should be "user"'),
    request_id: 'req_7',
  }
  upstream.alpha!.script = fail(400, refusal, { 'request-id': 'req_7', 'x-should-retry': 'false' })
  const refused = await send(ask())
  assert.equal(refused.text, JSON.stringify(refusal))
  assert.deepEqual(
    [refused.status, refused.headers.get('request-id'), refused.headers.get('x-should-retry')],
    [400, 'req_7', 'false'],
  )
  upstream.alpha!.script = fail(400, {
    error: { message: 'does not support the effort parameter', type: 'x' },
  })
  const { status, json } = await send(ask())
  assert.deepEqual([status, json.type, json.error.type], [400, 'error', 'invalid_request_error'])
  assert.match(json.error.message, /does not support the effort parameter/)
})

test('the gateway’s own errors have Anthropic’s format, type and request id, and no provider is called (MSG-11)', async (t) => {
  const { send, get, received } = await start(t)
  const rows: [Awaited<ReturnType<typeof send>>, number, string][] = [
    [await send('{'), 400, 'invalid_request_error'],
    [await send({ messages: [] }), 400, 'invalid_request_error'],
    [await send('[]'), 400, 'invalid_request_error'],
    [await send(ask({ model: 'claude-nobody-knows' })), 404, 'not_found_error'],
    [await send(ask(), { 'content-type': 'text/plain' }), 415, 'invalid_request_error'],
    [await send(ask(), { host: 'evil.example', origin: 'http://evil.example' }), 403, 'permission_error'],
    [await get('/v1/messages'), 405, 'invalid_request_error'],
  ]
  for (const [{ status, json, headers }, expected, type] of rows) {
    assert.deepEqual([status, json.type, json.error.type], [expected, 'error', type])
    assert.deepEqual(Object.keys(json), ['type', 'error', 'request_id'])
    assert.deepEqual(Object.keys(json.error), ['type', 'message'])
    assert.equal(headers.get('request-id'), json.request_id)
  }
  assert.equal(received(), 0)
})

test('`answer_model: requested` replaces only the model, in a message and in the first event', async (t) => {
  const { send, upstream } = await start(t, {
    config: 'routes: { auto: { answer_model: requested, targets: [ { model: alpha/m } ] } }',
  })
  upstream.alpha!.script = stream(samples.stream('theirs'))
  assert.equal((await send(ask({ stream: true }))).text, samples.stream('auto'))
  upstream.alpha!.script = (response) => response.end(samples.answer('theirs', {}))
  assert.equal((await send(ask())).text, samples.answer('auto', {}))
})

test('rules and capability checks recognize tools, images (including those from tools), effort and thinking', () => {
  const image = { type: 'image', source: { type: 'base64', data: 'A'.repeat(100_000) } }
  const said = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const rows: [body: object, expected: [boolean, boolean, string | null]][] = [
    [said('x'), [false, false, null]],
    [{ ...said('x'), tools: [] }, [false, false, null]],
    [{ ...said('x'), tools: [{ name: 'f' }] }, [true, false, null]],
    [said([{ type: 'text', text: 'x' }, image]), [false, true, null]],
    [said([{ type: 'tool_result', content: [image] }]), [false, true, null]],
    [
      { ...said('x'), output_config: { effort: 'xhigh' }, thinking: { type: 'disabled' } },
      [false, false, 'xhigh'],
    ],
    [{ ...said('x'), thinking: { type: 'disabled' } }, [false, false, 'none']],
    [{ ...said('x'), thinking: { type: 'adaptive' } }, [false, false, null]],
    [{ ...said('x'), thinking: { type: 'enabled', budget_tokens: 4_000 } }, [false, false, 'low']],
    [{ ...said('x'), thinking: { type: 'enabled', budget_tokens: 10_000 } }, [false, false, 'medium']],
    [{ ...said('x'), thinking: { type: 'enabled', budget_tokens: 31_999 } }, [false, false, 'high']],
  ]
  for (const [body, expected] of rows) {
    const { tools, images, effort } = new MessagesTraits({ ...body })
    assert.deepEqual([tools, images, effort], expected, JSON.stringify(body).slice(0, 200))
  }
  const words = 'where does this request end and what has it cost '.repeat(100)
  const tokens = (body: object) => new MessagesTraits({ ...body }).inputTokens
  const plain = tokens(said(words))
  assert.ok(plain > 800 && plain < 1_200, `${plain}`)
  for (const more of [
    { ...said('x'), system: [{ type: 'text', text: words }] },
    { ...said('x'), tools: [{ name: 'f', description: words }] },
    said([{ type: 'tool_result', content: [{ type: 'text', text: words }] }]),
    said([{ type: 'thinking', thinking: words, signature: 'A'.repeat(50_000) }]),
    said([{ type: 'document', source: { type: 'text', data: words } }]),
    said([{ type: 'tool_use', name: 'f', input: { text: words } }, image]),
  ])
    assert.ok(Math.abs(tokens(more) - plain) < 40, `${tokens(more)}: ${JSON.stringify(more).slice(0, 100)}`)
})
