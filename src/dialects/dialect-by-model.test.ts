// A provider that speaks chat and responses; its mock is as strict as the real models. Requests with tools use the
// dialect in which the model accepts tools. All other requests use the client's own dialect, or else the first
// dialect of the provider.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayAtModels } from '../test/test-models.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const messages = [{ role: 'user', content: 'Where to?' }]
const MESSAGES = {
  path: '/v1/messages',
  body: { max_tokens: 50, messages },
  tools: { tools: [{ name: 'weather', input_schema: schema }] },
}
const CHAT = {
  path: '/v1/chat/completions',
  body: { messages },
  tools: { tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }] },
}

test('requests with tools use the dialect in which the model accepts tools (FIT-05)', async (t) => {
  const { mock, post, newest } = await gatewayAtModels(t)
  for (const [client, model, more, endpoint] of [
    [MESSAGES, 'gpt-5.4', {}, 'chat/completions'],
    [MESSAGES, 'gpt-5.4', MESSAGES.tools, 'responses'],
    [MESSAGES, 'gpt-6-sol', MESSAGES.tools, 'responses'],
    [MESSAGES, 'gpt-6-sol', { ...MESSAGES.tools, thinking: { type: 'disabled' } }, 'chat/completions'],
    [MESSAGES, 'gpt-4.1', MESSAGES.tools, 'chat/completions'],
    [CHAT, 'gpt-5.4', {}, 'chat/completions'],
    [CHAT, 'gpt-5.4', CHAT.tools, 'responses'],
    [CHAT, 'gpt-6-sol', { ...CHAT.tools, reasoning_effort: 'high' }, 'responses'],
    [CHAT, 'gpt-6-sol', { ...CHAT.tools, reasoning_effort: 'none' }, 'chat/completions'],
    [CHAT, 'gpt-of-tomorrow', CHAT.tools, 'chat/completions'],
  ] as const) {
    const row = `${client.path} ${model} ${JSON.stringify(more)}`
    mock.clear()
    const said = await post(client.path, { model: `both/${model}`, ...client.body, ...more })
    const [received] = mock.entries()
    assert.ok(received!.path.endsWith(`/${endpoint}`), `${row}: ${received!.path}`)
    if (model === 'gpt-of-tomorrow') continue
    assert.equal(said.status, 200, `${row}: ${said.text}`)
    assert.equal(mock.entries().length, 1, row)
    if (client === CHAT) assert.equal(said.json.choices.length, 1, row)
    const { attempt_log: log } = await newest()
    const isRelayed = client === CHAT && endpoint === 'chat/completions'
    assert.equal(log[0].losses === null, isRelayed, row)
  }
})
