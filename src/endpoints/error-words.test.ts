// Errors of the gateway in the words and headers that other makers' clients look for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
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
