// Tests mistakes that applications make in conversations, over a real socket. Each dialect refuses the
// mistakes in its own words, and accepts unusual but valid conversations.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createMockProviders } from '../server/create.ts'

const mock = await createMockProviders({ lenient: true })
test.after(() => mock.close())

const user = { role: 'user', content: 'Where to?' }
const call = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
})
const result = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: '3' })
const chat = (...messages: object[]) => ({ path: 'chat/completions', body: { model: 'm', messages } })

const uses = (...ids: string[]) => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
})
const results = (...ids: string[]) => ({
  role: 'user',
  content: ids.map((tool_use_id) => ({ type: 'tool_result', tool_use_id, content: '3' })),
})
const messages = (...list: object[]) => ({
  path: 'messages',
  body: { model: 'm', max_tokens: 9, messages: list },
})

const asks = (call_id: string) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' })
const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: '3' })
const responses = (input: object[], more: object = {}) => ({
  path: 'responses',
  body: { model: 'm', input, ...more },
})

const says = { role: 'user', parts: [{ text: 'Where to?' }] }
const calls = (...names: string[]) => ({
  role: 'model',
  parts: names.map((name) => ({ functionCall: { name, args: {} } })),
})
const answers = (...names: string[]) => ({
  role: 'user',
  parts: names.map((name) => ({ functionResponse: { name, response: {} } })),
})
const gemini = (...contents: object[]) => ({ path: 'models/m:generateContent', body: { contents } })

interface Case {
  readonly path: string
  readonly body: object
}

async function ask(provider: string, { path, body }: Case): Promise<{ status: number; text: string }> {
  const key = mock.key(provider)
  const response = await fetch(`${mock.baseUrl(provider)}/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'x-goog-api-key': key,
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

const refused: [title: string, provider: string, asked: Case, words: RegExp][] = [
  ['a result at the start', 'openai', chat(result('c1')), /must be a response to a preceeding message/],
  [
    'a result of another call',
    'openai',
    chat(user, call('c1'), result('c2')),
    /must be a response to a prec/,
  ],
  [
    'a result after a question',
    'azure',
    chat(user, call('c1'), result('c1'), user, result('c1')),
    /must be a/,
  ],
  ['a call without a result', 'openai', chat(user, call('c1'), user), /did not have response messages: c1/],
  ['half of the results', 'mistral', chat(user, call('c1', 'c2'), result('c2'), user), /messages: c1/],
  ['a call at the end', 'openrouter', chat(user, call('c1')), /did not have response messages: c1/],
  [
    'a result at the start',
    'anthropic',
    messages(results('t1')),
    /messages\.0\.content\.0: unexpected `tool_use_id`/,
  ],
  [
    'a result of an earlier turn',
    'anthropic',
    messages(user, uses('t1'), results('t1'), { role: 'assistant', content: 'Well.' }, results('t1')),
    /messages\.4\.content\.0: unexpected/,
  ],
  [
    'a call without a result',
    'anthropic',
    messages(user, uses('t1', 't2'), results('t1')),
    /messages\.1: `tool_use` ids .*: t2\./,
  ],
  ['a call at the end', 'anthropic', messages(user, uses('t1')), /`tool_use` ids were found without/],
  [
    'an output without a call',
    'openai',
    responses([user, output('c1')]),
    /No tool call found for function call output with call_id c1/,
  ],
  [
    'a call without an output',
    'openai',
    responses([user, asks('c1')]),
    /No tool output found for function call c1/,
  ],
  ['a response at the start', 'gemini', gemini(answers('f')), /immediately after a function call turn/],
  [
    'fewer responses than calls',
    'gemini',
    gemini(says, calls('f', 'g'), answers('f')),
    /equal to the number of function call parts/,
  ],
  [
    'fewer responses than calls, in contents of their own,',
    'gemini',
    gemini(says, calls('f'), calls('g'), calls('h'), answers('f'), answers('g')),
    /equal to the number of function call parts/,
  ],
  [
    'more responses than calls',
    'gemini',
    gemini(says, calls('f'), answers('f'), answers('f')),
    /equal to the number of function call parts/,
  ],
  [
    'a question after a call',
    'gemini',
    gemini(says, calls('f'), says),
    /equal to the number of function call parts/,
  ],
]

for (const [title, provider, asked, words] of refused)
  test(`${provider} ${asked.path}: ${title} is refused`, async () => {
    const { status, text } = await ask(provider, asked)
    assert.equal(status, 400)
    assert.match(JSON.stringify(JSON.parse(text)), words)
    assert.match(mock.entries().at(-1)!.problems.join(), words)
  })

const accepted: [title: string, provider: string, asked: Case][] = [
  ['results in another order', 'openai', chat(user, call('c1', 'c2'), result('c2'), result('c1'))],
  ['two rounds', 'openai', chat(user, call('c1'), result('c1'), call('c2'), result('c2'), user)],
  ['any conversation, as at servers of open models,', 'ollama', chat(result('c1'))],
  [
    'results in two messages of one turn',
    'anthropic',
    messages(user, uses('t1', 't2'), results('t2'), results('t1')),
  ],
  [
    'instructions between call and result',
    'anthropic',
    messages(user, uses('t1'), { role: 'system', content: 'Be brief.' }, results('t1')),
  ],
  [
    'an output for a call that is stored at the provider',
    'openai',
    responses([output('c1')], { previous_response_id: 'resp_1' }),
  ],
  [
    'outputs after other items',
    'openai',
    responses([user, asks('c1'), asks('c2'), user, output('c2'), output('c1')]),
  ],
  ['responses after calls', 'gemini', gemini(says, calls('f', 'g'), answers('g', 'f'))],
  ['each response in its own content', 'gemini', gemini(says, calls('f', 'g'), answers('f'), answers('g'))],
  ['each call in its own content', 'gemini', gemini(says, calls('f'), calls('g'), answers('f', 'g'), says)],
  [
    'a response with the role `function`',
    'gemini',
    gemini(says, calls('f', 'g'), { ...answers('f'), role: 'function' }, answers('g')),
  ],
  [
    'contents without a role',
    'gemini',
    gemini({ parts: [{ text: 'Where to?' }] }, calls('f', 'g'), { parts: answers('f').parts }, answers('g')),
  ],
  [
    'text of the model beside its call, and of the user beside the response',
    'gemini',
    gemini(says, says, { role: 'model', parts: [{ text: 'Hm.' }] }, calls('f'), answers('f'), says),
  ],
  [
    'snake_case',
    'gemini',
    gemini(
      says,
      { role: 'model', parts: [{ function_call: { name: 'f', args: {} } }] },
      { role: 'user', parts: [{ function_response: { name: 'f', response: {} } }] },
    ),
  ],
  [
    'an image in mixed spelling',
    'gemini',
    gemini({ role: 'user', parts: [{ inlineData: { data: 'AA==', mime_type: 'image/png' } }] }),
  ],
]

for (const [title, provider, asked] of accepted)
  test(`${provider} ${asked.path}: ${title} is accepted`, async () => {
    const { status, text } = await ask(provider, asked)
    assert.equal(status, 200, text)
    assert.deepEqual(mock.entries().at(-1)!.problems, [])
  })

const wordings: [provider: string, asked: Case, words: string][] = [
  [
    'openai',
    { ...chat(user), body: { model: 'm', messages: [user], temperature: 2.5 } },
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
  ],
  [
    'openai',
    { ...chat(user), body: { model: 'm', messages: [user], max_tokens: 0 } },
    "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
  ],
  [
    'openai',
    { ...chat(user), body: { model: 'm', messages: [] } },
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
  ],
  [
    'openai',
    { ...chat(user), body: { model: 'm', messages: [{ role: 'oracle', content: 'x' }] } },
    "Invalid value: 'oracle'. Supported values are: 'developer', 'system', 'user', 'assistant', 'tool', and 'function'.",
  ],
  ['anthropic', { ...messages(user), body: { model: 'm', messages: [user] } }, 'max_tokens: Field required'],
  [
    'anthropic',
    { ...messages(user), body: { model: 'm', max_tokens: 9, messages: [user], temperature: 1.5 } },
    'temperature: Input should be less than or equal to 1',
  ],
]

for (const [provider, asked, words] of wordings)
  test(`${provider} refuses with the words: ${words}`, async () => {
    const { status, text } = await ask(provider, asked)
    assert.equal(status, 400)
    assert.equal(JSON.parse(text).error.message, words)
  })
