// Tests the official `@anthropic-ai/sdk` client against the mock, over a real socket: the client works as
// with the real provider.
import assert from 'node:assert/strict'
import test from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createMockProviders } from './create.ts'

const mock = await createMockProviders()
test.after(() => mock.close())
const client = new Anthropic({
  baseURL: `${mock.url}/anthropic`,
  apiKey: mock.key('anthropic'),
  maxRetries: 0,
})

const ask = {
  model: 'claude-haiku-4-5',
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content: 'Where to?' }],
}
const tools = [
  {
    name: 'get_weather',
    input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
  },
]

test('a message arrives with its usage and request id', async () => {
  const { data, request_id } = await client.messages.create(ask).withResponse()
  const [block] = data.content
  assert.ok(block?.type === 'text')
  assert.match(block.text, /recorded answer/)
  assert.equal(data.stop_reason, 'end_turn')
  assert.deepEqual([data.usage.input_tokens, data.usage.output_tokens], [14, 25])
  assert.equal(request_id, 'req_authored_messages_plain')
})

test('a stream arrives event by event, and the client’s helper assembles the message', async () => {
  const types: string[] = []
  for await (const { type } of await client.messages.create({ ...ask, stream: true })) types.push(type)
  assert.equal(types[0], 'message_start')
  assert.equal(types.at(-1), 'message_stop')

  const stream = client.messages.stream(ask)
  let text = ''
  stream.on('text', (piece) => {
    text += piece
  })
  const final = await stream.finalMessage()
  assert.match(text, /Viele Grüße/)
  assert.equal(await stream.finalText(), text)
  assert.equal(final.usage.output_tokens, 28)
})

test('one or two tool calls arrive, whole and streamed, and the mock answers their results', async () => {
  for (const [model, cities] of [
    ['claude-haiku-4-5', ['Hamburg']],
    ['scenario-tools-parallel', ['Hamburg', 'Oslo']],
  ] as const)
    for (const message of [
      await client.messages.create({ ...ask, model, tools }),
      await client.messages.stream({ ...ask, model, tools }).finalMessage(),
    ]) {
      assert.equal(message.stop_reason, 'tool_use')
      const calls = message.content.filter((block) => block.type === 'tool_use')
      assert.deepEqual(
        calls.map(({ name, input }) => [name, input]),
        cities.map((city) => ['get_weather', { city, unit: 'celsius' }]),
      )
    }
  const called = await client.messages.create({ ...ask, tools })
  const results = called.content
    .filter((block) => block.type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'mild' }))
  const { stop_reason } = await client.messages.create({
    ...ask,
    tools,
    messages: [
      ...ask.messages,
      { role: 'assistant', content: called.content },
      { role: 'user', content: results },
    ],
  })
  assert.equal(stop_reason, 'end_turn')
})

test('a thought with its signature arrives before the text, whole and streamed', async () => {
  const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
  for (const message of [
    await client.messages.create({ ...ask, model: 'scenario-reasoning', max_tokens: 2048, thinking }),
    await client.messages
      .stream({ ...ask, model: 'scenario-reasoning', max_tokens: 2048, thinking })
      .finalMessage(),
  ]) {
    const [thought, text] = message.content
    assert.ok(thought?.type === 'thinking' && text?.type === 'text')
    assert.match(thought.thinking, /the thought is short/)
    assert.notEqual(thought.signature, '')
  }
})

test('the client handles cached tokens, truncation at the token limit, and many pings', async () => {
  const cached = await client.messages.create({ ...ask, model: 'scenario-usage-cached' })
  assert.deepEqual([cached.usage.input_tokens, cached.usage.cache_read_input_tokens], [128, 1920])
  const cut = await client.messages.stream({ ...ask, model: 'scenario-finish-length' }).finalMessage()
  assert.equal(cut.stop_reason, 'max_tokens')
  for (const both of [
    await client.messages.create({ ...ask, model: 'scenario-finish-tool-calls' }),
    await client.messages.stream({ ...ask, model: 'scenario-finish-tool-calls' }).finalMessage(),
  ]) {
    const [text, call] = both.content
    assert.ok(text?.type === 'text' && call?.type === 'tool_use')
    assert.deepEqual([both.stop_reason, call.input], ['tool_use', { city: 'Vienna' }])
  }
  for (const model of ['scenario-pings', 'scenario-per-byte', 'scenario-split-utf8', 'scenario-crlf'])
    assert.match(await client.messages.stream({ ...ask, model }).finalText(), /naïve café 🙂/, model)
})

test('tokens are counted without an inference, and models are listed', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: ask.model, messages: ask.messages })
  assert.equal(input_tokens, 14)
  assert.equal(mock.entries().at(-1)!.kind, 'token_count')
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  assert.ok(ids.includes('claude-haiku-5-5'))
})

test('the mock also accepts the key in `x-api-key`, which other clients send', async () => {
  const count = (key: string) =>
    fetch(`${mock.baseUrl('anthropic')}/messages/count_tokens`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: ask.model, messages: ask.messages }),
    })
  assert.equal((await count(mock.key('anthropic'))).status, 200)
  assert.equal((await count('a-key-of-nobody')).status, 401)
})

test('the client raises its own error class, with type, message and request id', async () => {
  const classes = {
    400: [Anthropic.BadRequestError, 'invalid_request_error'],
    401: [Anthropic.AuthenticationError, 'authentication_error'],
    404: [Anthropic.NotFoundError, 'not_found_error'],
    429: [Anthropic.RateLimitError, 'rate_limit_error'],
    500: [Anthropic.InternalServerError, 'api_error'],
    529: [Anthropic.InternalServerError, 'overloaded_error'],
  } as const
  for (const [status, [kind, type]] of Object.entries(classes))
    for (const stream of [false, true])
      await assert.rejects(
        client.messages.create({ ...ask, model: `scenario-${status}`, stream }),
        (error) => {
          assert.ok(error instanceof kind, `${status}: ${error}`)
          assert.equal(error.status, Number(status))
          assert.equal(error.type, type)
          assert.equal(error.requestID, `req_authored_error_${status}`)
          return true
        },
      )
})

test('the client raises an error if a stream breaks or fails', async () => {
  for (const model of ['scenario-cut-after-3', 'scenario-error-in-stream'])
    await assert.rejects(client.messages.stream({ ...ask, model }).finalMessage(), Anthropic.AnthropicError)
})

test('an invalid request, a missing version and a wrong key are refused in Anthropic’s words', async () => {
  const refused = async (attempt: Promise<unknown>) => {
    const error = await attempt.catch((thrown) => thrown)
    assert.ok(error instanceof Anthropic.APIError, String(error))
    return error
  }
  const tooFew = await refused(client.messages.create({ ...ask, max_tokens: 0 }))
  assert.equal(tooFew.status, 400)
  assert.match(tooFew.message, /max_tokens: /)
  const wrongRole = await refused(
    client.messages.create({ ...ask, messages: [{ role: 'tool' as 'user', content: 'x' }] }),
  )
  assert.match(wrongRole.message, /messages\.0\.role: /)
  const noVersion = await refused(client.messages.create(ask, { headers: { 'anthropic-version': null } }))
  assert.deepEqual([noVersion.status, noVersion.type], [400, 'invalid_request_error'])
  const stranger = await refused(client.withOptions({ apiKey: 'a-key-of-nobody' }).messages.create(ask))
  assert.ok(stranger instanceof Anthropic.AuthenticationError)
})
