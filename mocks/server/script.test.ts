// Tests scripts for calls with no nonce in their prompts, because other programs make them. Uses a real
// socket.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { clock } from '../../src/shared/clock.ts'
import { interceptProviders } from './intercept.ts'
import type { ScriptedAnswer } from './script.ts'
import { ask, chatBody, mockFor } from './test-mock.ts'

const say = (text: string): ScriptedAnswer => ({ say: { text } })

async function scripted(t: TestContext) {
  const mock = await mockFor(t)
  return {
    mock,
    async said(prompt = 'Where to?', more: object = {}): Promise<any> {
      const { choices, error } = (await (await ask(mock, chatBody('m', more, prompt))).json()) as any
      return error?.message ?? choices[0].message.tool_calls ?? choices[0].message.content
    },
  }
}

test('the next calls get the scripted answers in order, and later calls get the usual answers', async (t) => {
  const { mock, said } = await scripted(t)
  mock.answer([say('one'), { ...say('two'), times: 2 }])
  mock.answer(say('three'))
  const answers: string[] = []
  for (let i = 0; i < 4; i++) answers.push(await said())
  assert.deepEqual(answers, ['one', 'two', 'two', 'three'])
  assert.match(await said(), /recorded answer/)
})

test('an answer for every call stays until clear(), but answers for the next call take precedence', async (t) => {
  const { mock, said } = await scripted(t)
  mock.answer({ ...say('always'), times: 'every' })
  assert.deepEqual([await said(), await said()], ['always', 'always'])
  mock.answer(say('once'))
  mock.answer({ ...say('later'), times: 'every' })
  assert.deepEqual([await said(), await said()], ['once', 'later'])
  mock.clear()
  assert.match(await said(), /recorded answer/)
})

test('a condition or a function selects the calls, and the mock’s error says if the function threw', async (t) => {
  const { mock, said } = await scripted(t)
  mock.answer([
    { ...say('Sunny.'), when: { user: 'weather' }, times: 'every' },
    { ...say('Deep.'), when: ({ parts }) => parts.some(({ text }) => text.length > 100), times: 'every' },
  ])
  assert.equal(await said('How is the weather?'), 'Sunny.')
  assert.equal(await said('x'.repeat(101)), 'Deep.')
  assert.match(await said('Where to?'), /recorded answer/)
  mock.answer({
    ...say('never'),
    when: () => {
      throw new Error('no such luck')
    },
  })
  assert.equal(await said(), 'The function "when" of a script failed: no such luck. Correct it.')
})

const anyPath: [provider: string, method: string, path: string][] = [
  ['openai', 'POST', 'conversations'],
  ['openai', 'GET', 'conversations/conv_1/items'],
  ['openai', 'DELETE', 'vector_stores/vs_1'],
  ['openai', 'PATCH', 'a/path/of/tomorrow'],
  ['anthropic', 'GET', 'skills'],
  ['anthropic', 'POST', 'environments'],
  ['gemini', 'POST', 'fileSearchStores'],
  ['cohere', 'POST', 'chat'],
  ['mistral', 'PUT', 'agents/ag_1'],
]
for (const [provider, method, path] of anyPath)
  test(`a complete answer is sent at a path that the mock of ${provider} does not know: ${method} ${path}`, async (t) => {
    const { mock } = await scripted(t)
    const key = mock.key(provider)
    const send = () =>
      fetch(`${mock.baseUrl(provider)}/${path}`, {
        method,
        headers: {
          ...{ authorization: `Bearer ${key}`, 'x-api-key': key, 'x-goog-api-key': key },
          'anthropic-version': '2023-06-01',
        },
        body: method === 'GET' ? null : '{}',
      })
    mock.answer({ status: 201, body: { id: 'conv_1' }, headers: { 'x-own': 'yes' } })
    mock.answer({ events: [{ data: { n: 1 } }] })
    const whole = await send()
    assert.deepEqual([whole.status, await whole.json()], [201, { id: 'conv_1' }])
    assert.equal(await (await send()).text(), 'data: {"n":1}\n\n')
    mock.answer(say('words'))
    assert.match(await (await send()).text(), /speaks no dialect at .*Script a complete answer/)
    assert.equal((await send()).status, 404)
  })

test('a complete answer is sent for any address inside the process', async (t) => {
  const providers = interceptProviders({ pace: 'none' })
  t.after(() => providers.dispose())
  for (const [method, url] of [
    ['GET', 'https://api.weather.example/today?city=Bern'],
    ['POST', 'https://login.example/token'],
    ['POST', 'https://api.openai.com/v1/conversations'],
    ['PUT', 'https://api.anthropic.com/elsewhere'],
    ['DELETE', 'http://192.0.2.7:8080/x'],
  ] as const) {
    providers.answer({ status: 202, body: { of: url } })
    const answer = await fetch(url, { method })
    assert.deepEqual([answer.status, await answer.json()], [202, { of: url }])
  }
})

test('an official client obeys a scripted wait without losing real time', async (t) => {
  const { mock } = await scripted(t)
  const openai = new OpenAI({ baseURL: mock.baseUrl('openai'), apiKey: mock.key('openai') })
  const anthropic = new Anthropic({
    baseURL: mock.baseUrl('anthropic').replace(/\/v1$/, ''),
    apiKey: mock.key('anthropic'),
  })
  const refused: ScriptedAnswer = { status: 429, headers: { 'retry-after-ms': '1' } }
  mock.answer([refused, say('a second try'), refused, say('a second try')])
  const before = clock.monotonic()
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const chat = await openai.chat.completions.create({ model: 'gpt-5-mini', messages })
  assert.equal(chat.choices[0]!.message.content, 'a second try')
  const message = await anthropic.messages.create({ model: 'claude-sonnet-5', max_tokens: 9, messages })
  assert.deepEqual(message.content[0]?.type === 'text' && message.content[0].text, 'a second try')
  assert.deepEqual(
    mock.entries().map(({ answer }) => answer.status),
    [429, 200, 429, 200],
  )
  assert.ok(clock.monotonic() - before < 1900, 'the usual wait is 2 s')
})

test('other kinds of requests do not use up an answer', async (t) => {
  const { mock, said } = await scripted(t)
  mock.answer(say('kept'))
  const models = await fetch(`${mock.baseUrl('openai')}/models`, {
    headers: { authorization: `Bearer ${mock.key('openai')}` },
  })
  assert.equal(models.status, 200)
  assert.equal(await said(), 'kept')
})

test('a delayed whole answer still states its length', async (t) => {
  const { mock } = await scripted(t)
  for (const answer of [
    { ...say('late'), wait: 60 },
    { status: 503, wait: 60 },
  ] as ScriptedAnswer[]) {
    mock.answer(answer)
    const began = clock.monotonic()
    const response = await ask(mock, chatBody('m'))
    assert.ok(clock.monotonic() - began >= 59)
    assert.equal(Number(response.headers.get('content-length')), (await response.text()).length)
  }
})

const tools = [
  {
    type: 'function',
    function: {
      name: 'get_tides',
      parameters: {
        type: 'object',
        properties: { harbour: { type: 'string', enum: ['Genoa'] }, days: { type: 'integer', minimum: 2 } },
        required: ['harbour', 'days'],
      },
    },
  },
]

test('a scripted tool call derives its tool, arguments and id from the request', async (t) => {
  const { mock, said } = await scripted(t)
  mock.answer([
    { say: { calls: [{}] } },
    { say: { calls: [{ name: 'get_tides' }, { name: 'other', arguments: { a: 1 } }] } },
  ])
  const [call] = await said('first', { tools })
  assert.equal(call.function.name, 'get_tides')
  assert.deepEqual(JSON.parse(call.function.arguments), { harbour: 'Genoa', days: 2 })
  const [tides, other] = await said('second', { tools })
  assert.deepEqual([tides.function.name, other.function.arguments], ['get_tides', '{"a":1}'])
  assert.equal(new Set([call.id, tides.id, other.id]).size, 3)
  mock.answer([{ say: { calls: [{ name: 'get_tide' }] } }, { say: { calls: [{}] } }])
  assert.match(
    await said('third', { tools }),
    /calls the tool "get_tide", but the request offers get_tides\./,
  )
  assert.match(await said('fourth'), /calls a tool, but the request offers none\./)
})

const mistakes: [string, unknown, RegExp][] = [
  ['an unknown member', { wiat: 5 }, /^\[0\]: "wiat" is not known here; known are when, provider, .*wait/],
  [
    'a text instead of arguments',
    { say: { calls: [{ arguments: '{}' }] } },
    /^\[0\]\.say\.calls\[0\]\.arguments: takes an object such as \{"city": "Bern"\}, not a text$/,
  ],
  ['a text instead of a number', { wait: 'long' }, /^\[0\]\.wait: takes a number, not a text$/],
  ['times 0', { times: 0 }, /^\[0\]\.times: takes a whole number from 1 on, or "every"$/],
  ['no condition', { when: {} }, /^\[0\]\.when: .*needs one of user, system, tool_result, turn, model/],
  ['a broken pattern', { when: { user: { pattern: '(' } } }, /^\[0\]\.when.*is no regular expression/],
  ['an empty list', [], /^the script: needs at least one answer$/],
  ['no object', 'plain', /^\[0\]: takes an object, not a text$/],
]
for (const [name, script, message] of mistakes)
  test(`a script with ${name} is refused, and the error names the field, in the process and on the control port`, async (t) => {
    const { mock } = await scripted(t)
    assert.throws(() => mock.answer(script as ScriptedAnswer), { message })
    const body = JSON.stringify(script)
    const response = await fetch(`${mock.controlUrl}/answers`, { method: 'POST', body })
    assert.equal(response.status, 400)
    assert.match(((await response.json()) as any).error.message, message)
  })

test('the control port accepts scripted answers', async (t) => {
  const { mock, said } = await scripted(t)
  const body = JSON.stringify({ ...say('over the port'), when: { turn: 1 } })
  assert.equal((await fetch(`${mock.controlUrl}/answers`, { method: 'POST', body })).status, 204)
  assert.equal(await said(), 'over the port')
})
