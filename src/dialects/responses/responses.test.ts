// OpenAI's Responses dialect over real sockets, from Responses clients to Responses providers: the provider's
// request, the client's answer, and the record. Behaviour of all dialects is tested in ../toy. Over 250
// lines, because it is a list of cases with one fixture.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type Script, stream } from '../../../mocks/test-upstream.ts'
import { providerKey, readBody, type Setup, sharedGateways } from '../../test/test-gateway.ts'
import { ResponsesTraits } from './client.ts'
import { message, response, samples, streamOf } from './test-samples.ts'

const sharedGateway = sharedGateways()

const JSON_TYPE = { 'content-type': 'application/json' }
const ONE = 'routes: { auto: { targets: [ { model: alpha/m } ] } }'
const TWO = 'routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] } }'

const start = async (t: TestContext, setup: Setup = {}) => {
  const providers = setup.providers ?? { alpha: undefined }
  const dialects = Object.fromEntries(Object.keys(providers).map((name) => [name, ['responses']]))
  const gateway = await sharedGateway(t, { config: ONE, dialects, ...setup })
  const send = (body: unknown, headers: Record<string, string> = {}, query = '') =>
    gateway.get(`/v1/responses${query}`, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { ...gateway, send }
}

const ask = (more: object = {}) => ({ model: 'auto', input: 'where to?', ...more })
const whole =
  (id = 'resp_1', more: object = {}): Script =>
  (res) =>
    res
      .writeHead(200, JSON_TYPE)
      .end(JSON.stringify(response('m-1', 'completed', { id, output: [message('x')], ...more })))
const errorOf = (code: string, message: string) => ({
  error: { message, type: 'invalid_request_error', param: null, code },
})
const fail =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (res) =>
    res.writeHead(status, { ...JSON_TYPE, ...headers }).end(JSON.stringify(body))
const failed = (code: string, message: string) =>
  streamOf({ type: 'response.failed', response: response('m', 'failed', { error: { code, message } }) })

test('the provider receives the client’s bytes, query and headers, and only the gateway’s key (DIAL-01, DIAL-02, RSP-05, RSP-15)', async (t) => {
  const { send, upstream, record } = await start(t, { providers: { alpha: whole() } })
  const body = samples.request('auto', false)
  const turn = JSON.stringify({ session_id: 'root', thread_id: 'child', request_kind: 'turn' })
  const answer = await send(
    body,
    {
      'openai-beta': 'of_tomorrow=v1',
      'openai-organization': 'org-of-the-client',
      'openai-project': 'proj-of-the-client',
      'x-codex-turn-metadata': turn,
      'x-codex-turn-state': 'state-7',
      'x-codex-of-tomorrow': 'yes',
      'x-openai-subagent': 'collab_spawn',
      'session-id': 'root',
      'thread-id': 'child',
      originator: 'codex_exec',
      authorization: 'Bearer of-the-client',
      cookie: 'c=1',
      'user-agent': 'codex_exec/0.169.0',
    },
    '?x=%20y',
  )
  assert.equal(answer.status, 200)
  const [received] = upstream.alpha!.ledger
  assert.equal(received!.text, body.replace('"auto"', '"m"'))
  assert.equal(received!.path, '/v1/responses?x=%20y')
  const { headers } = received!
  const arrived = ['openai-beta', 'x-codex-turn-metadata', 'x-codex-turn-state', 'x-codex-of-tomorrow']
  assert.deepEqual(
    [...arrived, 'x-openai-subagent', 'session-id', 'thread-id', 'originator', 'authorization'].map(
      (name) => headers[name],
    ),
    [
      ...['of_tomorrow=v1', turn, 'state-7', 'yes', 'collab_spawn', 'root', 'child', 'codex_exec'],
      `Bearer ${providerKey('alpha')}`,
    ],
  )
  assert.deepEqual(
    ['openai-organization', 'openai-project', 'cookie', 'user-agent'].map((name) => headers[name]),
    [undefined, undefined, undefined, 'waybill'],
  )
  const { session_id, agent_id, endpoint, response_model } = await record(
    answer.headers.get('x-gateway-request-id'),
  )
  assert.deepEqual(
    [session_id, agent_id, endpoint, response_model],
    ['root', 'child', '/v1/responses', 'm-1'],
  )
})

test('the response headers never name the served model, and keep the turn’s state (RSP-10, RSP-11)', async (t) => {
  const told = {
    'openai-model': 'gpt-served',
    'openai-organization': 'org-of-the-operator',
    'openai-project': 'proj-of-the-operator',
    'openai-processing-ms': '12',
    'x-codex-turn-state': 'state-8',
    'x-request-id': 'req_1',
    'x-ratelimit-remaining-tokens': '7',
  }
  const { send } = await start(t, {
    providers: { alpha: (res) => res.writeHead(200, { ...JSON_TYPE, ...told }).end(samples.answer('m', {})) },
  })
  for (const model of ['auto', 'alpha/m']) {
    const { headers } = await send(ask({ model }))
    assert.deepEqual(
      Object.keys(told).map((name) => headers.get(name)),
      [null, null, null, '12', 'state-8', 'req_1', '7'],
    )
  }
})

test('the session is read from Codex’s turn metadata, its thread or the prompt cache key', async (t) => {
  const { send, record } = await start(t, { providers: { alpha: whole() } })
  const metadata = JSON.stringify({ session_id: 'in-metadata' })
  const rows: [Record<string, string>, object, string | null, string | null][] = [
    [{ 'session-id': 's', 'x-codex-turn-metadata': metadata }, {}, 's', null],
    [{ 'x-codex-turn-metadata': metadata, 'thread-id': 't' }, { prompt_cache_key: 'k' }, 'in-metadata', null],
    [{ 'x-codex-turn-metadata': 'no JSON', 'thread-id': 't' }, { prompt_cache_key: 'k' }, 't', null],
    [{}, { prompt_cache_key: 'k' }, 'k', null],
    [{ 'session-id': 's', 'thread-id': 't', 'x-openai-subagent': 'review' }, {}, 's', 't'],
    [{}, {}, null, null],
  ]
  for (const [headers, more, session, agent] of rows) {
    const answer = await send(ask(more), headers)
    const { session_id, agent_id } = await record(answer.headers.get('x-gateway-request-id'))
    assert.deepEqual([session_id, agent_id], [session, agent], JSON.stringify([headers, more]))
  }
})

test('a stream arrives byte for byte, including comments, unknown events and [DONE]; its usage is recorded (DIAL-03, RSP-13)', async (t) => {
  const { send, record } = await start(t, { providers: { alpha: stream(samples.stream('theirs')) } })
  const answer = await send(ask({ stream: true }))
  assert.equal(answer.text, samples.stream('theirs'))
  const { state, tokens, response_model } = await record(answer.headers.get('x-gateway-request-id'))
  assert.deepEqual([state, tokens, response_model], ['completed', samples.read.tokens, 'theirs'])
})

test('a stream that breaks or ends too early is ended with response.failed, and never looks complete (RSP-03, DIAL-05)', async (t) => {
  const begin = samples.stream('m').split('event: response.output_text.done')[0]!
  const { url, record, upstream } = await start(t)
  for (const isBroken of [true, false]) {
    upstream.alpha!.script = isBroken ? stream(begin, 30, (res) => res.destroy()) : stream(begin)
    const res = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify(ask({ stream: true })),
    })
    const { text, isCut } = await readBody(res)
    assert.equal(isCut, isBroken)
    assert.ok(text.startsWith(begin))
    const [, data] = /^event: response.failed\ndata: (.*)\n\n$/.exec(text.slice(begin.length)) ?? []
    const { type, response: said, sequence_number } = JSON.parse(data!)
    assert.deepEqual([type, said.status, said.error.code], ['response.failed', 'failed', 'server_error'])
    assert.equal(sequence_number, [...begin.matchAll(/^data:/gm)].length)
    const { state, tokens } = await record(res.headers.get('x-gateway-request-id'))
    assert.deepEqual([state, tokens.source], ['failed', 'estimated'])
  }
})

test('a connection that breaks after response.completed does not change the outcome', async (t) => {
  const sse = samples.stream('m').replace('data: [DONE]\n\n', '')
  const { send, record } = await start(t, { providers: { alpha: stream(sse, 30, (res) => res.destroy()) } })
  const answer = await send(ask({ stream: true }))
  assert.equal(answer.text, sse)
  assert.equal((await record(answer.headers.get('x-gateway-request-id'))).state, 'completed')
})

test('response.failed and error events are relayed and recorded, and response.incomplete counts as a normal end', async (t) => {
  const { send, record, upstream } = await start(t)
  const begin = samples.stream('m').split('event: response.output_text.done')[0]!
  const rows: [string, string, string | null][] = [
    [failed('rate_limit_exceeded', 'Try again in 1s.'), 'failed', 'rate_limit_exceeded'],
    ['event: error\ndata: {"type":"error","code":"oops","message":"no"}\n\n', 'failed', 'oops'],
    ['data: {"error":{"message":"no","code":"gone"}}\n\n', 'failed', 'gone'],
    [
      streamOf({
        type: 'response.incomplete',
        response: response('m', 'incomplete', { incomplete_details: { reason: 'content_filter' } }),
      }),
      'completed',
      null,
    ],
  ]
  for (const [end, state, code] of rows) {
    upstream.alpha!.script = stream(begin, 10, end)
    const answer = await send(ask({ stream: true }))
    assert.equal(answer.text, begin + end)
    const said = await record(answer.headers.get('x-gateway-request-id'))
    assert.deepEqual([said.state, said.error_code], [state, code], end)
  }
})

test('if a stream’s first event is a failure, the call moves to the next target; at the last target, the client receives an error status', async (t) => {
  const { send, upstream } = await start(t, {
    providers: { alpha: whole(), beta: stream(samples.stream('m')) },
    config: `${TWO}\nresilience: { cooldown: 0s }`,
  })
  for (const script of [
    fail(529, errorOf('overloaded', 'no')),
    stream(failed('server_is_overloaded', 'no')),
  ]) {
    upstream.alpha!.script = script
    const { status, headers } = await send(ask({ stream: true }))
    assert.deepEqual([status, headers.get('x-gateway-provider')], [200, 'beta'])
  }
  upstream.beta!.script = stream(failed('rate_limit_exceeded', 'Slow down.'))
  const { status, json, headers } = await send(ask({ stream: true }))
  assert.deepEqual([status, json.error.code], [429, 'upstream_error'])
  assert.match(json.error.message, /Slow down/)
  assert.ok(headers.get('retry-after'))
})

test('a provider’s refusal arrives word for word, and every 429 has a Retry-After header (RSP-09)', async (t) => {
  const { send, upstream } = await start(t, { config: `${ONE}\nresilience: { cooldown: 1500ms }` })
  for (const refusal of [
    errorOf('context_length_exceeded', 'Your input exceeds the context window of this model.'),
    { code: 'invalid-argument', error: 'a bare text, as xAI has it' },
  ]) {
    upstream.alpha!.script = fail(400, refusal)
    const { status, text } = await send(ask())
    assert.deepEqual([status, text], [400, JSON.stringify(refusal)])
  }
  const busy = errorOf('rate_limit_exceeded', 'slow down')
  for (const [headers, expected] of [
    [{}, '2'],
    [{ 'retry-after': '7' }, '7'],
  ] as const) {
    upstream.alpha!.script = fail(429, busy, headers)
    const { status, json, headers: told } = await send(ask())
    assert.deepEqual([status, json, told.get('retry-after')], [429, busy, expected])
  }
})

test('the gateway’s own errors have OpenAI’s format and request id, and no provider is called (FAIL-01)', async (t) => {
  const { send, get, received } = await start(t)
  const rows: [Awaited<ReturnType<typeof send>>, number, string][] = [
    [await send('{'), 400, 'invalid_json'],
    [await send({ input: 'x' }), 400, 'invalid_request'],
    [await send(ask({ model: 'gpt-nobody-knows' })), 404, 'model_not_found'],
    [await send(ask(), { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
    [await get('/v1/responses'), 405, 'method_not_allowed'],
  ]
  for (const [{ status, json, headers }, expected, code] of rows) {
    assert.deepEqual([status, json.error.code], [expected, code])
    assert.deepEqual(Object.keys(json.error), ['message', 'type', 'param', 'code'])
    assert.equal(headers.get('x-request-id'), json.request_id)
  }
  assert.equal(received(), 0)
})

test('with WebSockets disabled, an upgrade is refused immediately with 426 and leaves no record (RSP-08)', async (t) => {
  const config = `${ONE}\nresponses: { websocket: off }`
  const { url, get, received, send } = await start(t, { providers: { alpha: whole() }, config })
  const status = await new Promise((resolve, reject) => {
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
    httpRequest(`${url}/v1/responses`, { headers: { ...upgrade, 'sec-websocket-key': 'AAAA' } })
      .on('response', (res) => resolve(res.resume().statusCode))
      .on('upgrade', () => reject(new Error('it was upgraded')))
      .on('error', reject)
      .end()
  })
  assert.equal(status, 426)
  assert.deepEqual((await get('/api/usage/request-logs')).json.data, [])
  assert.deepEqual((await get('/api/usage/refused-calls')).json.data, [])
  assert.equal(received(), 0)
  assert.equal((await send(ask())).status, 200)
})

test('unknown ids are routed to the dialect’s default provider, and a route that cannot serve the dialect refuses the call with the reason (RSP-12)', async (t) => {
  const { get, send, record } = await start(t, {
    providers: { alpha: whole(), beta: whole() },
    dialects: { alpha: ['responses'] },
    config:
      'defaults: { responses: auto }\nroutes: { auto: { targets: [ { model: alpha/m } ] }, chat: { targets: [ { model: beta/n } ] } }',
  })
  const { status, headers } = await send(ask({ model: 'gpt-5.5' }))
  assert.equal(status, 200)
  const { requested_model, decision } = await record(headers.get('x-gateway-request-id'))
  assert.deepEqual([requested_model, decision.cause], ['gpt-5.5', 'default of responses'])
  const refused = await send(ask({ model: 'chat', input: [{ type: 'compaction_trigger' }] }))
  assert.equal(refused.status, 400)
  assert.equal((await get('/api/usage/request-logs')).json.data.length, 1)
})

test('`answer_model: requested` replaces only the model, in a response and in its events', async (t) => {
  const { send, upstream } = await start(t, {
    config: 'routes: { auto: { answer_model: requested, targets: [ { model: alpha/m } ] } }',
  })
  upstream.alpha!.script = stream(samples.stream('theirs'))
  assert.equal((await send(ask({ stream: true }))).text, samples.stream('auto'))
})

test('rules and capability checks recognize tools, images (including those from tools), effort and length', () => {
  const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(100_000)}` }
  const said = (content: unknown) => ({ input: [{ type: 'message', role: 'user', content }] })
  const rows: [body: object, expected: [boolean, boolean, string | null, boolean]][] = [
    [{ input: 'x' }, [false, false, null, false]],
    [{ ...said('x'), tools: [] }, [false, false, null, false]],
    [
      { ...said('x'), tools: [{ type: 'custom' }], reasoning: { effort: 'high' } },
      [true, false, 'high', false],
    ],
    [said([{ type: 'input_text', text: 'x' }, image]), [false, true, null, false]],
    [{ input: [{ type: 'function_call_output', output: [image] }] }, [false, true, null, false]],
    [
      { input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot' } }] },
      [false, true, null, false],
    ],
    [{ input: [{ type: 'reasoning', encrypted_content: 'gAAA' }] }, [false, false, null, true]],
    [{ input: [{ type: 'reasoning', encrypted_content: null }] }, [false, false, null, false]],
  ]
  for (const [body, expected] of rows) {
    const { tools, images, effort, opaqueReasoning } = new ResponsesTraits({ ...body })
    assert.deepEqual([tools, images, effort, opaqueReasoning], expected, JSON.stringify(body).slice(0, 200))
  }
  const words = 'where does this request end and what has it cost '.repeat(100)
  const tokens = (body: object) => new ResponsesTraits({ ...body }).inputTokens
  const plain = tokens(said(words))
  assert.ok(plain > 800 && plain < 1_200, `${plain}`)
  for (const more of [
    { input: words },
    { input: 'x', instructions: words },
    { input: 'x', tools: [{ name: 'f', description: words }] },
    { input: [{ type: 'reasoning', summary: [{ text: words }], encrypted_content: 'A'.repeat(50_000) }] },
    said([{ type: 'input_text', text: words }, image]),
  ])
    assert.ok(Math.abs(tokens(more) - plain) < 40, `${tokens(more)}: ${JSON.stringify(more).slice(0, 100)}`)
})
