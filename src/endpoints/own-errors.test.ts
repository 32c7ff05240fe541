// Errors of the gateway itself, for clients that read headers, and keys that a provider repeats in an answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunk, DONE, stream } from '../../mocks/test-upstream.ts'
import { ask, providerKey, sharedGateways } from '../test/test-gateway.ts'

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

test('a provider’s key in a successful answer does not reach the client (KEEP-02)', async (t) => {
  const key = providerKey('alpha')
  const content = `you sent ${key}`
  const gateway = await sharedGateway(t, {
    providers: {
      alpha: (response, { json }) => {
        if (json.stream)
          return stream(
            chunk({ content }),
            chunk({}, { finish_reason: 'stop' }),
            DONE,
          )(response, json as never)
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify({
            model: 'm',
            choices: [{ index: 0, message: { content }, finish_reason: 'stop' }],
          }),
        )
      },
    },
  })
  const whole = await gateway.chat(ask('auto'))
  assert.equal(whole.json.choices[0].message.content, 'you sent ***')
  assert.equal(Number(whole.headers.get('content-length')), Buffer.byteLength(whole.text))
  const streamed = await gateway.chat(ask('auto', { stream: true }))
  assert.match(streamed.text, /you sent \*\*\*/)
  for (const { text } of [whole, streamed]) assert.ok(!text.includes(key))
})
