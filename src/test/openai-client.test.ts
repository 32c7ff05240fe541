// The official OpenAI client calls a gateway that answers from recordings. The client must not notice a
// difference from the real API.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import OpenAI from 'openai'
import { interceptProviders } from '../../mocks/server/intercept.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'
import { pause } from './test-until.ts'

const KEY = 'wb-key-of-the-test'
const data = mkdtempSync(join(tmpdir(), 'waybill-'))
let gateway: Gateway
let client: OpenAI
let interception: { dispose(): void }

suite('OpenAI’s official client', () => {
  before(async () => {
    interception = interceptProviders()
    const example = readFileSync(new URL('../../examples/waybill.yaml', import.meta.url), 'utf8')
    const digest = createHash('sha256').update(KEY).digest('hex')
    const env = { WAYBILL_PORT: '0', WAYBILL_DATA: data, WAYBILL_KEY_DIGESTS: `test:admin=sha256:${digest}` }
    gateway = await createGateway(parseConfig(example, 'examples/waybill.yaml', { env, replay: true }))
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
  })

  after(async () => {
    await gateway.close(100)
    interception.dispose()
    rmSync(data, { recursive: true })
  })

  const messages = [{ role: 'user' as const, content: 'where to?' }]
  const tools = [
    {
      type: 'function' as const,
      function: {
        name: 'get_weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      },
    },
  ]

  /** Waits until the newest record is closed, and returns it. */
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

  test('models.list and models.retrieve return the models', async () => {
    const ids = []
    for await (const { id } of client.models.list()) ids.push(id)
    assert.deepEqual(ids.slice(0, 2), ['auto', 'auto/cheap'])
    assert.equal((await client.models.retrieve('groq/openai/gpt-oss-120b')).owned_by, 'groq')
    await assert.rejects(client.models.retrieve('nothing'), OpenAI.NotFoundError)
  })

  test('a chat answer arrives, and its record is complete', async () => {
    const { data: completion, response } = await client.chat.completions
      .create({ model: 'auto', messages })
      .withResponse()
    assert.equal(completion.object, 'chat.completion')
    assert.ok(completion.choices[0]!.message.content!.length > 0)
    assert.equal(response.headers.get('x-gateway-provider'), 'openai')
    const record = await newestRecord()
    assert.deepEqual(
      [
        record.resolved_provider,
        record.resolved_model,
        record.tokens.input,
        record.tokens.output,
        record.key_name,
      ],
      ['openai', 'gpt-6-luna', completion.usage!.prompt_tokens, completion.usage!.completion_tokens, 'test'],
    )
    assert.ok(record.cost_usd > 0)
  })

  for (const include_usage of [true, false])
    test(`a chat stream is complete ${include_usage ? 'with' : 'without'} include_usage`, async () => {
      const stream = await client.chat.completions.create({
        model: 'auto',
        messages,
        stream: true,
        ...(include_usage && { stream_options: { include_usage } }),
      })
      let text = ''
      let usage: OpenAI.CompletionUsage | null | undefined
      let finish: string | null | undefined
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        finish = chunk.choices[0]?.finish_reason ?? finish
        usage = chunk.usage ?? usage
      }
      assert.ok(text.length > 0)
      assert.equal(finish, 'stop')
      assert.equal(usage !== undefined, include_usage)
      const record = await newestRecord()
      assert.ok(record.tokens.output > 0)
      if (usage) assert.equal(record.tokens.output, usage.completion_tokens)
      assert.deepEqual([record.state, record.stream], ['completed', true])
    })

  test('a stream of tool calls keeps names, indexes and arguments as they were sent (FLOW-08)', async () => {
    for (const model of [
      'openai/gpt-6-luna',
      'openai/scenario-tools-parallel',
      'groq/openai/gpt-oss-20b',
      'openrouter/x/y',
      'deepseek/deepseek-chat',
    ]) {
      const stream = client.chat.completions.stream({ model, messages, tools })
      const final = await stream.finalChatCompletion()
      const calls = final.choices[0]!.message.tool_calls!
      assert.equal(final.choices[0]!.finish_reason, 'tool_calls', model)
      assert.ok(calls.length >= (model.includes('parallel') ? 2 : 1), model)
      for (const call of calls) {
        assert.ok(call.type === 'function')
        assert.doesNotThrow(() => JSON.parse(call.function.arguments))
      }
      assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length)
    }
  })

  test('a client can abort during a stream, and the call is recorded as aborted', async () => {
    const stream = await client.chat.completions.create({ model: 'auto', messages, stream: true })
    for await (const _ of stream) break // leaving the loop aborts the request
    const record = await newestRecord()
    assert.deepEqual([record.state, record.error_code], ['aborted', 'client_closed'])
  })

  test('a wrong key, an unknown model and a body without messages each raise the client’s own error', async () => {
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'wrong', maxRetries: 0 })
    await assert.rejects(stranger.chat.completions.create({ model: 'auto', messages }), (error: unknown) => {
      assert.ok(error instanceof OpenAI.AuthenticationError)
      assert.equal(error.code, 'invalid_api_key')
      return true
    })
    await assert.rejects(client.chat.completions.create({ model: 'nowhere', messages }), (error: unknown) => {
      assert.ok(error instanceof OpenAI.NotFoundError)
      assert.deepEqual([error.code, error.param], ['model_not_found', 'model'])
      return true
    })
    await assert.rejects(client.chat.completions.create({ model: 'auto' } as never), OpenAI.BadRequestError)
  })

  test('a provider’s refusal is raised as the client’s error class for its status', async () => {
    const rows = [
      ['openai/scenario-400', OpenAI.BadRequestError],
      ['openai/scenario-404', OpenAI.NotFoundError],
      ['groq/scenario-429', OpenAI.RateLimitError],
      ['deepseek/scenario-500', OpenAI.InternalServerError],
      ['openai/scenario-401', OpenAI.InternalServerError],
    ] as const
    for (const [model, error] of rows)
      await assert.rejects(client.chat.completions.create({ model, messages }), error, model)
  })

  test('embeddings arrive, and invalid embedding requests are refused', async () => {
    const model = 'openai/text-embedding-3-small'
    const { data, usage } = await client.embeddings.create({
      model,
      input: 'where to?',
      dimensions: 8,
      encoding_format: 'float',
    })
    assert.equal(data[0]!.embedding.length, 8)
    const { endpoint, tokens, cost_usd, resolved_model } = await newestRecord()
    assert.deepEqual(
      [endpoint, resolved_model, tokens.input, tokens.output],
      ['/v1/embeddings', 'text-embedding-3-small', usage.prompt_tokens, 0],
    )
    assert.ok(Math.abs(cost_usd - usage.prompt_tokens * 0.02e-6) < 1e-15, `${cost_usd}`)
    await assert.rejects(client.embeddings.create({ model, input: [] }), OpenAI.BadRequestError)
    await assert.rejects(
      client.embeddings.create({ model: 'openai/scenario-429', input: 'x' }),
      OpenAI.RateLimitError,
    )
    await assert.rejects(
      client.embeddings.create({ model: 'nowhere', input: 'x' }),
      (error: unknown) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found',
    )
  })

  test('images are priced by their usage, and have no price without usage (IMG-01)', async () => {
    const picture = await client.images.generate({ model: 'openai/gpt-image-1', prompt: 'A waybill.' })
    assert.ok(picture.data![0]!.b64_json!.length > 0)
    const priced = await newestRecord()
    const { input_tokens, output_tokens } = picture.usage!
    assert.deepEqual(
      [priced.endpoint, priced.tokens.input, priced.tokens.output],
      ['/v1/images/generations', input_tokens, output_tokens],
    )
    assert.ok(Math.abs(priced.cost_usd - (input_tokens * 5 + output_tokens * 40) / 1e6) < 1e-12)
    const types: string[] = []
    for await (const { type } of await client.images.generate({
      ...{ model: 'openai/gpt-image-1.5', prompt: 'A waybill.', stream: true, partial_images: 1 },
    }))
      types.push(type)
    assert.deepEqual(types, ['image_generation.partial_image', 'image_generation.completed'])
    const streamed = await newestRecord()
    // All of its output is pictures, which cost more than its text.
    assert.ok(
      Math.abs(streamed.cost_usd - (streamed.tokens.input * 5 + streamed.tokens.output * 32) / 1e6) < 1e-12,
    )
    const address = await client.images.generate({ model: 'openai/dall-e-2', prompt: 'A waybill.' })
    assert.match(address.data![0]!.url!, /^https:/)
    assert.equal((await newestRecord()).cost_usd, null)
    await assert.rejects(
      client.images.generate({ model: 'openai/gpt-image-1', prompt: 'x', n: 11 }),
      OpenAI.BadRequestError,
    )
  })

  test('a request without a recording is refused with a clear 400 that names the request and the nearest recording', async () => {
    await assert.rejects(
      client.chat.completions.create({ model: 'openai/scenario-nonsense', messages }),
      (error: unknown) => {
        assert.ok(error instanceof OpenAI.APIError)
        assert.equal(error.status, 400)
        assert.match(error.message, /scenario-nonsense|nonsense/)
        assert.match(error.message, /nearest/i)
        return true
      },
    )
  })
})
