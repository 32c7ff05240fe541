// Both promises where calls are messages: what is read or refused causes no inference, and whatever a body holds, every
// inference is on record and every error has the one shape. Kills are in src/sigkill.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stream } from '../../../mocks/stand-in.ts'
import { IS_FULL } from '../../../mocks/test-size.ts'
import { READS } from '../../endpoints.ts'
import { SILENT } from '../../log.ts'
import { testGateway } from '../../test-gateway.ts'
import { samples } from './test-samples.ts'

const CASES = Number(process.env.WAYBILL_FUZZ ?? (IS_FULL ? 3_000 : 300))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? Date.now() % 2 ** 31)

const ANTHROPIC = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }

test('reads of every kind by a client of this dialect cause no request to a provider (PURE-01)', async (t) => {
  const gateway = await testGateway(t, { apis: { alpha: ['messages'] } })
  for (const { path } of READS)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST'])
      await fetch(gateway.url + path.replace('*', 'auto'), { method, headers: ANTHROPIC }).then((r) =>
        r.text(),
      )
  for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/v1/messages/batches', '/v1/complete'])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE'])
      await fetch(gateway.url + path, { method, headers: ANTHROPIC }).then((r) => r.text())
  assert.equal(gateway.received(), 0)
})

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) }),
  fc.record({ type: fc.constant('image'), source: fc.jsonValue() }),
  fc.record({ type: fc.constant('tool_result'), content: fc.jsonValue() }),
  fc.record({ type: fc.constant('document'), source: fc.jsonValue() }),
  fc.jsonValue(),
)
const valid = fc.record(
  {
    model: fc.constantFrom(
      'auto',
      'auto',
      'auto',
      'alpha/m',
      'alpha/n',
      'alpha/',
      'nowhere',
      '__proto__',
      'claude-x',
    ),
    max_tokens: fc.integer(),
    messages: fc.array(fc.record({ role: fc.string(), content: fc.oneof(fc.string(), fc.array(block)) })),
    stream: fc.constantFrom(true, false, null),
    system: fc.jsonValue(),
    tools: fc.jsonValue(),
    thinking: fc.jsonValue(),
    output_config: fc.jsonValue(),
    metadata: fc.oneof(fc.jsonValue(), fc.record({ user_id: fc.string() })),
  },
  { requiredKeys: ['model', 'messages'] },
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

test('whatever a body holds: one shape of errors, no inference where it is refused, one on record where it is not (FAIL-06, LOG-07, PURE-07)', async (t) => {
  t.diagnostic(`seed ${SEED}, ${CASES} cases (WAYBILL_FUZZ_SEED=${SEED} repeats them)`)
  const gateway = await testGateway(t, {
    providers: {
      alpha: (response, received) =>
        received.path.includes('count_tokens')
          ? void response.end('{"input_tokens":7}')
          : received.json.stream === true
            ? stream(samples.stream('m'))(response, received)
            : void response.end(samples.answer('m', {})),
    },
    apis: { alpha: ['messages'] },
    options: { log: SILENT },
  })
  let calls = 0
  let counts = 0
  await fc.assert(
    fc.asyncProperty(body, fc.boolean(), async (text, isCount) => {
      const before = gateway.received()
      const { status, json, headers } = await gateway.get(`/v1/messages${isCount ? '/count_tokens' : ''}`, {
        method: 'POST',
        headers: ANTHROPIC,
        body: text,
      })
      const reached = gateway.received() - before
      if (status === 200) {
        assert.equal(reached, 1)
        if (isCount) counts++
        else calls++
        return
      }
      assert.ok([400, 404].includes(status), `${status}`)
      assert.equal(reached, 0)
      assert.deepEqual(Object.keys(json), ['type', 'error', 'request_id'])
      assert.deepEqual([json.type, typeof json.error.message], ['error', 'string'])
      assert.ok(['invalid_request_error', 'not_found_error'].includes(json.error.type))
      assert.equal(headers.get('request-id'), json.request_id)
    }),
    { numRuns: CASES, seed: SEED },
  )
  const { json } = await gateway.get('/api/analytics/auto-routing')
  t.diagnostic(`${calls} calls, ${counts} counts, ${gateway.received()} requests to the provider`)
  assert.equal(json.total_calls, calls)
  assert.equal(gateway.received(), calls + counts)
  assert.ok(calls > CASES / 20 && counts > CASES / 20, 'many bodies were good enough to reach the provider')
})
