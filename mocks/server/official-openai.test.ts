// Tests the official `openai` client against the mock, over a real socket: the client works as with the real
// provider. Over 250 lines, because it tries each endpoint with the same client and mock.
import assert from 'node:assert/strict'
import test from 'node:test'
import OpenAI, { AzureOpenAI } from 'openai'
import { createMockProviders } from './create.ts'

const mock = await createMockProviders()
test.after(() => mock.close())
const client = new OpenAI({
  baseURL: mock.baseUrl('openai'),
  apiKey: mock.key('openai'),
  maxRetries: 0,
})

const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user' as const, content: 'Where to?' }] }
const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
]
const flatTools = tools.map(({ type, function: { name, parameters } }) => ({
  type,
  name,
  parameters,
  strict: false,
}))

test('a chat returns a text with its usage', async () => {
  const { choices, usage, model } = await client.chat.completions.create(ask)
  assert.match(choices[0]!.message.content!, /recorded answer/)
  assert.equal(choices[0]!.finish_reason, 'stop')
  assert.equal(usage!.total_tokens, usage!.prompt_tokens + usage!.completion_tokens)
  assert.equal(model, 'gpt-6-sol')
})

test('a chat returns a stream that the client assembles', async () => {
  const stream = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
  let events = 0
  for await (const _ of stream) events++
  const { choices, usage } = await stream.finalChatCompletion()
  assert.ok(events > 10)
  assert.match(choices[0]!.message.content!, /Viele Grüße/)
  assert.ok(usage!.completion_tokens > 0)
})

test('a chat stream has usage only if the request asks for it', async () => {
  for await (const { usage, choices } of await client.chat.completions.create({ ...ask, stream: true })) {
    assert.ok(!usage)
    assert.equal(choices.length, 1)
  }
})

test('a chat returns tool calls, whole and streamed, and the mock replies to the results that are sent back', async () => {
  const whole = await client.chat.completions.create({ ...ask, tools })
  const streamed = await client.chat.completions.stream({ ...ask, tools }).finalChatCompletion()
  for (const { choices } of [whole, streamed]) {
    const [call] = choices[0]!.message.tool_calls!
    assert.ok(call?.type === 'function')
    assert.equal(call.function.name, 'get_weather')
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Hamburg', unit: 'celsius' })
    assert.equal(choices[0]!.finish_reason, 'tool_calls')
  }
  const { choices } = await client.chat.completions.create({
    ...ask,
    tools,
    messages: [
      ...ask.messages,
      whole.choices[0]!.message,
      {
        role: 'tool',
        tool_call_id: whole.choices[0]!.message.tool_calls![0]!.id,
        content: 'mild',
      },
    ],
  })
  assert.equal(choices[0]!.finish_reason, 'stop')
})

test('several calls in one chat stream are not mixed up', async () => {
  const stream = client.chat.completions.stream({ ...ask, model: 'scenario-tools-parallel', tools })
  const calls = (await stream.finalChatCompletion()).choices[0]!.message.tool_calls!
  assert.deepEqual(
    calls.map((call) => call.type === 'function' && JSON.parse(call.function.arguments).city),
    ['Hamburg', 'Oslo'],
  )
})

test('the Responses API returns a whole and a streamed text', async () => {
  const whole = await client.responses.create({ model: 'gpt-4o-mini', input: 'Where to?' })
  assert.equal(whole.status, 'completed')
  assert.match(whole.output_text, /recorded response/)
  assert.equal(whole.usage!.total_tokens, whole.usage!.input_tokens + whole.usage!.output_tokens)

  const stream = client.responses.stream({ model: 'gpt-4o-mini', input: 'Where to?' })
  const types: string[] = []
  let text = ''
  for await (const event of stream) {
    types.push(event.type)
    if (event.type === 'response.output_text.delta') text += event.delta
  }
  const final = await stream.finalResponse()
  assert.equal(types[0], 'response.created')
  assert.equal(types.at(-1), 'response.completed')
  assert.equal(final.output_text, text)
  assert.match(text, /Viele Grüße/)
})

test('the Responses API returns function calls and reasoning, including those from scenarios', async () => {
  const called = await client.responses.create({
    model: 'gpt-4o-mini',
    input: 'Where to?',
    tools: flatTools,
  })
  const [call] = called.output
  assert.ok(call?.type === 'function_call')
  assert.equal(JSON.parse(call.arguments).city, 'Hamburg')

  const streamed = await client.responses
    .stream({ model: 'scenario-tools-parallel', input: 'Where to?', tools: flatTools })
    .finalResponse()
  assert.deepEqual(
    streamed.output.map((item) => item.type),
    ['function_call', 'function_call'],
  )

  const thought = await client.responses.create({ model: 'scenario-reasoning', input: 'Where to?' })
  assert.deepEqual(
    thought.output.map((item) => item.type),
    ['reasoning', 'message'],
  )
  assert.equal(thought.usage!.output_tokens_details.reasoning_tokens, 128)

  const { output } = await client.responses
    .stream({ model: 'scenario-finish-tool-calls', input: 'Where to?' })
    .finalResponse()
  const [text, both] = output
  assert.ok(text?.type === 'message' && both?.type === 'function_call')
  assert.deepEqual(JSON.parse(both.arguments), { city: 'Vienna' })

  const cut = client.responses.stream({ model: 'scenario-finish-length', input: 'Where to?' })
  const { status, incomplete_details, output_text } = await cut.finalResponse()
  assert.deepEqual([status, incomplete_details?.reason], ['incomplete', 'max_output_tokens'])
  assert.match(output_text, /naïve café/)
})

test('embeddings, images and lists of models are returned', async () => {
  const { data, usage } = await client.embeddings.create({
    model: 'text-embedding-3-small',
    input: 'Where to?',
    dimensions: 8,
    encoding_format: 'float',
  })
  assert.equal(data[0]!.embedding.length, 8)
  assert.equal(usage.total_tokens, 5)

  const picture = await client.images.generate({ model: 'gpt-image-1', prompt: 'A waybill.' })
  assert.equal(Buffer.from(picture.data![0]!.b64_json!, 'base64').toString('latin1', 1, 4), 'PNG')
  const address = await client.images.generate({ model: 'dall-e-2', prompt: 'A waybill.' })
  assert.ok(URL.canParse(address.data![0]!.url!))

  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  assert.ok(ids.includes('gpt-6-luna'))
})

test('an image stream has as many unfinished images as requested, and then the finished image', async () => {
  const image = new File([Buffer.from('png')], 'a.png', { type: 'image/png' })
  const ask = { model: 'gpt-image-1', prompt: 'A waybill.', stream: true } as const
  for (const number of [{}, { partial_images: 0 }, { partial_images: 2 }, { partial_images: 3 }])
    for (const [events, verb] of [
      [await client.images.generate({ ...ask, ...number }), 'image_generation'],
      [await client.images.edit({ ...ask, ...number, image }), 'image_edit'],
    ] as const) {
      const types: string[] = []
      for await (const { type } of events) types.push(type)
      const unfinished = Array(number.partial_images ?? 0).fill(`${verb}.partial_image`)
      assert.deepEqual(types, [...unfinished, `${verb}.completed`])
    }
  await assert.rejects(client.images.edit({ ...ask, partial_images: 4, image }), OpenAI.BadRequestError)
  await assert.rejects(client.images.generate({ ...ask, n: 2 }), /a stream of 2 images \(recorded: 1\)/)
})

test("the client raises its own error class with the provider's error text", async () => {
  const classes = {
    400: OpenAI.BadRequestError,
    401: OpenAI.AuthenticationError,
    404: OpenAI.NotFoundError,
    429: OpenAI.RateLimitError,
    500: OpenAI.InternalServerError,
  }
  for (const [status, kind] of Object.entries(classes)) {
    const model = `scenario-${status}`
    for (const attempt of [
      () => client.chat.completions.create({ ...ask, model }),
      () => client.responses.create({ model, input: 'Where to?' }),
      () => client.embeddings.create({ model, input: 'Where to?' }),
    ])
      await assert.rejects(attempt, (error) => {
        assert.ok(error instanceof kind, `${status}: ${error}`)
        assert.equal(error.status, Number(status))
        assert.match(error.message, /replayed|synthetic/)
        return true
      })
  }
  const limited = await client.chat.completions.create({ ...ask, model: 'scenario-429' }).catch((e) => e)
  assert.equal(limited.headers.get('retry-after'), '2')
  assert.equal(limited.code, 'rate_limit_exceeded')
})

test('the client raises an error if a stream breaks or fails', async () => {
  const chat = (model: string) => client.chat.completions.stream({ ...ask, model }).done()
  const responses = (model: string) => client.responses.stream({ model, input: 'Where to?' }).done()
  for (const start of [chat, responses]) await assert.rejects(start('scenario-cut-after-3'), /terminated/)
  const failed = /The model failed in the middle/
  await assert.rejects(chat('scenario-error-in-stream'), failed)
  // For responses, this client throws the unchanged event.
  await assert.rejects(responses('scenario-error-in-stream'), (thrown: { type: string; message: string }) => {
    assert.equal(thrown.type, 'error')
    assert.match(thrown.message, failed)
    return true
  })
})

test("the refusal of an invalid request names the wrong field, and a wrong key gets OpenAI's error for wrong keys", async () => {
  const tooHot = await client.responses
    .create({ model: 'gpt-4o-mini', input: 'Where to?', temperature: 3 })
    .catch((error) => error)
  assert.ok(tooHot instanceof OpenAI.BadRequestError)
  assert.equal(tooHot.param, 'temperature')
  await assert.rejects(
    client.images.generate({ model: 'gpt-image-1', prompt: 'A waybill.', n: 11 }),
    OpenAI.BadRequestError,
  )
  await assert.rejects(
    client.embeddings.create({ model: 'text-embedding-3-small', input: [] }),
    OpenAI.BadRequestError,
  )
  const stranger = client.withOptions({ apiKey: 'a-key-of-nobody' })
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError)
})

test('with the Azure client, the deployment is the model, and a stream begins with filter results', async () => {
  const azureWith = (apiKey: string) =>
    new AzureOpenAI({
      endpoint: `${mock.url}/azure`,
      apiKey,
      apiVersion: '2024-10-21',
      maxRetries: 0,
    })
  const azure = azureWith(mock.key('azure'))
  const { choices } = await azure.chat.completions.create({ ...ask, model: 'gpt-5-mini' })
  assert.match(choices[0]!.message.content!, /deployment/)
  const stream = azure.chat.completions.stream({ ...ask, model: 'gpt-5-mini' })
  assert.match((await stream.finalChatCompletion()).choices[0]!.message.content!, /Viele Grüße/)
  const last = mock.entries().at(-1)!
  assert.deepEqual(
    [last.provider, last.endpoint, last.model, last.credential],
    ['azure', 'deployments/gpt-5-mini/chat/completions', 'gpt-5-mini', 'match'],
  )
  const limited = await azure.chat.completions.create({ ...ask, model: 'scenario-429' }).catch((e) => e)
  assert.ok(limited instanceof OpenAI.RateLimitError)
  assert.deepEqual([limited.code, limited.headers?.get('retry-after')], ['RateLimitReached', '1'])
  await assert.rejects(azureWith('a-key-of-nobody').models.list(), OpenAI.AuthenticationError)
})

test('the client works with the chat dialects of Mistral, xAI and Ollama', async () => {
  const of = (name: string, apiKey = mock.key(name)) =>
    new OpenAI({ baseURL: mock.baseUrl(name), apiKey, maxRetries: 0 })
  for (const name of ['mistral', 'xai', 'ollama']) {
    const other = of(name)
    const { choices } = await other.chat.completions.create({ ...ask, model: 'm' })
    assert.match(choices[0]!.message.content!, /recorded answer/i, name)
    const stream = other.chat.completions.stream({ ...ask, model: 'm', tools })
    const [call] = (await stream.finalChatCompletion()).choices[0]!.message.tool_calls!
    assert.equal(call?.type === 'function' && JSON.parse(call.function.arguments).city, 'Hamburg', name)
  }

  const said = of('mistral').chat.completions.stream({ ...ask, model: 'scenario-finish-tool-calls' })
  const { message, finish_reason } = (await said.finalChatCompletion()).choices[0]!
  assert.match(message.content!, /naïve café/)
  assert.deepEqual([finish_reason, message.tool_calls?.length], ['tool_calls', 1])

  const { usage } = await of('xai').chat.completions.create({ ...ask, model: 'grok-4-fast' })
  const reasoning = usage!.completion_tokens_details!.reasoning_tokens!
  assert.equal(usage!.total_tokens, usage!.prompt_tokens + usage!.completion_tokens + reasoning)
  assert.ok(reasoning > usage!.completion_tokens, 'they are not among the completion tokens')

  const wrong = 'a-key-of-nobody'
  await assert.rejects(of('xai', wrong).chat.completions.create(ask), OpenAI.BadRequestError)
  await assert.rejects(of('mistral', wrong).chat.completions.create(ask), OpenAI.AuthenticationError)
  await of('ollama', wrong).chat.completions.create({ ...ask, model: 'qwen3' })
  await assert.rejects(
    of('ollama').chat.completions.create({ ...ask, model: 'scenario-404' }),
    /model 'scenario-404' not found/,
  )
})
