// Both promises for every dialect except chat: a read or a refused request causes no inference; whatever a body, a path
// or a query holds, every inference is on record and every error has the one shape of its dialect; a client that
// disconnects early is recorded, too. Chat is in src/test/fuzz.test.ts, kills of all dialects in src/test/sigkill.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { stream } from '../../mocks/test-upstream.ts'
import { SILENT } from '../core/process-log.ts'
import { READS } from '../gateway/endpoints.ts'
import { testGateway } from '../test/test-gateway.ts'
import { IS_FULL } from '../test/test-size.ts'
import { samples as embeddings } from './embeddings/test-samples.ts'
import { samples as gemini } from './gemini/test-samples.ts'
import { samples as images } from './images/test-samples.ts'
import { samples as messages } from './messages/test-samples.ts'
import { DIALECTS, type Dialects } from './registry.ts'
import { samples as responses } from './responses/test-samples.ts'
import type { Samples } from './test-sample-type.ts'

const CASES = Number(process.env.WAYBILL_FUZZ ?? (IS_FULL ? 3_000 : 300))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? Date.now() % 2 ** 31)

interface WayIn {
  readonly samples: Samples
  /** What tells a client of the dialect. */
  readonly headers: Readonly<Record<string, string>>
  /** Where calls arrive, `count` where lengths are asked for; a path and its query. */
  readonly path: fc.Arbitrary<string>
  readonly count?: RegExp
  /** What the provider says to such a question. */
  readonly counted?: string
  /** Paths beside these under which nothing may be spent. */
  readonly beside: readonly string[]
  readonly body: fc.Arbitrary<object>
  /** Whether an error has the shape of the dialect, and the id of the request in it. */
  readonly error: (json: any, status: number) => { shaped: boolean; id: string }
}

const json = fc.jsonValue()
const text = fc.string({ unit: 'binary' })
const model = fc.constantFrom(
  'auto',
  'auto',
  'auto',
  'alpha/m',
  'alpha/n',
  'alpha/',
  'nowhere',
  '__proto__',
  'gpt-x',
)
const streamed = fc.constantFrom(true, false, null)
const openAi: WayIn['error'] = ({ error, request_id: id, ...rest }) => ({
  shaped:
    Object.keys(rest).length === 0 &&
    Object.keys(error).join() === 'message,type,param,code' &&
    error.message !== '',
  id,
})

const WAYS: Readonly<Record<string, WayIn>> = {
  messages: {
    samples: messages,
    headers: { 'anthropic-version': '2023-06-01' },
    path: fc.constantFrom('/v1/messages', '/v1/messages?beta=true', '/v1/messages/count_tokens'),
    count: /count_tokens/,
    counted: '{"input_tokens":7}',
    beside: ['/v1/messages/batches', '/v1/complete'],
    body: fc.record(
      {
        model,
        max_tokens: fc.integer(),
        messages: fc.array(
          fc.record({
            role: fc.string(),
            content: fc.oneof(
              text,
              fc.array(
                fc.oneof(
                  fc.record({ type: fc.constant('text'), text }),
                  fc.record({ type: fc.constantFrom('image', 'document'), source: json }),
                  fc.record({ type: fc.constant('tool_result'), content: json }),
                  json,
                ),
              ),
            ),
          }),
        ),
        stream: streamed,
        system: json,
        tools: json,
        thinking: json,
        output_config: json,
        metadata: fc.oneof(json, fc.record({ user_id: fc.string() })),
      },
      { requiredKeys: ['model', 'messages'] },
    ),
    error: ({ type, error, request_id: id, ...rest }) => ({
      shaped:
        Object.keys(rest).length === 0 &&
        type === 'error' &&
        typeof error.message === 'string' &&
        ['invalid_request_error', 'not_found_error'].includes(error.type),
      id,
    }),
  },
  responses: {
    samples: responses,
    headers: { originator: 'codex_exec', 'session-id': 's' },
    path: fc.constant('/v1/responses'),
    beside: ['/v1/responses/resp_1', '/v1/responses/resp_1/input_items'],
    body: fc.record(
      {
        model,
        input: fc.oneof(
          text,
          fc.array(
            fc.oneof(
              fc.record({ role: fc.string(), content: fc.oneof(text, json) }),
              fc.record({ type: fc.constant('function_call_output'), output: json }),
              fc.record({
                type: fc.constantFrom('reasoning', 'compaction'),
                encrypted_content: json,
                content: json,
              }),
              json,
            ),
          ),
        ),
        stream: streamed,
        previous_response_id: fc.constantFrom(null, null, null, '', 'resp_of_nobody'),
        store: json,
        tools: json,
        reasoning: json,
        instructions: json,
        prompt_cache_key: json,
      },
      { requiredKeys: ['model', 'input'] },
    ),
    error: openAi,
  },
  gemini: {
    samples: gemini,
    headers: { 'x-goog-api-client': 'google-genai-sdk/9' },
    path: fc
      .tuple(
        fc.oneof(
          { weight: 5, arbitrary: fc.constantFrom('auto', 'alpha/m', 'alpha%2Fm', 'alpha/x%20y', 'auto') },
          {
            weight: 1,
            arbitrary: fc.constantFrom('nowhere', 'alpha/', '__proto__', '%', '%2e%2e', 'auto:auto'),
          },
          { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 9 }).map(encodeURIComponent) },
        ),
        fc.constantFrom('generateContent', 'streamGenerateContent', 'countTokens'),
        fc.oneof(
          fc.constantFrom(
            '',
            '?alt=sse',
            '?alt=sse',
            '?alt=json',
            '?alt=sse&alt=x',
            '?&&=',
            '?%=%',
            '?key=k',
          ),
          fc.string({ maxLength: 9 }).map((query) => `?${encodeURI(query).replaceAll('#', '')}`),
        ),
      )
      .map(([model, verb, query]) => `/v1beta/models/${model}:${verb}${query}`),
    count: /:countTokens/,
    counted: '{"totalTokens":7}',
    beside: ['/v1beta/models/auto:generateContent', '/v1beta/models/auto:embedContent'],
    body: fc.record(
      {
        contents: fc.array(
          fc.record({
            role: fc.string(),
            parts: fc.array(
              fc.oneof(
                fc.record({ text }),
                fc.record({ inlineData: json }),
                fc.record({ functionCall: json, thoughtSignature: fc.string() }),
                fc.record({ functionResponse: json }),
                json,
              ),
            ),
          }),
        ),
        model: json,
        systemInstruction: json,
        tools: json,
        generationConfig: json,
        generation_config: fc.record({ thinking_config: json }),
        generateContentRequest: json,
      },
      { requiredKeys: ['contents'] },
    ),
    error: ({ error, ...rest }, status) => ({
      shaped: Object.keys(rest).length === 0 && error.code === status && typeof error.message === 'string',
      id: error.details[1].requestId,
    }),
  },
  embeddings: {
    samples: embeddings,
    headers: {},
    path: fc.constant('/v1/embeddings'),
    beside: ['/v1/embeddings/x'],
    body: fc.record(
      {
        model,
        input: fc.oneof(text, fc.array(text), json),
        encoding_format: json,
        dimensions: json,
        user: json,
      },
      { requiredKeys: ['model', 'input'] },
    ),
    error: openAi,
  },
  images: {
    samples: images,
    headers: {},
    path: fc.constant('/v1/images/generations'),
    beside: ['/v1/images/edits', '/v1/images/variations'],
    body: fc.record(
      { model, prompt: fc.oneof(text, text, json), stream: streamed, n: json, size: json },
      { requiredKeys: ['model', 'prompt'] },
    ),
    error: openAi,
  },
}

/** A good body, one with a character put wrong, other JSON, anything. */
const bodyOf = (good: fc.Arbitrary<object>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: good.map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: json.map((value) => JSON.stringify(value)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(good, fc.nat(), fc.string({ unit: 'binary', maxLength: 2 }))
        .map(([value, where, piece]) => {
          const text = JSON.stringify(value)
          const at = where % text.length
          return text.slice(0, at) + piece + text.slice(at + 1)
        }),
    },
    { weight: 1, arbitrary: text },
  )

for (const [name, way] of Object.entries(WAYS)) {
  const { samples, count, counted } = way
  const headers = { 'content-type': 'application/json', ...way.headers }
  const dialects = { alpha: [name] }

  test(`${name}: reads of every kind cause no request to a provider (PURE-01)`, async (t) => {
    const gateway = await testGateway(t, { dialects })
    const paths = READS.map(({ path }) => path.replace('*', 'auto'))
    const [own] = fc.sample(way.path, 1)
    for (const path of [...paths, own!, ...way.beside])
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH'])
        await fetch(gateway.url + path, { method, headers }).then((answer) => answer.text())
    for (const path of paths)
      await fetch(gateway.url + path, { method: 'POST', headers, body: '{}' }).then((answer) => answer.text())
    assert.equal(gateway.received(), 0)
  })

  test(`${name}: any request: errors have one shape; a refused request causes no inference, an accepted one is recorded (FAIL-06, LOG-07, PURE-07)`, async (t) => {
    t.diagnostic(`seed ${SEED}, ${CASES} cases (WAYBILL_FUZZ_SEED=${SEED} repeats them)`)
    const gateway = await testGateway(t, {
      providers: {
        alpha: (response, received) =>
          count?.test(received.path)
            ? void response.end(counted)
            : received.json.stream === true || received.path.includes('alt=sse')
              ? stream(samples.stream('m'))(response, received)
              : void response.end(samples.answer('m', {})),
      },
      dialects,
      options: { log: SILENT },
    })
    let calls = 0
    let counts = 0
    await fc.assert(
      fc.asyncProperty(bodyOf(way.body), way.path, async (body, path) => {
        const before = gateway.received()
        const { status, json, headers: said } = await gateway.get(path, { method: 'POST', headers, body })
        const reached = gateway.received() - before
        const isCount = count?.test(path) === true
        if (status === 200) {
          if (isCount) counts++
          else calls++
          // A count that no provider can be asked for is estimated.
          assert.ok(reached === 1 || (isCount && reached === 0), `${reached} requests`)
          return
        }
        assert.ok([400, 404, 405].includes(status), `${status}`)
        assert.equal(reached, 0)
        const { shaped, id } = way.error(json, status)
        assert.ok(shaped, JSON.stringify(json))
        assert.equal(said.get(name === 'messages' ? 'request-id' : 'x-request-id'), id)
      }),
      { numRuns: CASES, seed: SEED },
    )
    const { json: sums } = await gateway.get('/api/analytics/auto-routing')
    t.diagnostic(`${calls} calls, ${counts} counts, ${gateway.received()} requests to the provider`)
    assert.equal(sums.total_calls, calls)
    assert.ok(
      calls > CASES / 20 && (!count || counts > CASES / 50),
      'many were good enough to reach the provider',
    )
  })

  if (samples.stream('m') !== '')
    test(`${name}: a client that leaves half-way: the provider is let go of, and the record says what is known (USE-07)`, async (t) => {
      const [first] = samples.stream('m').split(/(?<=\n\r?\n)/)
      const { path } = (DIALECTS as Dialects)[name]!.client
      const at = samples.arrival?.('auto', true) ?? { path, rest: '', query: '' }
      const gateway = await testGateway(t, { providers: { alpha: stream(first!, 60_000) }, dialects })
      const leave = new AbortController()
      const response = await fetch(`${gateway.url}${at.path.replace('*', at.rest)}?${at.query}`, {
        method: 'POST',
        headers,
        body: samples.request('auto', true),
        signal: leave.signal,
      })
      await response.body!.getReader().read()
      leave.abort()
      const record = await gateway.record(response.headers.get('x-gateway-request-id'))
      // Gemini counts in every event.
      const source = name === 'gemini' ? 'reported' : 'estimated'
      assert.deepEqual([record.state, record.status, record.tokens.source], ['aborted', 499, source])
      for (let tries = 0; tries < 200 && gateway.upstream.alpha!.abandoned === 0; tries++) await sleep(10)
      assert.equal(gateway.upstream.alpha!.abandoned, 1)
    })
}
