// One table of cases for every dialect: streams, errors, unusual usage and requests. Everything tested here
// must hold for any dialect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimOf } from '../core/budget.ts'
import { GatewayError } from '../core/errors.ts'
import type { Pricer } from '../pricing/pricing.ts'
import { EventReader } from '../providers/event-reader.ts'
import { processorMs } from '../test/test-processor-time.ts'
import type { ClientRequest } from './blocks.ts'
import type { Dialect } from './dialect.ts'
import type { Samples } from './test-sample-type.ts'
import { ALL } from './test-samples.ts'

const PROVIDER = { basePath: '/base', key: 'sk-secret-key' }

type Arrival = ReturnType<NonNullable<Samples['arrival']>>

function parse({ client }: Dialect, text: string, headers = {}, arrival?: Arrival): ClientRequest {
  const plain = { path: client.path, rest: 'm', query: '' }
  return client.parse({ text, json: JSON.parse(text), headers, ...plain, ...arrival }).request
}

/** Returns the events read from a stream in chunks of the given size. */
function readStream({ upstream }: Dialect, text: string, size: number) {
  const reader = new EventReader(upstream.openStream())
  const bytes = Buffer.from(text)
  const parts = []
  for (let at = 0; at < bytes.length; at += size)
    parts.push(...reader.push(Buffer.from(bytes.subarray(at, at + size))))
  const events = parts.flatMap(({ parsed }) => (parsed ? [parsed] : []))
  return {
    text: events.map((event) => event.text).join(''),
    tokens: events.reduce((last, { tokens }) => tokens ?? last, events[0]!.tokens),
    model: events.find(({ model }) => model !== null)?.model,
    ends: events.filter(({ done }) => done).length,
    finished: events.some(({ finished }) => finished),
    errors: events.filter(({ error }) => error !== null).length,
    bytes: Buffer.concat(parts.map((part) => part.bytes)).toString(),
  }
}

for (const [name, dialect, samples] of ALL) {
  const { client, upstream } = dialect
  test(`${name}: chunk sizes do not change how a stream is read, and no byte is lost (FLOW-02)`, (t) => {
    if (samples.stream('m') === '') return t.skip('its answers are not streamed')
    const text = samples.stream('m')
    for (let size = 1; size <= 64; size++)
      assert.deepEqual(
        readStream(dialect, text, size),
        { model: 'm', ends: 1, ...samples.read, finished: true, errors: 0, bytes: text },
        `in chunks of ${size}`,
      )
  })

  test(`${name}: the processor time for a usage grows with the number of its members, not with the square of it`, () => {
    const members = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`part_${n}_time`, n + 1]))
    const begin = processorMs()
    tokens(dialect, samples, members)
    assert.ok(processorMs() - begin < 2_000, `${processorMs() - begin} ms`)
  })

  test(`${name}: a token count that is not a whole number is treated as missing, but zero is treated as zero (USE-04)`, () => {
    for (const [member, kind] of Object.entries(samples.usage)) {
      for (const odd of [1.5, -1, '7.5', 'x', 1e300, null, true, [], {}, [7]])
        assert.equal(tokens(dialect, samples, { [member]: odd })?.[kind] ?? null, null, JSON.stringify(odd))
      assert.equal(tokens(dialect, samples, { [member]: 0 })?.[kind], 0)
      const only = tokens(dialect, samples, { [member]: 7 })!
      for (const other of ['input', 'output'] as const)
        assert.equal(
          only[other],
          other === kind ? 7 : (samples.untold ?? null),
          `${other} where only ${member} is told`,
        )
    }
  })

  test(`${name}: a whole answer is read, and any other text is refused`, () => {
    for (const text of samples.noAnswers) assert.throws(() => upstream.readAnswer(text), text)
    const answer = upstream.readAnswer(samples.answer('m', {}))
    assert.deepEqual([answer.model, answer.finished, answer.error], ['m', true, null])
  })

  test(`${name}: errors are parsed, and other strings are not read as errors`, () => {
    for (const [text, expected] of samples.errors) assert.deepEqual(upstream.readError(text), expected, text)
  })

  test(`${name}: the gateway's own errors have the dialect's format, both as whole answers and in a stream`, () => {
    const error = new GatewayError('upstream_timeout', 'It took "too" long.\nAgain?')
    assert.equal(upstream.readError(client.errorBody(error, 'id-1'))?.message, error.message)
    if (samples.stream('m') === '') return
    const { errors, bytes } = readStream(dialect, client.errorEvent(error, 'id-1', 0), 1_000)
    assert.equal(errors, 1)
    assert.match(bytes, /id-1/)
  })

  test(`${name}: only the model in a request changes, and the request carries only the provider's key (ROUTE-06)`, () => {
    const text = samples.request('auto/ü', false)
    const headers = { authorization: 'Bearer client-key', 'x-api-key': 'client-key', cookie: 'c=1' }
    const arrival = samples.arrival?.('auto/ü', false)
    const request = parse(dialect, text, headers, arrival)
    assert.equal(request.model, 'auto/ü')
    const sent = upstream.request(request, 'real "model"', PROVIDER)
    assert.equal(sent.body, text.replace('"auto/ü"', '"real \\"model\\""'))
    if (arrival) assert.match(sent.path, /real%20%22model%22/)
    assert.ok(sent.path.startsWith('/base/'))
    assert.doesNotMatch(sent.headers.join('\n'), /client-key|c=1/)
    assert.ok(sent.headers.some((value) => value.includes(PROVIDER.key)))
    assert.doesNotMatch(
      upstream.request(parse(dialect, text), 'm', { ...PROVIDER, key: null }).headers.join(),
      /null/,
    )
  })

  test(`${name}: an invalid body is refused with an error that names the wrong field (FAIL-02)`, () => {
    for (const text of samples.noRequests)
      assert.throws(
        () => parse(dialect, text),
        (error) => error instanceof GatewayError && error.code === 'invalid_request' && error.param !== null,
        text,
      )
  })

  test(`${name}: a budget reserves the requested output tokens`, (t) => {
    if (samples.limit === null) return t.skip('its requests set no limit')
    const body = { ...JSON.parse(samples.request('m', false)), ...samples.limit(777) }
    const target = { provider: 'alpha', model: 'm', tier: null, weight: 1 }
    const price: Pricer = (_, tokens) => ({ usd: tokens?.output ?? null, missing: [], price: null })
    const call = {
      callId: 'c',
      sessionId: null,
      keyName: 'ann',
      targets: [target],
      textTokens: 1,
      body,
      price,
      at: 0,
    }
    assert.equal(claimOf(call).usd, 777)
  })

  test(`${name}: equivalent requests share a cached answer`, () => {
    const identity = (text: string) => client.cacheIdentity(parse(dialect, text))
    const text = samples.request('m', false)
    assert.equal(identity(text), identity(text.replaceAll(', ', ' ,\n')))
    assert.notEqual(identity(text), identity(text.replace('1.0', '1.1')))
    assert.equal(identity(text.replace('{', '{"unknown": 1, ')), null, 'a member that appears twice')
  })

  test(`${name}: renaming the model in an answer changes no other byte`, () => {
    const text = samples.answer('theirs', {})
    assert.equal(client.renameModel(text, '"mine"'), text.replace('"theirs"', '"mine"'))
  })

  test(`${name}: a request of any nesting depth can be read, looked up in the cache and sent`, () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    for (const stream of [true, false]) {
      const request = parse(
        dialect,
        samples.request('m', stream).replace('1.0', deep),
        {},
        samples.arrival?.('m', stream),
      )
      client.cacheIdentity(request)
      assert.ok(upstream.request(request, 'n', PROVIDER).body.includes(deep))
      assert.ok(client.estimateInput(request) > 0)
    }
  })
}

const tokens = ({ upstream }: Dialect, samples: Samples, usage: object) =>
  upstream.readAnswer(samples.answer('m', usage)).tokens
