// Both promises where calls are responses: what is read or refused causes no inference, and whatever a body holds, every
// inference is on record and every error has the one shape. Kills are in src/sigkill.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stream } from '../../../mocks/stand-in.ts'
import { READS } from '../../endpoints.ts'
import { SILENT } from '../../log.ts'
import { testGateway } from '../../test-gateway.ts'
import { samples } from './test-samples.ts'

const CASES = Number(process.env.WAYBILL_FUZZ ?? (process.env.WAYBILL_TESTS === 'full' ? 3_000 : 300))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? Date.now() % 2 ** 31)
const CODEX = { 'content-type': 'application/json', originator: 'codex_exec', 'session-id': 's' }

test('reads by a client of this dialect cause no request to a provider (PURE-01)', async (t) => {
  const gateway = await testGateway(t, { apis: { alpha: ['responses'] } })
  const paths = ['/v1/responses', '/v1/responses/resp_1', '/v1/responses/resp_1/input_items']
  for (const path of [...READS.map(({ path }) => path.replace('*', 'auto')), ...paths])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE'])
      await fetch(gateway.url + path, { method, headers: CODEX }).then((r) => r.text())
  for (const path of paths.slice(1))
    await fetch(gateway.url + path, { method: 'POST', headers: CODEX, body: '{}' }).then((r) => r.text())
  assert.equal(gateway.received(), 0)
})

const part = fc.record({
  type: fc.constantFrom('input_text', 'input_image', 'input_file'),
  text: fc.string(),
})
const item = fc.oneof(
  fc.record({ role: fc.string(), content: fc.oneof(fc.string(), fc.array(part), fc.jsonValue()) }),
  fc.record({ type: fc.constant('function_call_output'), output: fc.jsonValue() }),
  fc.record({
    type: fc.constantFrom('reasoning', 'compaction'),
    encrypted_content: fc.oneof(fc.string(), fc.jsonValue()),
    content: fc.jsonValue(),
  }),
  fc.jsonValue(),
)
const valid = fc.record(
  {
    model: fc.constantFrom('auto', 'auto', 'auto', 'alpha/m', 'alpha/', 'nowhere', '__proto__', 'gpt-x'),
    input: fc.oneof(fc.string({ unit: 'binary' }), fc.array(item)),
    stream: fc.constantFrom(true, false, null),
    previous_response_id: fc.constantFrom(null, null, null, '', 'resp_of_nobody'),
    store: fc.jsonValue(),
    tools: fc.jsonValue(),
    reasoning: fc.jsonValue(),
    instructions: fc.jsonValue(),
    prompt_cache_key: fc.jsonValue(),
  },
  { requiredKeys: ['model', 'input'] },
)
const body = fc.oneof(
  { weight: 6, arbitrary: valid.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(valid, fc.nat(), fc.string({ unit: 'binary', maxLength: 2 }))
      .map(([value, at, piece]) => {
        const text = JSON.stringify(value)
        return text.slice(0, at % text.length) + piece + text.slice((at % text.length) + 1)
      }),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)

test('whatever a body holds: one shape of errors, no inference where refused, one on record where not (FAIL-06, LOG-07, PURE-07)', async (t) => {
  t.diagnostic(`seed ${SEED}, ${CASES} cases (WAYBILL_FUZZ_SEED=${SEED} repeats them)`)
  const gateway = await testGateway(t, {
    providers: {
      alpha: (response, received) =>
        received.json.stream === true
          ? stream(samples.stream('m'))(response, received)
          : void response.end(samples.answer('m', {})),
    },
    apis: { alpha: ['responses'] },
    options: { log: SILENT },
  })
  let calls = 0
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const before = gateway.received()
      const { status, json, headers } = await gateway.get('/v1/responses', {
        method: 'POST',
        headers: CODEX,
        body: text,
      })
      const reached = gateway.received() - before
      if (status === 200) {
        assert.equal(reached, 1)
        calls++
        return
      }
      assert.ok([400, 404].includes(status), `${status}`)
      assert.equal(reached, 0)
      assert.deepEqual(Object.keys(json), ['error', 'request_id'])
      assert.deepEqual(Object.keys(json.error), ['message', 'type', 'param', 'code'])
      assert.equal(headers.get('x-request-id'), json.request_id)
    }),
    { numRuns: CASES, seed: SEED },
  )
  const { json } = await gateway.get('/api/analytics/auto-routing')
  t.diagnostic(`${calls} calls, ${gateway.received()} requests to the provider`)
  assert.equal(json.total_calls, calls)
  assert.equal(gateway.received(), calls)
  assert.ok(calls > CASES / 20, 'many bodies were good enough to reach the provider')
})
