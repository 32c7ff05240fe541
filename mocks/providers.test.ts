import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import test from 'node:test'
import { getResponse } from 'msw'
import { providers } from './providers.ts'
import { readRecordings } from './recording.ts'

const recordings = readRecordings()
const handlers = providers.flatMap((provider) => provider.handlers(recordings, { pace: 'none' }))

/** Asks the handlers as the witness does: without interception. */
async function ask(url: string, body?: unknown): Promise<Response> {
  const request = new Request(url, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
  const response = await getResponse(handlers, request)
  assert.ok(response, `no handler for ${url}`)
  return response
}

test('every file in providers/ is in the list', () => {
  const files = readdirSync(new URL('./providers', import.meta.url)).map((file) => file.replace('.ts', ''))
  assert.deepEqual(files.sort(), providers.map(({ name }) => name).sort())
})

for (const { name, origin, basePaths } of providers) {
  const chat = `${origin}${basePaths[0]}/chat/completions`

  test(`${name} answers a chat, whole and streamed`, async () => {
    const whole = await ask(chat, { model: 'm', messages: [] })
    assert.equal(((await whole.json()) as { object: string }).object, 'chat.completion')
    const streamed = await (await ask(chat, { model: 'm', messages: [], stream: true })).text()
    assert.match(streamed, /"usage":\{/)
    assert.ok(streamed.endsWith('data: [DONE]\n\n'))
  })

  test(`${name} calls a tool once, then answers`, async () => {
    const tools = [{ type: 'function', function: { name: 'get_weather' } }]
    for (const stream of [false, true]) {
      const first = await ask(chat, { model: 'm', stream, tools, messages: [{ role: 'user' }] })
      assert.match(await first.text(), /"tool_calls"/)
      const second = await ask(chat, {
        model: 'm',
        stream,
        tools,
        messages: [{ role: 'user' }, { role: 'tool' }],
      })
      assert.doesNotMatch(await second.text(), /"tool_calls"/)
    }
  })

  test(`${name} lists its models`, async () => {
    const list = (await (await ask(`${origin}${basePaths[0]}/models`)).json()) as { data: { id: string }[] }
    assert.ok(list.data.length > 0)
  })

  test(`${name} fails as told by the model id, whole and streamed`, async () => {
    for (const status of [400, 401, 404, 429, 500])
      for (const stream of [false, true]) {
        const response = await ask(chat, { model: `scenario-${status}`, stream, messages: [] })
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

test('a model with a recording of its own thinks aloud', async () => {
  const asks: [string, string, RegExp][] = [
    ['https://api.deepseek.com/chat/completions', 'deepseek-reasoner', /"reasoning_content":"\w/],
    ['https://openrouter.ai/api/v1/chat/completions', 'moonshotai/kimi-k2.5', /"reasoning":"\w/],
    ['https://api.groq.com/openai/v1/chat/completions', 'openai/gpt-oss-120b', /"reasoning":"\w/],
    ['https://api.openai.com/v1/chat/completions', 'gpt-5-mini', /"reasoning_tokens":\s*[1-9]/],
  ]
  for (const [url, model, thought] of asks)
    for (const stream of [false, true])
      assert.match(await (await ask(url, { model, stream })).text(), thought)
})

test('a body that is no JSON object is answered like one without fields', async () => {
  for (const body of ['[', '[]', 'null', '{"messages":3}']) {
    const request = new Request('https://api.openai.com/v1/chat/completions', { method: 'POST', body })
    assert.equal((await getResponse(handlers, request))?.status, 200, body)
  }
})
