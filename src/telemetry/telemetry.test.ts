// Traces over a real socket: a collector that takes OTLP, its bytes read by a protobuf decoder of the test's own.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, chunk, DONE, fail, stream, usageChunk } from '../../mocks/stand-in.ts'
import { ask, slowness, type TestGateway, TWO_TARGETS, testGateway } from '../test-gateway.ts'
import { NAMES } from './names.ts'

/** A field of a protobuf message: its number and its bytes or its number. */
type Fields = Map<number, (Buffer | bigint)[]>

/** The wire format of protobuf, and nothing else. */
function decode(bytes: Buffer): Fields {
  const fields: Fields = new Map()
  let at = 0
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const wire = tag & 7
    const size = wire === 2 ? Number(varint()) : wire === 1 ? 8 : wire === 5 ? 4 : 0
    const value = wire === 0 ? varint() : bytes.subarray(at, at + size)
    at += size
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}
const messages = (fields: Fields, n: number): Fields[] =>
  (fields.get(n) ?? []).map((each) => decode(each as Buffer))
const text = (fields: Fields, n: number): string => String(fields.get(n)?.[0] ?? '')
const hex = (fields: Fields, n: number): string =>
  ((fields.get(n)?.[0] ?? Buffer.alloc(0)) as Buffer).toString('hex')

function attributes(fields: Fields, n: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, n).map((pair) => {
      const value = decode(pair.get(2)![0] as Buffer)
      const read = value.has(1)
        ? text(value, 1)
        : value.has(2)
          ? value.get(2)![0] === 1n
          : value.has(3)
            ? Number(value.get(3)![0])
            : (value.get(4)![0] as Buffer).readDoubleLE()
      return [text(pair, 1), read]
    }),
  )
}

interface SeenSpan {
  trace: string
  id: string
  parent: string
  name: string
  kind: number
  error: boolean
  ms: number
  attributes: Record<string, unknown>
}

/** opentelemetry/proto/trace/v1/trace.proto: by the numbers of its fields. */
const spansIn = (body: Buffer): SeenSpan[] =>
  messages(decode(body), 1).flatMap((resource) =>
    messages(resource, 2).flatMap((scope) =>
      messages(scope, 2).map((span) => {
        const time = (n: number) => Number((span.get(n)![0] as Buffer).readBigUInt64LE() / 1_000_000n)
        const [status] = messages(span, 15)
        return {
          trace: hex(span, 1),
          id: hex(span, 2),
          parent: hex(span, 4),
          name: text(span, 5),
          kind: Number(span.get(6)![0]),
          error: status?.get(3)?.[0] === 2n,
          ms: time(8) - time(7),
          attributes: attributes(span, 9),
        }
      }),
    ),
  )

async function collector(t: TestContext, status = 200) {
  const bodies: Buffer[] = []
  const headers: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      headers.push({ path: request.url, ...request.headers })
      bodies.push(Buffer.concat(parts))
      if (status > 0) response.writeHead(status).end()
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise((done) => server.once('listening', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    headers,
    spans: () => bodies.flatMap(spansIn),
  }
}

const PRICE =
  'models: { alpha/model-a: { price: { input: 1, output: 2 } }, beta/model-b: { price: { input: 1, output: 2 } } }'
const traced = (t: TestContext, endpoint: string, more: object = {}, settings = '') =>
  testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `telemetry: { endpoint: "${endpoint}", ${settings} }\n${PRICE}\n${TWO_TARGETS}`,
    ...more,
  })

async function seen(spans: () => SeenSpan[], count: number): Promise<SeenSpan[]> {
  for (let tries = 0; tries < 200 && spans().length < count; tries++) await sleep(20 * slowness())
  return spans()
}

test('the trace equals the record attempt by attempt: answers, streams, fallbacks, failures (TRACE-01, TRACE-02)', async (t) => {
  const { url, spans } = await collector(t)
  const gateway = await traced(t, url, { providers: { alpha: fail(500), beta: answer() } })
  await gateway.chat(ask('auto'), { 'x-session-id': 'trace' })
  gateway.upstream.beta!.script = stream(chunk({ content: 'a' }), usageChunk(), DONE)
  await gateway.chat(ask('beta/model-b', { stream: true }))
  gateway.upstream.beta!.script = fail(400)
  await gateway.chat(ask('beta/model-b'))
  const { json } = await gateway.get('/api/usage/request-logs')
  const calls = await Promise.all(
    json.data.map(
      async ({ id }: { id: string }) => (await gateway.get(`/api/usage/request-logs/${id}`)).json,
    ),
  )
  const all = await seen(spans, 7)
  assert.equal(all.length, 7)
  for (const call of calls) {
    const mine = all.filter(({ trace }) => trace === call.id.replaceAll('-', ''))
    const [server, ...more] = mine.filter(({ kind }) => kind === 2)
    assert.equal(more.length, 0)
    assert.equal(server!.name, 'POST /v1/chat/completions')
    assert.equal(server!.parent, '')
    assert.equal(server!.attributes['waybill.request_id'], call.id)
    assert.equal(server!.attributes[NAMES.httpStatus], call.status)
    assert.equal(server!.error, call.state !== 'completed')
    assert.deepEqual(
      Object.keys(server!.attributes).filter((name) => name.startsWith('gen_ai.usage')),
      [],
      'usage is counted once',
    )
    const clients = mine.filter(({ kind }) => kind === 3)
    assert.equal(clients.length, call.attempt_log.length)
    for (const attempt of call.attempt_log) {
      const { name, parent, error, attributes } = clients.find(
        (each) => each.attributes['waybill.attempt'] === attempt.n,
      )!
      assert.equal(name, `chat ${attempt.model}`)
      assert.equal(parent, server!.id)
      assert.equal(error, attempt.outcome !== 'answered')
      assert.equal(attributes[NAMES.provider], attempt.provider)
      assert.equal(attributes[NAMES.inputTokens], attempt.tokens.input ?? undefined)
      assert.equal(attributes[NAMES.outputTokens], attempt.tokens.output ?? undefined)
      assert.equal(attributes[NAMES.cost], attempt.cost_usd ?? undefined)
      assert.equal(attributes['waybill.outcome'], attempt.outcome)
    }
  }
})

test('a collector that is dead, slow or refuses changes no answer and no record, and drops are counted (TRACE-03)', async (t) => {
  const [slow, refusing] = [await collector(t, 0), await collector(t, 400)]
  for (const endpoint of ['http://127.0.0.1:1', slow.url, refusing.url]) {
    const gateway = await traced(t, endpoint)
    for (let n = 0; n < 3; n++) assert.equal((await gateway.chat(ask('auto'))).status, 200)
    assert.equal((await gateway.get('/api/usage/request-logs')).json.data.length, 3)
    if (endpoint === refusing.url) {
      const count = async () =>
        Number(/waybill_telemetry_dropped_spans_total (\d+)/.exec((await gateway.get('/metrics')).text)?.[1])
      for (let tries = 0; tries < 100 && (await count()) === 0; tries++) await sleep(50)
      assert.equal(await count(), 6)
    }
  }
})

test('no prompt, answer or key is in a trace; a secret header goes to the collector alone (TRACE-04)', async (t) => {
  const { url, bodies, headers, spans } = await collector(t)
  const gateway = await traced(t, url, { env: { OTEL_KEY: 'x-key=sesame,x-b=2' } }, 'headers: $OTEL_KEY')
  await gateway.chat(ask('auto'), { authorization: 'Bearer client-secret', 'x-session-id': 's-1' })
  await seen(spans, 2)
  const all = Buffer.concat(bodies).toString('latin1')
  assert.doesNotMatch(all, /where to\?|plain answer|secret|sesame/)
  assert.equal(headers[0]!['x-key'], 'sesame')
  assert.equal(headers[0]!['content-type'], 'application/x-protobuf')
  assert.equal(headers[0]!.path, '/v1/traces')
  assert.ok(
    gateway.upstream.alpha!.ledger.every(
      ({ headers }) => !('traceparent' in headers) && !('x-key' in headers),
    ),
  )
})

// What the two read, by their documentation: Langfuse takes model, usage, cost and session; Phoenix kind, model and usage.
for (const [backend, wanted] of [
  [
    'Langfuse',
    [
      'gen_ai.request.model',
      'gen_ai.response.model',
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.cost',
      'gen_ai.conversation.id',
    ],
  ],
  [
    'Phoenix',
    [
      'gen_ai.operation.name',
      'gen_ai.provider.name',
      'gen_ai.request.model',
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.output_tokens',
    ],
  ],
] as const)
  test(`what ${backend} reads is there (TRACE-07)`, async (t) => {
    const { url, spans } = await collector(t)
    const gateway: TestGateway = await traced(t, url)
    await gateway.chat(ask('auto'), { 'x-session-id': 's-7' })
    const client = (await seen(spans, 2)).find(({ kind }) => kind === 3)!
    for (const name of wanted) assert.ok(name in client.attributes, name)
  })

test('a share of the calls is sent (TRACE-06)', async (t) => {
  const { url, spans } = await collector(t)
  const gateway = await traced(t, url, {}, 'sample: 0')
  await gateway.chat(ask('auto'))
  await sleep(1_300)
  assert.equal(spans().length, 0)
})
