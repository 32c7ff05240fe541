// Errors of the gateway in the words and headers that other makers' clients look for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail, type Script, stream } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })
const CONFIG = `routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${'a'.repeat(64)}" } ]`

for (const [name, headers] of [
  ['none', {}],
  ['an unknown one', as('nobody')],
  ['an empty one', { authorization: 'Bearer ' }],
] as const)
  test(`a call with a wrong key (${name}) is refused with the words that clients look for`, async (t) => {
    const gateway = await testGateway(t, { config: CONFIG })
    const got = await gateway.chat(ask('auto'), headers)
    assert.equal(got.status, 401)
    assert.match(got.json.error.message, /^Incorrect API key provided/)
    assert.equal(got.json.error.code, 'invalid_api_key')
  })

test('a gateway error has the request’s id in x-request-id, where SDKs look for it', async (t) => {
  const gateway = await testGateway(t)
  for (const got of [await gateway.chat(ask('nowhere')), await gateway.get('/nothing')])
    assert.equal(got.headers.get('x-request-id'), got.json.request_id)
})

test('a request to an unknown dialect’s path is refused with a message that names the path for calls', async (t) => {
  const gateway = await testGateway(t)
  const got = await gateway.get('/v1/no-such-dialect', { method: 'POST', body: '{}' })
  assert.equal(got.status, 404)
  assert.match(got.json.error.message, /POST \/v1\/chat\/completions/)
  assert.match(got.json.error.message, /\/openapi\.json/)
})

const SECRET = 'The launch code of the lighthouse is seven. 灯台の発射コードは七です。'
const failing = (message: string, status = 400): Script => fail(status, {}, { message })

test("the record keeps the provider's sentence about a failure, without what it repeats of the request", async (t) => {
  const gateway = await testGateway(t)
  const sentenceOf = async (script: Script, more: object = {}) => {
    gateway.upstream.alpha!.script = script
    const messages = [{ role: 'user', content: SECRET }]
    const got = await gateway.chat(
      ask('alpha/model-a', { messages, user: 'hunter2', temperature: 7, ...more }),
    )
    return (await gateway.record(got.headers.get('x-gateway-request-id'))).attempt_log.at(-1).refusal
  }
  for (const [said, kept] of [
    ['This model has a maximum of 8192 tokens.', 'This model has a maximum of 8192 tokens.'],
    [`'${SECRET}' is not allowed here.`, /^…[' ]*is not allowed here\.$/],
    [`No: ${SECRET}`, /^.{0,4}…$/],
    ['Do not ask for the launch code of the lighthouse, please.', /^Do not ask fo?r? ?….{0,4}ease\.$/],
    ['これは灯台の発射コードは七です。と同じ', /^[これは]{0,3}…[と同じ]{0,3}$/],
    ['`hunter2` is no user.', '`…` is no user.'],
    ["'temperature' of 'model-a' goes up to 2.", "'temperature' of 'model-a' goes up to 2."],
    ["Expected 'tools[0].function.name'.", "Expected 'tools[0].function.name'."],
  ] as const) {
    const found = await sentenceOf(failing(said))
    if (typeof kept === 'string') assert.equal(found, kept)
    else assert.match(found, kept)
  }
  assert.equal(await sentenceOf(failing('Overloaded.', 529)), 'Overloaded.')
  assert.equal(await sentenceOf(failing('Incorrect key sk-12', 401)), null)
  assert.equal(await sentenceOf(answer()), null)
  assert.equal((await sentenceOf(failing('x'.repeat(10_000)))).length, 256)
  assert.equal(await sentenceOf(failing('Too long.', 413), { user: 'u'.repeat(2 ** 21) }), null)
  const broken = stream('data: {"error":{"message":"The worker died.","code":"dead"}}\n\n')
  assert.equal(await sentenceOf(broken, { stream: true }), 'The worker died.')
  const late = stream(
    'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n',
    50,
    `data: {"error":{"message":"Died at: ${SECRET}","code":"dead"}}\n\n`,
  )
  assert.match(await sentenceOf(late, { stream: true }), /^Died.{0,5}…$/)
})
