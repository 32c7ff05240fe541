// GET /api/usage/programs counts the calls of each program.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

test('each program has the number of its calls, most calls first', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: answer() } })
  for (const program of ['agent/1.0', 'agent/1.0', 'editor/2.0'])
    await gateway.chat(ask('alpha/model-a'), { 'user-agent': program })
  const { status, json } = await gateway.get('/api/usage/programs')
  assert.equal(status, 200)
  assert.deepEqual(json.data, [
    { client: 'agent/1.0', calls: 2 },
    { client: 'editor/2.0', calls: 1 },
  ])
})
