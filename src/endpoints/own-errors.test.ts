// Errors of the gateway itself, for clients that read headers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, sharedGateways } from '../test/test-gateway.ts'

const sharedGateway = sharedGateways()

test('every gateway error has the request’s id in both x-request-id and the body', async (t) => {
  const gateway = await sharedGateway(t)
  for (const path of ['/v1/chat/completions', '/nowhere', '/api/sessions?limit=x', '/v1/models/none']) {
    const { status, headers, json } = await gateway.get(path)
    assert.ok(status >= 400, path)
    assert.equal(headers.get('x-request-id'), json.request_id, path)
  }
  const { headers, json } = await gateway.chat(ask('nobody/knows'))
  assert.match(json.request_id, /^[0-9a-f-]{36}$/)
  assert.equal(headers.get('x-request-id'), json.request_id)
})
