// A member by which the gateway decides may be in a request only once, over HTTP and over a WebSocket.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../test/test-gateway.ts'
import { openSocket } from '../test/test-socket.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const BEGIN =
  '"model":"auto","input":"x","messages":[{"role":"user","content":"say \\"model\\" and \\"n\\""}]'

const REFUSED = [
  ['"model":"alpha/other"', 'model'],
  ['"mod\\u0065l":"alpha/other"', 'model'],
  ['"background":true,"background":false', 'background'],
  ['"stream":true,"stream":false', 'stream'],
  ['"store":true,"store":false', 'store'],
  ['"n":1,"n":9', 'n'],
  ['"max_tokens":1,"max_tokens":9', 'max_tokens'],
  ['"max_output_tokens":1,"tools":[],"max_output_tokens":9', 'max_output_tokens'],
  ['"service_tier":"flex","service_tier":"priority"', 'service_tier'],
  ['"generationConfig":{"maxOutputTokens":1,"maxOutputTokens":9}', 'maxOutputTokens'],
  ['"generationConfig":{},"generationConfig":{"maxOutputTokens":9}', 'generationConfig'],
] as const

const ACCEPTED = [
  '"n":1',
  '"tools":[{"n":1,"model":1,"x":{"model":2}}],"metadata":{"model":"model"}',
  '"x":1,"x":2',
]

test('a repeated member by which the gateway decides is refused in every dialect, and nothing is sent', async (t) => {
  const gateway = await testGateway(t, { dialects: { alpha: ['chat', 'responses', 'messages'] } })
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages'])
    for (const [more, param] of REFUSED) {
      const body = `{${BEGIN},${more}}`
      const { status, json } = await gateway.get(path, { method: 'POST', headers: JSON_TYPE, body })
      assert.equal(status, 400, `${path} ${more}`)
      assert.match(json.error.message, new RegExp(`^${param}: is there twice`))
    }
  assert.equal(gateway.received(), 0)
  for (const more of ACCEPTED) {
    const { status } = await gateway.chat(`{${BEGIN},${more}}`)
    assert.equal(status, 200, more)
  }
})

test('a repeated member is refused over a WebSocket, too', async (t) => {
  const gateway = await testGateway(t, { dialects: { alpha: ['responses'] } })
  const socket = await openSocket(t, gateway.url)
  socket.send(`{"type":"response.create","model":"auto","input":"x","background":true,"background":false}`)
  const event = await socket.next()
  assert.match(JSON.stringify(event), /background: is there twice/)
  assert.equal(gateway.received(), 0)
})
