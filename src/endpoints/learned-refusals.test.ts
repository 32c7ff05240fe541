// GET /api/models/refusals: refusals that a gateway has learned, immediately after it learns them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { testGateway } from '../test/test-gateway.ts'

test('a learned refusal is listed in /api/models/refusals until it expires after seven days (FIT-03)', async (t) => {
  const error = { message: "Unsupported parameter: 'seed'", type: 'invalid_request_error', param: 'seed' }
  const gateway = await testGateway(t, {
    providers: {
      alpha: (response, received) =>
        (received.json as any).seed === undefined
          ? answer()(response, received)
          : void response
              .writeHead(400, { 'content-type': 'application/json' })
              .end(JSON.stringify({ error })),
    },
    config: 'routes: { auto: { on_refused: adjust, targets: [ { model: alpha/m } ] } }',
  })
  assert.deepEqual((await gateway.get('/api/models/refusals')).json, { data: [] })
  const said = await gateway.get('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', seed: 3, messages: [{ role: 'user', content: 'hi' }] }),
  })
  assert.equal(said.status, 200)
  const { data } = (await gateway.get('/api/models/refusals')).json
  assert.equal(data.length, 1)
  const { learned_at, until, ...refusal } = data[0]
  assert.deepEqual(refusal, {
    ...{ provider: 'alpha', model: 'm', parameter: 'seed', value: null },
    replaced: false,
  })
  assert.equal(Date.parse(until) - Date.parse(learned_at), 7 * 24 * 3_600_000)
})
