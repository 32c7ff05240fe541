// Gemini calls and token counts through a gateway: the provider's request, the client's answer, and the
// record. Over 250 lines, because it is a list of cases with one fixture.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer, type Script, stream } from '../../../mocks/test-upstream.ts'
import { providerKey, readBody, type Setup, sharedGateways } from '../../test/test-gateway.ts'
import { pause } from '../../test/test-until.ts'
import { GeminiTraits } from './client.ts'
import { samples } from './test-samples.ts'

const sharedGateway = sharedGateways()

const ONE = `models: { alpha/m: { price: { input: 1, output: 10, cached_input: 0.1 } } }
routes: { auto: { description: everyday, targets: [ { model: alpha/m } ] } }`
const TWO = 'routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] } }'

const start = async (t: TestContext, setup: Setup = {}) => {
  const providers = setup.providers ?? { alpha: undefined }
  const dialects = Object.fromEntries(Object.keys(providers).map((name) => [name, ['gemini']]))
  const gateway = await sharedGateway(t, { config: ONE, dialects, ...setup })
  const send = (
    verb: string,
    body: unknown,
    { model = 'auto', headers = {}, query = '' }: { model?: string; headers?: object; query?: string } = {},
  ) =>
    gateway.get(`/v1beta/models/${model}:${verb}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const recordOf = ({ headers }: { headers: Headers }) => gateway.record(headers.get('x-gateway-request-id'))
  return { ...gateway, send, recordOf }
}

const ask = (more: object = {}) => ({ contents: [{ role: 'user', parts: [{ text: 'where to?' }] }], ...more })
const events = (response: Awaited<ReturnType<typeof start>>, body: unknown = ask()) =>
  response.send('streamGenerateContent', body, { query: '?alt=sse' })
const errorOf = (code: number, status: string, more: object = {}) => ({
  error: { code, message: 'no', status, ...more },
})
const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
const USAGE = {
  promptTokenCount: 2_010,
  cachedContentTokenCount: 2_000,
  candidatesTokenCount: 60,
  thoughtsTokenCount: 40,
  totalTokenCount: 2_110,
}
const whole: Script = json(200, samples.answer('m-1', USAGE), { 'x-gemini-service-tier': 'standard' })
const RIGHT = 'wb-right-key-of-the-test'
const digest = createHash('sha256').update(RIGHT).digest('hex')
const KEYED = `${ONE}\nkeys: [ { name: k, role: admin, digest: "sha256:${digest}" } ]`

test('the provider receives the client’s bytes, query and headers at the target model’s path, and only the gateway’s key (GEM-01, GEM-02)', async (t) => {
  const log: string[] = []
  const note = (fields: object, said: string) => void log.push(JSON.stringify([fields, said]))
  const { get, upstream, data } = await start(t, {
    providers: { alpha: whole },
    config: KEYED,
    options: { log: { debug: note, info: note, warn: note, error: note } },
  })
  const body = samples.request('', false)
  for (const [key, query] of [
    [{ 'x-goog-api-key': RIGHT }, '?x=%20y'],
    [{ authorization: `Bearer ${RIGHT}` }, '?x=%20y'],
    [{ 'x-api-key': RIGHT }, '?x=%20y'],
    [{}, `?key=${RIGHT}&x=%20y`],
    [{}, `?x=%20y&k%65y=${RIGHT}`],
  ] as const) {
    const response = await get(`/v1beta/models/alpha%2Fm:generateContent${query}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-goog-api-client': 'google-genai-sdk/9',
        'x-goog-user-project': 'of-the-client',
        'x-goog-of-tomorrow': 'x',
        ...key,
      },
      body,
    })
    assert.equal(response.status, 200, response.text)
    assert.equal(response.text, samples.answer('m-1', USAGE))
    assert.equal(response.headers.get('x-gemini-service-tier'), 'standard')
    const received = upstream.alpha!.ledger.at(-1)!
    assert.deepEqual([received.text, received.path], [body, '/v1/models/m:generateContent?x=%20y'])
    const { headers } = received
    assert.deepEqual(
      [headers['x-goog-api-key'], headers['x-goog-api-client'], headers['x-goog-of-tomorrow']],
      [providerKey('alpha'), 'google-genai-sdk/9', 'x'],
    )
    assert.deepEqual(
      [headers.authorization, headers['x-api-key'], headers['x-goog-user-project']],
      [undefined, undefined, undefined],
    )
  }
  const [{ id }] = (await get('/api/usage/request-logs', { headers: { 'x-api-key': RIGHT } })).json.data
  const { json: one } = await get(`/api/usage/request-logs/${id}`, { headers: { 'x-api-key': RIGHT } })
  assert.deepEqual(
    [one.endpoint, one.requested_model, one.resolved_model, one.response_model, one.key_name],
    ['/v1beta/models/{model}:generateContent', 'alpha/m', 'm', 'm-1', 'k'],
  )
  assert.ok(log.length > 0)
  const written = readdirSync(data).map((file) => readFileSync(join(data, file), 'latin1'))
  for (const text of [...log, ...written]) assert.ok(!text.includes(RIGHT))
})

test('a request with a wrong key or two different keys is refused with a 401 in Google’s format (GEM-01)', async (t) => {
  const { send, received } = await start(t, { config: KEYED })
  for (const [headers, query] of [
    [{}, ''],
    [{ 'x-goog-api-key': 'wrong' }, ''],
    [{ 'x-goog-api-key': RIGHT }, '?key=wrong'],
    [{}, `?key=${RIGHT}&key=wrong`],
    [{ 'x-goog-api-key': RIGHT, authorization: 'Bearer wrong' }, ''],
  ] as const) {
    const { status, json } = await send('generateContent', ask(), { headers, query })
    assert.deepEqual([status, json.error.code, json.error.status], [401, 401, 'UNAUTHENTICATED'])
  }
  assert.equal(received(), 0)
})

test('thoughts count as output and cached tokens as input, each at its own price (GEM-05, USE-05)', async (t) => {
  const gateway = await start(t, { providers: { alpha: whole } })
  const { tokens, cost_usd } = await gateway.recordOf(await gateway.send('generateContent', ask()))
  assert.deepEqual(tokens, {
    source: 'reported',
    input: 2_010,
    output: 100,
    cached_input: 2_000,
    cache_write: null,
    reasoning: 40,
  })
  assert.ok(Math.abs(cost_usd - (10 * 1 + 2_000 * 0.1 + 100 * 10) / 1e6) < 1e-12, `${cost_usd}`)
  for (const [usage, input, output] of [
    [{ promptTokenCount: 5, totalTokenCount: 5 }, 5, 0],
    [{ promptTokenCount: 5, toolUsePromptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 10 }, 8, 2],
    [{ promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 10 }, 5, 5],
    [{ promptTokenCount: 5, thoughtsTokenCount: 9, totalTokenCount: 14 }, 5, 9],
    [{ promptTokenCount: 5 }, 5, null],
  ] as const) {
    gateway.upstream.alpha!.script = json(200, samples.answer('m', usage))
    const { tokens } = await gateway.recordOf(await gateway.send('generateContent', ask()))
    assert.deepEqual([tokens.input, tokens.output], [input, output], JSON.stringify(usage))
  }
})

test('tokens of images and sounds count by kind, those that Google’s tools read too (USE-05)', async (t) => {
  const of = (modality: string, tokenCount: number) => ({ modality, tokenCount })
  const usage = {
    ...{ promptTokenCount: 20, toolUsePromptTokenCount: 9, candidatesTokenCount: 7 },
    promptTokensDetails: [of('TEXT', 5), of('IMAGE', 10), of('AUDIO', 5)],
    toolUsePromptTokensDetails: [of('IMAGE', 6), of('AUDIO', 3)],
    candidatesTokensDetails: [of('IMAGE', 7)],
  }
  const gateway = await start(t, { providers: { alpha: json(200, samples.answer('m', usage)) } })
  const record = await gateway.recordOf(await gateway.send('generateContent', ask()))
  assert.deepEqual(record.usage, { input_audio: 8, input_image: 16, output_image: 7 })
})

test('a stream of events arrives byte for byte, and a stream sent as a list arrives whole (GEM-03, GEM-05)', async (t) => {
  const gateway = await start(t)
  gateway.upstream.alpha!.script = stream(samples.stream('theirs'))
  const streamed = await events(gateway)
  assert.equal(streamed.text, samples.stream('theirs'))
  assert.equal(gateway.upstream.alpha!.ledger[0]!.path, '/v1/models/m:streamGenerateContent?alt=sse')
  const record = await gateway.recordOf(streamed)
  assert.deepEqual(
    [record.state, record.stream, record.tokens, record.response_model, record.endpoint],
    ['completed', true, samples.read.tokens, 'theirs', '/v1beta/models/{model}:streamGenerateContent'],
  )

  const list = `[${samples.answer('theirs', { promptTokenCount: 20 })}\n,\r\n${samples.answer('theirs', USAGE)}]\n`
  gateway.upstream.alpha!.script = json(200, list)
  const listed = await gateway.send('streamGenerateContent', ask())
  assert.equal(listed.text, list)
  assert.equal(gateway.upstream.alpha!.ledger.at(-1)!.path, '/v1/models/m:streamGenerateContent')
  const whole = await gateway.recordOf(listed)
  assert.deepEqual([whole.state, whole.stream, whole.tokens.output], ['completed', false, 100])
  gateway.upstream.alpha!.script = (response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 })
      .write('[{"candid')
    void pause(20).then(() => response.destroy())
  }
  assert.equal((await gateway.send('streamGenerateContent', ask())).status, 502)
})

test('a stream that breaks or ends too early is ended with Google’s error, and never looks complete (GEM-04, DIAL-05)', async (t) => {
  const gateway = await start(t)
  const [begin = ''] = samples.stream('m').split(': a comment')
  for (const [script, code, status] of [
    [stream(begin, 30, (response) => response.destroy()), 'upstream_unreachable', 'UNAVAILABLE'],
    [stream(begin), 'upstream_invalid', 'UNAVAILABLE'],
  ] as const) {
    gateway.upstream.alpha!.script = script
    const response = await fetch(`${gateway.url}/v1beta/models/auto:streamGenerateContent?alt=sse`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask()),
    })
    const { text, isCut } = await readBody(response)
    assert.equal(isCut, code === 'upstream_unreachable')
    assert.ok(text.startsWith(begin))
    const [, data] = /^data: (.*)\n\n$/.exec(text.slice(begin.length)) ?? []
    const { error } = JSON.parse(data!)
    assert.deepEqual([error.code, error.status], [502, status])
    const record = await gateway.recordOf(response)
    assert.deepEqual([record.state, record.error_code, record.tokens.input], ['failed', code, 20])
  }
  const event = `data: ${JSON.stringify(errorOf(503, 'UNAVAILABLE'))}\r\n\r\n`
  gateway.upstream.alpha!.script = stream(begin, 20, event)
  const told = await events(gateway)
  assert.equal(told.text, begin + event)
  const record = await gateway.recordOf(told)
  assert.deepEqual([record.state, record.error_code], ['failed', 'UNAVAILABLE'])
})

test('an answer that ends because of a tool call, its length, safety or a blocked prompt does not break the call (GEM-06)', async (t) => {
  const gateway = await start(t, { config: `cache: { enabled: true }\n${ONE}` })
  const candidate = (finishReason: string) => ({
    candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason }],
  })
  for (const [n, [body, isKept]] of (
    [
      [candidate('STOP'), true],
      [candidate('MAX_TOKENS'), true],
      [candidate('SAFETY'), false],
      [candidate('MALFORMED_FUNCTION_CALL'), false],
      [{ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 4 } }, false],
    ] as const
  ).entries()) {
    const text = JSON.stringify(body)
    const asked = ask({ labels: { n: `${n}` } })
    gateway.upstream.alpha!.script = json(200, body)
    const first = await gateway.send('generateContent', asked)
    assert.deepEqual([first.status, first.text], [200, text])
    assert.equal((await gateway.recordOf(first)).state, 'completed', text)
    const again = await gateway.send('generateContent', asked)
    assert.equal(again.headers.get('x-gateway-cache'), isKept ? 'HIT' : 'MISS', text)
    gateway.upstream.alpha!.script = stream(`data: ${text}\r\n\r\n`)
    const streamed = await events(gateway, asked)
    assert.equal((await gateway.recordOf(streamed)).state, 'completed', text)
  }
  const other = await gateway.send('generateContent', ask({ labels: { n: '0' } }), { model: 'alpha/m' })
  assert.notEqual(other.headers.get('x-gateway-cache'), 'HIT', 'the model is in the path')
})

test('an overloaded provider, a rate limit, a wrong key or an unknown model causes a fallback to the next target (GEM-04)', async (t) => {
  const badKey = errorOf(400, 'INVALID_ARGUMENT', { details: [{ reason: 'API_KEY_INVALID' }] })
  const unknown = { error: { code: 404, message: 'models/m is not found', status: 'NOT_FOUND' } }
  const gateway = await start(t, {
    providers: { alpha: whole, beta: stream(samples.stream('m')) },
    config: `${TWO}\nresilience: { cooldown: 0s }`,
  })
  const overloaded = errorOf(503, 'UNAVAILABLE')
  for (const script of [
    json(503, overloaded),
    json(429, errorOf(429, 'RESOURCE_EXHAUSTED')),
    json(400, badKey),
    json(404, unknown),
    stream(`data: ${JSON.stringify(overloaded)}\r\n\r\n`),
  ]) {
    gateway.upstream.alpha!.script = script
    const { status, headers } = await events(gateway)
    assert.deepEqual([status, headers.get('x-gateway-provider')], [200, 'beta'])
  }
  gateway.upstream.beta!.script = json(400, badKey)
  const { status, json: refused } = await events(gateway)
  assert.deepEqual([status, refused.error.status], [502, 'UNAVAILABLE'])
  assert.doesNotMatch(JSON.stringify(refused), /-secret/)
})

test('a provider’s refusal arrives word for word, even inside a list, and errors in other formats are converted to Google’s (GEM-04)', async (t) => {
  const gateway = await start(t)
  const refusal = JSON.stringify(errorOf(400, 'INVALID_ARGUMENT', { details: [{ field: 'x' }] }), null, 2)
  for (const text of [refusal, `[${refusal}]`]) {
    gateway.upstream.alpha!.script = json(400, text)
    const refused = await gateway.send('generateContent', ask())
    assert.deepEqual([refused.status, refused.text], [400, text])
  }
  gateway.upstream.alpha!.script = json(400, { detail: 'not today' })
  const { json: told } = await gateway.send('generateContent', ask())
  assert.deepEqual([told.error.code, told.error.status], [400, 'INVALID_ARGUMENT'])
  assert.match(told.error.message, /not today/)
  gateway.upstream.alpha!.script = json(429, errorOf(429, 'RESOURCE_EXHAUSTED'))
  const limited = await gateway.send('generateContent', ask())
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '30'])
})

test('the gateway’s own errors have Google’s format with code, request id and waiting time, and no provider is called (GEM-04)', async (t) => {
  const { send, get, received } = await start(t, {
    config: `${KEYED.replace('role: admin,', 'role: admin, rate: { requests: 8, per: 1h },')}`,
  })
  const key = { 'x-goog-api-key': RIGHT }
  const rows: [Awaited<ReturnType<typeof send>>, number, string, string][] = [
    [await send('generateContent', '{', { headers: key }), 400, 'INVALID_ARGUMENT', 'INVALID_JSON'],
    [await send('generateContent', {}, { headers: key }), 400, 'INVALID_ARGUMENT', 'INVALID_REQUEST'],
    [
      await send('generateContent', ask(), { model: 'no', headers: key }),
      404,
      'NOT_FOUND',
      'MODEL_NOT_FOUND',
    ],
    [
      await send('generateContent', ask(), { headers: { ...key, 'content-type': 'text/plain' } }),
      400,
      'INVALID_ARGUMENT',
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    [
      await get('/v1beta/models/auto:generateContent', { headers: key }),
      400,
      'INVALID_ARGUMENT',
      'METHOD_NOT_ALLOWED',
    ],
    [await get('/v1beta/files', { headers: key }), 404, 'NOT_FOUND', 'NOT_FOUND'],
  ]
  for (let n = 0; n < 5; n++) await send('generateContent', '{', { headers: key })
  rows.push([
    await send('generateContent', ask(), { headers: key }),
    429,
    'RESOURCE_EXHAUSTED',
    'RATE_LIMITED',
  ])
  for (const [{ status, json, headers }, expected, name, reason] of rows) {
    assert.equal(json.error.code, status)
    assert.equal(json.error.status, name, reason)
    if (status !== 415 && status !== 405) assert.equal(status, expected)
    const [info, request, wait] = json.error.details
    assert.deepEqual([info.reason, request.requestId], [reason, headers.get('x-request-id')])
    assert.equal(wait?.retryDelay, status === 429 ? `${headers.get('retry-after')}s` : undefined)
  }
  assert.equal(received(), 0)
})

test('an unknown id is routed to the default provider of its dialect, or refused with 404 (GEM-07)', async (t) => {
  const gateway = await start(t, {
    providers: { alpha: whole },
    config: `defaults: { gemini: auto }\n${ONE}`,
  })
  const { requested_model, route, decision } = await gateway.recordOf(
    await gateway.send('generateContent', ask(), { model: 'gemini-2.5-flash-lite' }),
  )
  assert.deepEqual(
    [requested_model, route, decision.cause],
    ['gemini-2.5-flash-lite', 'auto', 'default of gemini'],
  )
})

test('a call to a route without a Gemini target is refused with a 400 that explains the remedy, without an inference', async (t) => {
  const gateway = await start(t, { providers: { alpha: answer() }, dialects: { alpha: ['embeddings'] } })
  const { status, json } = await gateway.send('generateContent', ask())
  assert.deepEqual([status, json.error.status], [400, 'INVALID_ARGUMENT'])
  assert.match(json.error.message, /has it under `dialect`/)
  assert.equal(gateway.received(), 0)
})

test('a counting request leaves no record, and is relayed with its model or answered with a marked estimate over all parts and tools (GEM-08, CNT-01)', async (t) => {
  const gateway = await start(t, {
    providers: { alpha: json(200, { totalTokens: 14, ofTomorrow: 1 }), beta: answer() },
    dialects: { alpha: ['gemini'], beta: ['chat'] },
    config: `${ONE.replace('} ]', '} ] }, chat: { targets: [ { model: beta/n } ]')}`,
  })
  const relayed = await gateway.send(
    'countTokens',
    { generateContentRequest: { model: 'models/auto', ...ask() }, model: 'models/auto' },
    { query: '?alt=json' },
  )
  assert.deepEqual(relayed.json, { totalTokens: 14, ofTomorrow: 1 })
  assert.equal(relayed.headers.get('x-gateway-token-count'), 'provider')
  const [received] = gateway.upstream.alpha!.ledger
  assert.equal(received!.path, '/v1/models/m:countTokens?alt=json')
  assert.deepEqual(received!.json, {
    generateContentRequest: { model: 'models/m', ...ask() },
    model: 'models/m',
  })

  const count = async (body: object) => {
    const { status, json, headers } = await gateway.send('countTokens', body, { model: 'chat' })
    assert.deepEqual([status, headers.get('x-gateway-token-count')], [200, 'estimated'])
    return json.totalTokens as number
  }
  const plain = await count(ask())
  const words = 'many words of a tool '.repeat(50)
  const said = (part: object) => ({ contents: [...ask().contents, { parts: [part] }] })
  for (const more of [
    ask({ systemInstruction: { parts: [{ text: words }] } }),
    ask({ system_instruction: { parts: [{ text: words }] } }),
    ask({ tools: [{ functionDeclarations: [{ name: 'f', description: words }] }] }),
    said({ functionCall: { name: 'f', args: { text: words } } }),
    said({ functionResponse: { name: 'f', response: { output: words } } }),
    said({ inlineData: { mimeType: 'image/png', data: 'AA' } }),
    said({ file_data: { mime_type: 'application/pdf', file_uri: 'x' } }),
    { generateContentRequest: { ...ask(), systemInstruction: { parts: [{ text: words }] } } },
  ])
    assert.ok((await count(more)) > plain + 200, JSON.stringify(more).slice(0, 90))
  const signed = await count(said({ text: '', thoughtSignature: 'A'.repeat(9_000) }))
  assert.ok(signed < plain + 30, 'a signature is not read')
  gateway.upstream.alpha!.script = json(500, errorOf(500, 'INTERNAL'))
  const guessed = await gateway.send('countTokens', ask())
  assert.equal(guessed.headers.get('x-gateway-token-count'), 'estimated')
  const { json: resolved } = await gateway.get('/api/cloud/model/resolve?model=auto')
  assert.equal(resolved.candidates[0].state, 'ready')
  assert.deepEqual((await gateway.get('/api/usage/request-logs')).json.data, [])
})

test('Google’s clients receive the model list and single models in Google’s format (GEM-09)', async (t) => {
  const { get } = await start(t)
  const headers = { 'x-goog-api-client': 'google-genai-sdk/9' }
  const { json } = await get('/v1beta/models?pageSize=50', { headers })
  assert.deepEqual(json.models[0], {
    name: 'models/auto',
    displayName: 'auto',
    description: 'everyday',
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  })
  assert.equal((await get('/v1beta/models/alpha%2Fm', { headers })).json.name, 'models/alpha/m')
  const unknown = await get('/v1beta/models/none', { headers })
  assert.deepEqual([unknown.status, unknown.json.error.status], [404, 'NOT_FOUND'])
  assert.equal((await get('/v1beta/models')).json.models[0].strategy, 'priority')
})

test('`answer_model: requested` replaces modelVersion in an answer, in each event and in a list', async (t) => {
  const gateway = await start(t, {
    config: 'routes: { auto: { answer_model: requested, targets: [ { model: alpha/m } ] } }',
  })
  gateway.upstream.alpha!.script = stream(samples.stream('theirs'))
  assert.equal((await events(gateway)).text, samples.stream('auto'))
  gateway.upstream.alpha!.script = json(
    200,
    `[${samples.answer('theirs', {})} , ${samples.answer('theirs', {})}]`,
  )
  assert.equal(
    (await gateway.send('streamGenerateContent', ask())).text,
    `[${samples.answer('auto', {})} , ${samples.answer('auto', {})}]`,
  )
})

test('rules and capability checks recognize tools, images (including those from tools), thinking and signed thoughts', () => {
  const picture = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(100_000) } }
  const said = (...parts: unknown[]) => ({ contents: [{ role: 'user', parts }] })
  const thinking = (thinkingConfig: object) => ({ ...said(), generationConfig: { thinkingConfig } })
  const rows: [body: object, expected: [boolean, boolean, string | null]][] = [
    [said({ text: 'x' }), [false, false, null]],
    [{ ...said(), tools: [] }, [false, false, null]],
    [{ ...said(), tools: [{ functionDeclarations: [{ name: 'f' }] }] }, [true, false, null]],
    [said({ text: 'x' }, picture), [false, true, null]],
    [said({ inline_data: { mime_type: 'image/png', data: 'A' } }), [false, true, null]],
    [said({ inlineData: { mimeType: 'application/pdf', data: 'A' } }), [false, false, null]],
    [said({ functionResponse: { name: 'f', response: {}, parts: [picture] } }), [false, true, null]],
    [thinking({ thinkingLevel: 'HIGH' }), [false, false, 'high']],
    [thinking({ thinkingBudget: -1 }), [false, false, null]],
    [thinking({ thinkingBudget: 0 }), [false, false, 'none']],
    [thinking({ thinkingBudget: 8_192 }), [false, false, 'medium']],
    [
      { ...said(), generation_config: { thinking_config: { thinking_budget: 32_000 } } },
      [false, false, 'high'],
    ],
  ]
  for (const [body, expected] of rows) {
    const { tools, images, effort } = new GeminiTraits({ ...body })
    assert.deepEqual([tools, images, effort], expected, JSON.stringify(body).slice(0, 200))
  }
  assert.equal(new GeminiTraits(said({ text: 'x', thoughtSignature: 'A' })).opaqueReasoning, true)
  assert.equal(new GeminiTraits(said({ text: 'x' })).opaqueReasoning, false)
})
