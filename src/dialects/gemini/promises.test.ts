// Both promises where calls are Gemini's: what is read or refused causes no inference, and whatever a body, a path or a
// query holds, every inference is on record and every error has the one shape. Kills are in src/sigkill.test.ts.
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

const GOOGLE = { 'content-type': 'application/json', 'x-goog-api-client': 'google-genai-sdk/9' }

test('reads of every kind by a client of this dialect cause no request to a provider (PURE-01)', async (t) => {
  const gateway = await testGateway(t, { apis: { alpha: ['gemini'] } })
  const paths = READS.map(({ path }) => path.replace('*', 'auto'))
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST'])
      await fetch(gateway.url + path, { method, headers: GOOGLE }).then((r) => r.text())
  for (const verb of ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent'])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH'])
      await fetch(`${gateway.url}/v1beta/models/auto:${verb}`, { method, headers: GOOGLE }).then((r) =>
        r.text(),
      )
  assert.equal(gateway.received(), 0)
})

const part = fc.oneof(
  fc.record({ text: fc.string({ unit: 'binary' }) }),
  fc.record({ inlineData: fc.jsonValue() }),
  fc.record({ functionCall: fc.jsonValue(), thoughtSignature: fc.string() }),
  fc.record({ functionResponse: fc.jsonValue() }),
  fc.jsonValue(),
)
const valid = fc.record(
  {
    contents: fc.array(fc.record({ role: fc.string(), parts: fc.array(part) })),
    model: fc.jsonValue(),
    systemInstruction: fc.jsonValue(),
    tools: fc.jsonValue(),
    generationConfig: fc.jsonValue(),
    generation_config: fc.record({ thinking_config: fc.jsonValue() }),
    generateContentRequest: fc.jsonValue(),
  },
  { requiredKeys: ['contents'] },
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
const model = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('auto', 'alpha/m', 'alpha%2Fm', 'alpha/x%20y', 'auto') },
  { weight: 1, arbitrary: fc.constantFrom('nowhere', 'alpha/', '__proto__', '%', '%2e%2e', 'auto:auto') },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 9 }).map((text) => encodeURIComponent(text)) },
)
const query = fc.oneof(
  fc.constantFrom('', '?alt=sse', '?alt=sse', '?alt=json', '?alt=sse&alt=x', '?&&=', '?%=%', '?key=k'),
  fc.string({ maxLength: 9 }).map((text) => `?${encodeURI(text).replaceAll('#', '')}`),
)

test('whatever is sent: one shape of errors, no inference where it is refused, one on record where it is not (FAIL-06, LOG-07, PURE-07)', async (t) => {
  t.diagnostic(`seed ${SEED}, ${CASES} cases (WAYBILL_FUZZ_SEED=${SEED} repeats them)`)
  const gateway = await testGateway(t, {
    providers: {
      alpha: (response, received) =>
        received.path.includes(':countTokens')
          ? void response.end('{"totalTokens":7}')
          : received.path.includes('alt=sse')
            ? stream(samples.stream('m'))(response, received)
            : void response.end(samples.answer('m', {})),
    },
    apis: { alpha: ['gemini'] },
    options: { log: SILENT },
  })
  const verbs = fc.constantFrom('generateContent', 'streamGenerateContent', 'countTokens')
  let calls = 0
  let counts = 0
  await fc.assert(
    fc.asyncProperty(body, model, verbs, query, async (text, model, verb, query) => {
      const before = gateway.received()
      const { status, json, headers } = await gateway.get(`/v1beta/models/${model}:${verb}${query}`, {
        method: 'POST',
        headers: GOOGLE,
        body: text,
      })
      const reached = gateway.received() - before
      if (status === 200) {
        if (verb === 'countTokens') counts++
        else calls++
        if (verb !== 'countTokens') assert.equal(reached, 1)
        return
      }
      assert.ok([400, 404, 405].includes(status), `${status}`)
      assert.equal(reached, 0)
      assert.deepEqual(Object.keys(json), ['error'])
      assert.deepEqual([json.error.code, typeof json.error.message], [status, 'string'])
      assert.equal(json.error.details[1].requestId, headers.get('x-request-id'))
    }),
    { numRuns: CASES, seed: SEED },
  )
  const { json } = await gateway.get('/api/analytics/auto-routing')
  t.diagnostic(`${calls} calls, ${counts} counts, ${gateway.received()} requests to the provider`)
  assert.equal(json.total_calls, calls)
  assert.ok(calls > CASES / 20 && counts > CASES / 20, 'many were good enough to reach the provider')
})
