// `request` of a target over real sockets: what the provider gets, through this route and otherwise.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail, type Received } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { ask, providerKey, testGateway } from '../test/test-gateway.ts'

test('a target gets its own headers and members; its route’s other targets and direct calls do not', async (t) => {
  const { chat, upstream } = await testGateway(t, {
    providers: { alpha: fail(503), beta: answer() },
    config: `routes:
  auto:
    targets:
      - { model: alpha/a, request: { headers: { X-Team: docs, user-agent: own }, set: { reasoning_effort: low, tags: [1, "é"] }, omit: [metadata, absent] } }
      - { model: beta/b }`,
  })
  const body = `{ "model": "auto", "metadata": { "a": [1, "}"] }, "reasoning_effort": "high", "seed": 1.50, "messages": [ { "role": "user", "content": "x" } ] }`
  assert.equal((await chat(body)).status, 200)
  const [first] = upstream.alpha!.ledger as [Received]
  assert.equal(first.headers['x-team'], 'docs')
  assert.equal(first.headers['user-agent'], 'own')
  assert.equal(first.headers.authorization, `Bearer ${providerKey('alpha')}`)
  assert.deepEqual(
    { ...first.json, messages: 0 },
    { model: 'a', messages: 0, reasoning_effort: 'low', tags: [1, 'é'], seed: 1.5 },
  )
  assert.match(first.text, /"seed": 1\.50/)
  const [second] = upstream.beta!.ledger as [Received]
  assert.equal(second.headers['x-team'], undefined)
  assert.equal(second.text, body.replace('"auto"', '"b"'))
  await chat(ask('alpha/a', { metadata: { a: 'b' } }))
  const direct = upstream.alpha!.ledger.at(-1)!
  assert.deepEqual(direct.json.metadata, { a: 'b' })
  assert.equal(direct.headers['x-team'], undefined)
})

test('what the gateway itself decides cannot be changed', () => {
  const cases: [string, RegExp][] = [
    ['headers: { Authorization: Bearer x }', /is written by the gateway, or holds a credential/],
    ['headers: { x-gateway-key: x }', /is written by the gateway/],
    ['headers: { "a b": x }', /must be the name of a header/],
    ['headers: { a: "x\\ny" }', /must consist of printable ASCII/],
    ['set: { model: other }', /cannot be changed here: model, stream/],
    ['omit: [stream]', /cannot be changed here: model, stream/],
  ]
  for (const [request, message] of cases)
    assert.throws(
      () =>
        parseConfig(
          `providers: { p: { dialect: chat, base_url: "https://a.example/v1" } }
routes: { r: { targets: [ { model: p/m, request: { ${request} } } ] } }`,
          'w.yaml',
          { env: {} },
        ),
      message,
      request,
    )
})
