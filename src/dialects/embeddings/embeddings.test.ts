// Embeddings and images through a gateway: the provider's request, the client's answer, the possible targets
// and the cost.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Script, stream } from '../../../mocks/test-upstream.ts'
import { providerKey, type Setup, sharedGateways } from '../../test/test-gateway.ts'
import { samples as images } from '../images/test-samples.ts'
import { samples } from './test-samples.ts'

const sharedGateway = sharedGateways()

const APIS = { alpha: ['embeddings', 'images'], beta: ['embeddings', 'images'] }

const start = async (t: TestContext, setup: Setup = {}) => {
  const gateway = await sharedGateway(t, {
    dialects: 'beta' in (setup.providers ?? {}) ? APIS : { alpha: APIS.alpha },
    ...setup,
  })
  const post = (path: string) => (body: object | string) =>
    gateway.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-client' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const recordOf = ({ headers }: { headers: Headers }) => gateway.record(headers.get('x-gateway-request-id'))
  return { ...gateway, recordOf, embed: post('/v1/embeddings'), draw: post('/v1/images/generations') }
}

const json =
  (text: string, status = 200): Script =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-ratelimit-remaining-requests': '7' })
      .end(text)
const failing: Script = json('{"error":{"message":"down","type":"server_error","code":null}}', 500)

test('numbers and base64 arrive unchanged in both directions, and usage is recorded with its price (EMB-01)', async (t) => {
  const config = `models: { alpha/m: { type: embedding, price: { input: 0.02, output: 0 } } }
routes: { vectors: { targets: [ { model: alpha/m } ] } }`
  const { embed, upstream, recordOf } = await start(t, { config })
  for (const [input, data] of [
    ['"x"', '[{"embedding":"zczMPQ==","index":0}]'],
    ['[[1,2,3],[4]]', '[{"index":1,"embedding":[0.10,1e-07]},{"index":0,"embedding":[-1.0,2]}]'],
  ]) {
    const body = `{"model": "vectors", "input": ${input}, "encoding_format": "base64", "dimensions": 2}`
    const text = `{"object": "list", "data": ${data}, "model": "m-1", "usage": {"prompt_tokens": 2000000, "total_tokens": 2000000}}`
    upstream.alpha!.script = json(text)
    const answer = await embed(body)
    assert.deepEqual([answer.status, answer.text], [200, text])
    assert.equal(answer.headers.get('x-ratelimit-remaining-requests'), '7')
    const received = upstream.alpha!.ledger.at(-1)!
    assert.equal(received.text, body.replace('"vectors"', '"m"'))
    assert.equal(received.path, '/v1/embeddings')
    assert.equal(received.headers.authorization, `Bearer ${providerKey('alpha')}`)
    const { tokens, cost_usd, response_model, endpoint, stream } = await recordOf(answer)
    assert.deepEqual([tokens.input, tokens.output, tokens.source], [2_000_000, 0, 'reported'])
    assert.deepEqual([cost_usd, response_model, endpoint, stream], [0.04, 'm-1', '/v1/embeddings', false])
  }
})

test('unless the operator allows other models, a call falls back only to the same model, and the reason is recorded (EMB-02)', async (t) => {
  const targets = '[ { model: alpha/m }, { model: beta/other }, { model: beta/org/m } ]'
  const config = `routes: { vectors: { targets: ${targets} }, any: { embeddings: any_model, targets: ${targets} } }
resilience: { cooldown: 0s }`
  const { embed, draw, upstream, recordOf } = await start(t, {
    providers: { alpha: failing, beta: json(samples.answer('m', {})) },
    config,
  })
  const answer = await embed({ model: 'vectors', input: 'x' })
  assert.deepEqual([answer.status, answer.headers.get('x-gateway-model')], [200, 'org/m'])
  const { decision } = await recordOf(answer)
  assert.deepEqual(decision.skipped, [
    { target: 'beta/other', reason: 'another model than m: vectors of two models do not mix' },
  ])
  assert.equal((await embed({ model: 'any', input: 'x' })).headers.get('x-gateway-model'), 'other')
  upstream.beta!.script = json(images.answer('other', {}))
  const drawn = await draw({ model: 'vectors', prompt: 'x' })
  assert.equal(drawn.headers.get('x-gateway-model'), 'other', 'pictures may come from any model')

  const asked = upstream.beta!.ledger.length
  upstream.beta!.script = failing
  assert.equal((await embed({ model: 'vectors', input: 'x' })).status, 500)
  assert.deepEqual(
    upstream.beta!.ledger.slice(asked).map(({ json }) => json.model),
    ['org/m'],
  )
})

test('an answer that contains vectors for many texts, written as numbers, is accepted', async (t) => {
  const { embed, upstream } = await start(t)
  const vector = `[${'0.0125,'.repeat(1_535)}1]`
  const text = `{"object":"list","data":[${Array(1_000).fill(`{"embedding":${vector}}`).join()}],"model":"m"}`
  upstream.alpha!.script = json(text)
  const answer = await embed({ model: 'alpha/m', input: ['x'] })
  assert.deepEqual([answer.status, answer.text.length], [200, text.length])
})

test('images are priced by usage or per image; without a price, their cost is unknown, never 0 (IMG-01)', async (t) => {
  const config = `models:
  alpha/tokens: { type: image, price: { input: 5, output: 40 } }
  alpha/pieces: { type: image, price: { input: 0, output: 0, image: 0.04 } }`
  const { draw, upstream, recordOf } = await start(t, { config })
  const usage = { input_tokens: 100, output_tokens: 1_000, input_tokens_details: { text_tokens: 100 } }
  const two = '{"created":1,"data":[{"url":"u"},{"url":"v"}]}'
  for (const [model, text, cost, source] of [
    ['alpha/tokens', images.answer('m', usage), 0.0405, 'reported'],
    ['alpha/tokens', two, null, null],
    ['alpha/pieces', two, 0.08, null],
    ['alpha/pieces', images.answer('m', usage), 0.04, 'reported'],
    ['alpha/unknown', images.answer('m', usage), null, 'reported'],
  ] as const) {
    upstream.alpha!.script = json(text)
    const answer = await draw({ model, prompt: 'a waybill' })
    assert.deepEqual([answer.status, answer.text], [200, text])
    const { cost_usd, tokens, price } = await recordOf(answer)
    assert.deepEqual([cost_usd, tokens.source], [cost, source], `${model}: ${text}`)
    if (model === 'alpha/pieces') assert.deepEqual(price.rates, { image: 0.04 })
  }
})

test('streamed images arrive byte for byte, and a broken stream ends with an error event', async (t) => {
  const { draw, upstream, recordOf } = await start(t)
  const events = images.stream('m')
  upstream.alpha!.script = stream(events)
  const answer = await draw({ model: 'alpha/m', prompt: 'x', stream: true })
  assert.equal(answer.text, events)
  const { state, tokens } = await recordOf(answer)
  assert.deepEqual([state, tokens.input, tokens.output], ['completed', 20, 7])
  const begin = events.split('event: image_generation.completed')[0]!
  upstream.alpha!.script = stream(begin)
  const ended = await draw({ model: 'alpha/m', prompt: 'x', stream: true })
  assert.match(ended.text, /Premature end/)
  upstream.alpha!.script = stream(
    `${begin}event: error\ndata: {"type":"error","code":"c","message":"no"}\n\n`,
  )
  const failed = await draw({ model: 'alpha/m', prompt: 'x', stream: true })
  assert.deepEqual((await recordOf(failed)).error_code, 'c')
})

test('a refused request reaches no provider and is answered with an error in OpenAI’s format; a provider’s refusal keeps its message', async (t) => {
  const { embed, draw, upstream, get, received } = await start(t)
  for (const [answer, status, code] of [
    [await embed('{'), 400, 'invalid_json'],
    [await embed({ model: 'alpha/m' }), 400, 'invalid_request'],
    [await draw({ model: 'alpha/m', prompt: 7 }), 400, 'invalid_request'],
    [await embed({ model: 'nobody', input: 'x' }), 404, 'model_not_found'],
    [await get('/v1/embeddings'), 405, 'method_not_allowed'],
  ] as const)
    assert.deepEqual([answer.status, answer.json.error.code], [status, code])
  assert.equal(received(), 0)
  const refusal = '{"error":{"message":"too many texts","type":"invalid_request_error","code":null}}'
  upstream.alpha!.script = json(refusal, 400)
  const refused = await embed({ model: 'alpha/m', input: 'x' })
  assert.deepEqual([refused.status, refused.text], [400, refusal])
  for (const noAnswer of ['{"choices":[]}', '<html>']) {
    upstream.alpha!.script = json(noAnswer)
    assert.equal((await embed({ model: 'alpha/m', input: 'x' })).json.error.code, 'upstream_invalid')
  }
})
