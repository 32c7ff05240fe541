// The OpenAPI document is valid, complete, and served under the same rules as other endpoints. In all tests,
// `test-gateway.ts` compares each answer that it reads with the documented shape.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { PASSTHROUGH_NAMES } from '../config/schema.ts'
import { errorSchema } from '../core/error-schema.ts'
import { CALLS, OTHERS, READS } from '../gateway/endpoints.ts'
import { AUTO, ask, testGateway } from '../test/test-gateway.ts'

test('/openapi.json is valid OpenAPI 3.1 and names every endpoint, every parameter and the authentication', async (t) => {
  const gateway = await testGateway(t)
  const { json } = await gateway.get('/openapi.json')
  const { valid, errors } = await new Validator().validate(structuredClone(json))
  assert.ok(valid, JSON.stringify(errors))
  const paths = [...READS, ...OTHERS, ...CALLS].map(({ path }) => path.replace('*', '{id}'))
  assert.deepEqual(Object.keys(json.paths).sort(), paths.sort())
  for (const [path, { get, post, delete: remove }] of Object.entries<any>(json.paths))
    assert.equal(
      path.includes('{id}'),
      (get ?? post ?? remove).parameters?.some((parameter: any) => parameter.in === 'path') ?? false,
      path,
    )
  const list = json.paths['/api/usage/request-logs'].get
  const names = list.parameters.map((parameter: any) => parameter.name)
  for (const name of ['limit', 'cursor', 'session_id', 'status', 'until'])
    assert.ok(names.includes(name), name)
  assert.equal(
    list.parameters.some((parameter: any) => parameter.required),
    false,
  )
  assert.equal(json.paths['/api/cloud/model/resolve'].get.parameters[0].required, true)
  assert.deepEqual(json.paths['/healthz'].get.security, [])
  assert.deepEqual(json.security, [{ bearer: [] }, { key: [] }])
  const live = json.paths['/v1/chat/completions'].post
  assert.deepEqual(live.requestBody.content['application/json'].schema, {
    $ref: '#/components/schemas/v1_chat_completions_request',
  })
  const { additionalProperties } = json.components.schemas.v1_chat_completions_request
  assert.notEqual(additionalProperties, false, 'what the gateway does not know is passed on (ROUTE-06)')
  assert.ok('X-Gateway-Request-Id' in live.responses[200].headers)
  for (const [, ref] of JSON.stringify(json).matchAll(/"\$ref":"#\/([^"]+)"/g))
    assert.ok(
      ref!.split('/').reduce((node: any, key) => node?.[key], json),
      `${ref} leads somewhere`,
    )
})

test('errors have the documented shape, and live answers have the documented headers (FAIL-01)', async (t) => {
  const config = `${AUTO}\npassthrough: [${PASSTHROUGH_NAMES.join(', ')}]`
  const gateway = await testGateway(t, { config })
  for (const path of [
    '/nothing',
    '/api/usage/request-logs?limit=x',
    '/api/usage/request-logs/x',
    '/v1/models/x',
  ])
    errorSchema.parse((await gateway.get(path)).json)
  errorSchema.parse((await gateway.chat('{')).json)
  const { json } = await gateway.get('/openapi.json')
  for (const endpoint of CALLS) {
    const { methods = ['POST'] } = endpoint
    const method = methods.includes('POST') ? 'POST' : methods[0]!
    const told = json.paths[endpoint.path.replace('*', '{id}')][method.toLowerCase()].responses.default
    const [, name] = told.content['application/json'].schema.$ref.split('/schemas/')
    assert.ok(json.components.schemas[name].properties.error, endpoint.path)
    const path = endpoint.path.replace('*', 'm')
    if (method !== 'POST') continue // relayed
    const body = endpoint.isOpen ? '{"model":"a","model":"b"}' : '{'
    const refused = await gateway.get(path, { method, body })
    endpoint.errorSchema.parse(refused.json)
  }
  const { headers } = await gateway.chat(ask('auto'), { 'x-session-id': 's' })
  const told = Object.keys(json.paths['/v1/chat/completions'].post.responses[200].headers)
  const sent = [...headers.keys()].filter((name) => name.startsWith('x-gateway-'))
  assert.deepEqual(told.map((name) => name.toLowerCase()).sort(), sent.sort())
})
