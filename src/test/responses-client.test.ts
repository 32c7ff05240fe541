// The official OpenAI client uses the Responses API of a gateway whose provider is the mock. The client must
// not notice a difference from the real API.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, suite, type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import type {
  FunctionTool,
  ResponseCompletedEvent,
  ResponseStreamEvent,
  ResponsesServerEvent,
} from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'
import { pause } from './test-until.ts'

const KEY = 'wb-key-of-the-test'
const data = mkdtempSync(join(tmpdir(), 'waybill-'))
let mock: MockProviders
let gateway: Gateway
let client: OpenAI

suite('OpenAI’s official client for responses', () => {
  before(async () => {
    mock = await createMockProviders()
    const digest = createHash('sha256').update(KEY).digest('hex')
    const config = `
server: { port: 0 }
data: ${data}
providers: { openai: { dialect: [openai, responses], base_url: "${mock.baseUrl('openai')}", key: $KEY } }
models: { openai/gpt-5-mini: { price: { input: 3, output: 15, cached_input: 0.3 } } }
routes: { auto: { targets: [ { model: openai/gpt-5-mini } ] } }
defaults: { responses: auto }
resilience: { cooldown: 0s, idle: 2s }
keys: [ { name: test, role: admin, digest: "sha256:${digest}" } ]`
    const env = { KEY: mock.key('openai') }
    gateway = await createGateway(parseConfig(config, 'w.yaml', { env }))
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
  })
  after(async () => {
    await gateway.close(100)
    await mock.close()
    rmSync(data, { recursive: true })
  })
  beforeEach(() => mock.clear())

  const input = 'where to?'
  const tools: FunctionTool[] = [
    {
      type: 'function',
      name: 'get_weather',
      strict: false,
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  ]

  /** Returns the newest record, once it is closed. */
  async function newestRecord(): Promise<any> {
    for (;;) {
      const response = await fetch(`${gateway.url}/api/usage/request-logs?limit=1`, {
        headers: { authorization: `Bearer ${KEY}` },
      })
      const {
        data: [record],
      }: any = await response.json()
      if (record?.completed_at) return record
      await pause(10)
    }
  }

  test('responses.create receives the answer, its usage is on record, and the provider accepts one valid inference', async () => {
    const response = await client.responses.create({ model: 'auto', input })
    assert.deepEqual([response.object, response.status], ['response', 'completed'])
    assert.ok(response.output_text.length > 0)
    const { endpoint, resolved_model, tokens, cost_usd, key_name, response_id } = await newestRecord()
    assert.deepEqual(
      [endpoint, resolved_model, tokens.input, tokens.output, key_name, response_id],
      [
        '/v1/responses',
        'gpt-5-mini',
        response.usage!.input_tokens,
        response.usage!.output_tokens,
        'test',
        response.id,
      ],
    )
    assert.ok(cost_usd > 0)
    const [entry, ...more] = mock.entries()
    assert.deepEqual([more.length, entry!.kind, entry!.problems], [0, 'inference', []])
  })

  test('responses.stream receives numbered events in order, whole tool calls and reasoning, and its usage is on record (RSP-13)', async () => {
    for (const [model, calls] of [
      ['gpt-of-tomorrow', 0],
      ['openai/scenario-tools', 1],
      ['openai/scenario-tools-parallel', 3],
      ['openai/scenario-reasoning', 0],
      ['openai/scenario-usage-cached', 0],
    ] as const) {
      const names: string[] = []
      const numbers: number[] = []
      const stream = client.responses
        .stream({ model, input, ...(calls > 0 && { tools }) })
        .on('event', ({ type, sequence_number }) => {
          names.push(type)
          numbers.push(sequence_number)
        })
      const final = await stream.finalResponse()
      assert.equal(final.status, 'completed', model)
      assert.deepEqual([names[0], names.at(-1)], ['response.created', 'response.completed'], model)
      assert.deepEqual(
        numbers,
        numbers.map((_, n) => n),
        model,
      )
      const made = final.output.filter((item) => item.type === 'function_call')
      for (const { arguments: args } of made) assert.equal(typeof JSON.parse(args).city, 'string')
      if (calls > 0) assert.ok(made.length > 0, model)
      const { state, tokens } = await newestRecord()
      const { output_tokens, input_tokens_details, output_tokens_details } = final.usage!
      assert.deepEqual(
        [state, tokens.output, tokens.cached_input, tokens.reasoning],
        [
          'completed',
          output_tokens,
          input_tokens_details.cached_tokens,
          output_tokens_details.reasoning_tokens,
        ],
        model,
      )
    }
  })

  test('errors arrive as the client’s own classes, with their request id', async () => {
    const rows = [
      ['openai/scenario-400', OpenAI.BadRequestError],
      ['openai/scenario-404', OpenAI.NotFoundError],
      ['openai/scenario-429', OpenAI.RateLimitError],
      ['openai/scenario-500', OpenAI.InternalServerError],
      ['openai/scenario-529', OpenAI.InternalServerError],
      ['openai/scenario-401', OpenAI.InternalServerError],
      ['nobody/knows', null],
    ] as const
    for (const [model, kind] of rows) {
      const asked = client.responses.create({ model, input })
      if (kind === null) assert.equal((await asked).status, 'completed', 'the default of the dialect')
      else
        await assert.rejects(asked, (error: unknown) => {
          assert.ok(error instanceof kind, `${model}: ${error}`)
          assert.ok(error instanceof OpenAI.APIError && error.message.length > 0)
          return true
        })
    }
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'wrong', maxRetries: 0 })
    await assert.rejects(stranger.responses.create({ model: 'auto', input }), OpenAI.AuthenticationError)
    await assert.rejects(client.responses.create({ input } as never), OpenAI.BadRequestError)
  })

  test('an error during a stream, or a broken stream, reaches the client as an error, never as a normal end (RSP-03)', async () => {
    for (const scenario of ['cut-after-4', 'cut-in-utf8', 'reset', 'silent-midway']) {
      let last = ''
      const stream = await client.responses.create({
        model: `openai/scenario-${scenario}`,
        input,
        stream: true,
      })
      await assert.rejects(async () => {
        for await (const { type } of stream) last = type
      }, scenario)
      assert.equal(last, 'response.failed', scenario)
      const record = await newestRecord()
      assert.deepEqual([record.state, record.status], ['failed', 200], scenario)
    }
    const types: string[] = []
    const stream = await client.responses.create({
      model: 'openai/scenario-error-in-stream',
      input,
      stream: true,
    })
    await assert.rejects(
      async () => {
        for await (const { type } of stream) types.push(type)
      },
      { code: 'server_error' },
    )
    assert.equal((await newestRecord()).state, 'failed')
  })

  test('the client reads the whole stream, however its bytes are split', async () => {
    for (const scenario of [
      'per-byte',
      'split-utf8',
      'split-data',
      'crlf',
      'comments',
      'gzip',
      'huge-event',
    ]) {
      const final = await client.responses
        .stream({ model: `openai/scenario-${scenario}`, input })
        .finalResponse()
      assert.equal(final.status, 'completed', scenario)
      const { state, tokens } = await newestRecord()
      assert.deepEqual([state, tokens.output], ['completed', final.usage!.output_tokens], scenario)
    }
  })

  test('a client can abort during a stream, and the call is recorded as aborted', async () => {
    const stream = await client.responses.create({
      model: 'openai/scenario-lasts-3',
      input,
      stream: true,
    })
    for await (const _ of stream) break // leaving the loop aborts the request
    const record = await newestRecord()
    assert.deepEqual([record.state, record.error_code], ['aborted', 'client_closed'])
  })

  /**
   * Sends a call over the client's WebSocket. Resolves with the events until the end; rejects with the client's
   * error.
   */
  async function overSocket(socket: ResponsesWS, call: object): Promise<ResponsesServerEvent[]> {
    const events: ResponsesServerEvent[] = []
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onEvent = (event: ResponsesServerEvent) => {
      events.push(event)
      if (/^response\.(completed|incomplete|failed)$/.test(event.type)) resolve()
    }
    socket.on('event', onEvent)
    socket.on('error', reject)
    socket.send({ type: 'response.create', model: 'auto', input, ...call })
    try {
      await promise
    } finally {
      socket.off('event', onEvent)
      socket.off('error', reject)
    }
    return events
  }

  const openSocket = (t: TestContext): ResponsesWS => {
    const socket = new ResponsesWS(client)
    t.after(() => socket.close())
    return socket
  }

  test('ResponsesWS receives the events of responses.stream, and the record says that the call used a WebSocket', async (t) => {
    const socket = openSocket(t)
    for (const model of ['auto', 'openai/scenario-tools', 'openai/scenario-reasoning']) {
      const seen = await overSocket(socket, { model, tools })
      const { transport, tokens } = await newestRecord()
      assert.deepEqual([transport, tokens.source], ['websocket', 'reported'], model)
      const there: ResponseStreamEvent[] = []
      for await (const event of client.responses.stream({ model, input, tools })) there.push(event)
      const shown = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type)
      assert.deepEqual(shown(seen), shown(there), model)
      const last = seen.at(-1) as ResponseCompletedEvent
      assert.equal(last.response.status, 'completed')
    }
    assert.equal(mock.entries().length, 6)
  })

  test('ResponsesWS can alternate turns with and without store, and a stored response can be continued over HTTP', async (t) => {
    const socket = openSocket(t)
    for (const store of [true, false]) {
      let previous_response_id: string | undefined
      for (const turn of ['one', 'two', 'three']) {
        const events = await overSocket(socket, { input: turn, store, previous_response_id })
        previous_response_id = (events.at(-1) as ResponseCompletedEvent).response.id
      }
      const overHttp = client.responses.create({
        model: 'auto',
        input,
        previous_response_id: previous_response_id!,
      })
      if (store) assert.equal((await overHttp).status, 'completed')
      else await assert.rejects(overHttp, OpenAI.BadRequestError)
    }
  })

  test('ResponsesWS reports a refusal as the client’s error with its code, and the connection stays open', async (t) => {
    const socket = openSocket(t)
    await assert.rejects(
      overSocket(socket, { previous_response_id: 'resp_of_nobody' }),
      /resp_of_nobody|not found/,
    )
    await assert.rejects(overSocket(socket, { model: 'openai/scenario-429-no-retry-after' }))
    assert.equal((await overSocket(socket, {})).at(-1)!.type, 'response.completed')
  })
})
