// Responses in a fleet: each gateway can immediately continue the responses of all other gateways, including stored
// responses.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetTests, instance, skip } from '../../fleet/test-fleet.ts'
import { openLink } from '../../store/postgres/link.ts'
import { samples as chat } from '../chat/test-samples.ts'
import { converse, keepsAnswers } from './test-continuations.ts'

const { freshDatabase } = fleetTests()

test('1,000 continuations without a pause, alternating between two gateways, all find the previous answer', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const config = 'routes: { auto: { targets: [ { model: alpha/m } ] } }'
  const dialects = { alpha: ['responses'] }
  const one = await instance(t, url, { config, dialects, providers: { alpha: keepsAnswers('one') } })
  const two = await instance(t, url, {
    ...{ config, dialects, providers: { alpha: keepsAnswers('two') }, name: 'two' },
  })
  assert.deepEqual(await converse([one.url, two.url], { count: 1_000, lanes: 4 }), [])
})

test('a response stored by one gateway can be continued, read and deleted at another, and deletion leaves nothing in the shared log', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const setup = {
    config: 'responses: { store: { enabled: true } }\nroutes: { auto: { targets: [ { model: alpha/m } ] } }',
    dialects: { alpha: ['chat'] },
    env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
    providers: {
      alpha: ((res) =>
        res.writeHead(200, { 'content-type': 'application/json' }).end(chat.answer('m', {}))) as ReturnType<
        typeof keepsAnswers
      >,
    },
  }
  const one = await instance(t, url, setup)
  const two = await instance(t, url, { ...setup, name: 'two' })
  const ask = (on: typeof one, body: object) =>
    on.get('/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', input: 'where to?', ...body }),
    })
  const { json: first } = await ask(one, {})
  const second = await ask(two, { input: 'and then?', previous_response_id: first.id })
  assert.equal(second.status, 200)
  assert.equal((two.upstream.alpha!.ledger.at(-1)!.json as any).messages.length, 3)
  // Two requests continue the same response at the same time.
  const both = await Promise.all([one, two].map((on) => ask(on, { previous_response_id: second.json.id })))
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  )
  assert.equal((await two.get(`/v1/responses/${first.id}`)).json.id, first.id)

  const link = openLink({ url, tls: 'verify' }, 'test')
  t.after(() => link.close())
  const rows = await link.query<{ id: string; sealed: string }>(
    'SELECT id, sealed FROM waybill.kept_responses',
  )
  assert.equal(rows.length, 4)
  assert.ok(rows.every(({ sealed }) => !Buffer.from(sealed, 'base64').includes('where to?')))
  assert.equal((await two.get(`/v1/responses/${first.id}`, { method: 'DELETE' })).status, 200)
  assert.equal((await one.get(`/v1/responses/${first.id}`)).status, 404)
  const left = await link.query('SELECT 1 FROM waybill.kept_responses WHERE id = ?', [first.id])
  assert.equal(left.length, 0)
})
