// GET /api/usage/programs of a fleet counts the calls of all its gateways.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetTests, instance, skip } from '../fleet/test-fleet.ts'
import { ask } from '../test/test-gateway.ts'

const { freshDatabase } = fleetTests()

test('each program has the number of its calls at all gateways of the fleet', { skip }, async (t) => {
  const url = await freshDatabase()
  const [one, two] = [await instance(t, url), await instance(t, url, { name: 'two', durability: 'shared' })]
  await one.chat(ask('auto'), { 'user-agent': 'agent/1.0' })
  await two.chat(ask('auto'), { 'user-agent': 'agent/1.0' })
  await two.chat(ask('auto'), { 'user-agent': 'editor/2.0' })
  const { json } = await one.get('/api/usage/programs')
  assert.deepEqual(json.data, [
    { client: 'agent/1.0', calls: 2 },
    { client: 'editor/2.0', calls: 1 },
  ])
})
