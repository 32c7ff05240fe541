import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { createWorld } from '../server/core.ts'
import { answerRequest } from '../server/intercept.ts'
import { providers } from './registry.ts'

const world = createWorld({ keys: 'any', lenient: true })

/** Sends a request directly to the mock, in the form that interception uses. */
const ask = (url: string, body?: object): Promise<Response> =>
  answerRequest(
    world,
    new Request(
      url,
      body && {
        method: 'POST',
        body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...body }),
      },
    ),
  )

test('every provider in this folder is in the registry', () => {
  const names = readdirSync(import.meta.dirname)
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
    .flatMap((text) => [...text.matchAll(/^export const (\w+) = \{\n {2}name: '/gm)].map(([, name]) => name!))
  assert.deepEqual(names.sort(), providers.map(({ name }) => name).sort())
})

/** Providers that the tests below can call in OpenAI's dialect, at `chat/completions`. */
const alike = providers.filter(({ name }) => ['openai', 'groq', 'openrouter', 'deepseek'].includes(name))

for (const { name, origin, basePaths } of alike) {
  const chat = `${origin}${basePaths[0]}/chat/completions`

  test(`${name} answers a chat, whole and streamed`, async () => {
    const whole = await ask(chat, { model: 'm' })
    assert.equal(((await whole.json()) as { object: string }).object, 'chat.completion')
    const streamed = await (
      await ask(chat, { model: 'm', stream: true, stream_options: { include_usage: true } })
    ).text()
    assert.match(streamed, /"usage":\{/)
    assert.ok(streamed.endsWith('data: [DONE]\n\n'))
  })

  test(`${name} calls a tool once and then answers`, async () => {
    const tools = [{ type: 'function', function: { name: 'get_weather' } }]
    for (const stream of [false, true]) {
      const first = await ask(chat, { model: 'm', stream, tools })
      assert.match(await first.text(), /"tool_calls"/)
      const second = await ask(chat, {
        model: 'm',
        stream,
        tools,
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'tool', content: 'sunny', tool_call_id: 'call_1' },
        ],
      })
      assert.doesNotMatch(await second.text(), /"tool_calls"/)
    }
  })

  test(`${name} lists its models`, async () => {
    const list = (await (await ask(`${origin}${basePaths[0]}/models`)).json()) as { data: { id: string }[] }
    assert.ok(list.data.length > 0)
  })

  test(`${name} fails as the model id specifies, whole and streamed`, async () => {
    for (const status of [400, 401, 404, 429, 500])
      for (const stream of [false, true]) {
        const response = await ask(chat, { model: `scenario-${status}`, stream })
        assert.equal(response.status, status)
        assert.equal(response.headers.has('retry-after'), status === 429)
        assert.equal(
          typeof ((await response.json()) as { error: { message: string } }).error.message,
          'string',
        )
      }
  })
}

test('deepseek answers with and without /v1', async () => {
  for (const path of ['', '/v1'])
    assert.equal((await ask(`https://api.deepseek.com${path}/chat/completions`, { model: 'm' })).status, 200)
})

test('a model with recorded reasoning sends that reasoning', async () => {
  const asks: [string, string, RegExp][] = [
    ['https://api.deepseek.com/chat/completions', 'deepseek-v4-pro', /"reasoning_content":"\w/],
    ['https://openrouter.ai/api/v1/chat/completions', 'moonshotai/kimi-k2.5', /"reasoning":"\w/],
    ['https://api.groq.com/openai/v1/chat/completions', 'openai/gpt-oss-120b', /"reasoning":"\w/],
    ['https://api.openai.com/v1/chat/completions', 'gpt-6-luna', /"reasoning_tokens":\s*[1-9]/],
  ]
  const stream_options = { include_usage: true }
  for (const [url, model, thought] of asks)
    for (const stream of [false, true])
      assert.match(await (await ask(url, { model, stream, stream_options })).text(), thought)
})

test('each provider refuses an invalid body in its own way', async () => {
  for (const body of ['[', '[]', 'null', '{"messages":3}', '']) {
    const request = new Request('https://api.openai.com/v1/chat/completions', { method: 'POST', body })
    const response = await answerRequest(world, request)
    assert.equal(response.status, 400, body)
    const { error } = (await response.json()) as { error: { type: string } }
    assert.equal(error.type, 'invalid_request_error')
  }
})

test('a stream ends with usage only if the request asked for usage (USE-03)', async () => {
  const url = 'https://api.openai.com/v1/chat/completions'
  const asked = { model: 'gpt-6-sol', stream: true, stream_options: { include_usage: true } }
  const withUsage = await (await ask(url, asked)).text()
  const without = await (await ask(url, { ...asked, stream_options: undefined })).text()
  assert.match(withUsage, /"choices":\[\],"usage":\{/)
  assert.equal(without, withUsage.replace(/data: [^\n]*"choices":\[\],"usage":\{[^\n]*\n\n/, ''))
})
