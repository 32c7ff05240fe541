// Tools in the input, as Codex sends them (`additional_tools`), over real sockets with providers of every
// dialect. The mocks are as strict as the real models. Rules see these tools and estimates count them.
// Providers receive the tools, and clients receive calls with their own tool names.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { testGateway } from '../../test/test-gateway.ts'
import { gatewayAtModels } from '../../test/test-models.ts'
import { ResponsesTraits } from './client.ts'

const parameters = { type: 'object', properties: { cell_id: { type: 'string' } }, required: ['cell_id'] }
const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
const ADDED: any = {
  type: 'additional_tools',
  id: 'at_1',
  role: 'developer',
  tools: [
    {
      type: 'namespace',
      name: 'functions',
      description: '',
      tools: [
        { type: 'custom', name: 'exec', description: 'Runs code.', format: GRAMMAR },
        { type: 'function', name: 'wait', description: 'Waits.', strict: false, parameters },
      ],
    },
    { type: 'function', name: 'sleep', description: 'Sleeps.', strict: false, parameters },
  ],
}
const user = (text: string) => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text, prompt_cache_breakpoint: { mode: 'explicit' } }],
})
const asked = (model: string, ...input: object[]): any => ({
  model,
  input: [ADDED, { type: 'message', role: 'developer', content: 'be brief' }, ...input],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'medium', context: 'all_turns' },
  store: false,
  include: ['reasoning.encrypted_content'],
})

const NAMES = ['functions__exec', 'functions__wait', 'sleep']
const TARGETS = [
  ['claude/claude-opus-5-5', ({ tools }: any) => tools.map(({ name }: any) => name)],
  ['deep/deepseek-v4-pro', ({ tools }: any) => tools.map((each: any) => each.function.name)],
  ['chats/gpt-5.6-sol', ({ tools }: any) => tools.map((each: any) => each.function.name)],
  ['google/gemini-3.8-flash', ({ tools }: any) => tools[0].functionDeclarations.map(({ name }: any) => name)],
] as const

for (const [target, namesIn] of TARGETS)
  test(`tools in the input reach ${target}, tool calls use the client’s tool names, and the conversation continues (RSP-07, FIT-06)`, async (t) => {
    const { mock, url, newest } = await gatewayAtModels(
      t,
      `routes: { auto: { rules: [ { when: { tools: false }, use: { target: claude/claude-haiku-4-5 } } ], targets: [ { model: ${target} }, { model: claude/claude-haiku-4-5 } ] } }`,
    )
    const said = [
      { name: 'functions__exec', id: 'call_a', arguments: { input: 'text("hi")' } },
      { name: 'functions__wait', id: 'call_b', arguments: { cell_id: '7' } },
    ]
    mock.answer([{ say: { reasoning: 'hm', text: 'Let me look.', calls: said } }, { say: { text: 'Done.' } }])
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const first: any = await openai.responses.stream(asked('auto', user('look'))).finalResponse()
    const calls = first.output.filter(({ type }: any) => /_call$/.test(type))
    assert.deepEqual(
      calls.map(({ type, name, namespace, input, arguments: args }: any) => [
        type,
        namespace,
        name,
        input ?? args,
      ]),
      [
        ['custom_tool_call', 'functions', 'exec', 'text("hi")'],
        ['function_call', 'functions', 'wait', '{"cell_id":"7"}'],
      ],
    )
    const items = first.output.map(({ parsed_arguments: _, ...item }: any) =>
      item.type === 'message' ? { ...item, phase: 'commentary' } : item,
    )
    const second: any = await openai.responses.create(
      asked(
        'auto',
        user('look'),
        ...items,
        { type: 'custom_tool_call_output', call_id: calls[0].call_id, output: 'hi' },
        { type: 'function_call_output', call_id: calls[1].call_id, output: 'waited' },
      ),
    )
    assert.equal(second.output_text, 'Done.')
    const received = mock.entries().filter(({ kind }) => kind === 'inference')
    assert.deepEqual(
      received.map(({ answer, body }) => [answer.status, namesIn(body)]),
      [
        [200, NAMES],
        [200, NAMES],
      ],
    )
    const { attempt_log } = await newest()
    for (const loss of ['cache_control', 'phase', 'thinking.context', 'tool.custom.grammar'])
      assert.ok(attempt_log[0].losses.includes(loss), loss)
    assert.ok(!attempt_log[0].losses.some((loss: string) => loss.startsWith('unknown')))
  })

test('tools in the input keep their place at a Responses provider, and only models that accept the reduced format receive its marker', async (t) => {
  const { mock, post } = await gatewayAtModels(t)
  const marker = 'x-openai-internal-codex-responses-lite'
  for (const [model, passes] of [
    ['answers/gpt-6-sol', true],
    ['answers/gpt-5.4', false],
  ] as const) {
    const { status, text } = await post('/v1/responses', asked(model, user('look')), { [marker]: 'true' })
    assert.equal(status, 200, text)
    const { body, headers }: any = mock.entries().at(-1)
    assert.deepEqual(body.input[0], ADDED)
    assert.equal(headers[marker] !== undefined, passes, model)
  }
})

test('a model about which nothing is known receives the marker, and is asked again without it if it refuses', async (t) => {
  const marker = 'x-openai-internal-codex-responses-lite'
  const received: boolean[] = []
  const { get } = await testGateway(t, {
    providers: {
      alpha: (response, { headers }) => {
        const isMarked = headers[marker] !== undefined
        received.push(isMarked)
        response.writeHead(isMarked ? 400 : 200, { 'content-type': 'application/json' })
        const message = 'This model is not supported when using X-OpenAI-Internal-Codex-Responses-Lite.'
        const answer = {
          id: 'resp_1',
          object: 'response',
          status: 'completed',
          model: 'gpt-7-nova',
          output: [],
        }
        response.end(
          JSON.stringify(isMarked ? { error: { message, type: 'invalid_request_error' } } : answer),
        )
      },
    },
    dialects: { alpha: ['responses'] },
    config: 'routes: { auto: { targets: [ { model: alpha/gpt-7-nova } ] } }',
  })
  const call = (headers: Record<string, string>) =>
    get('/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'auto', input: 'hi' }),
    })
  assert.equal((await call({ [marker]: 'true' })).status, 200)
  assert.deepEqual(received, [true, false])
  assert.equal((await call({})).status, 200)
  assert.deepEqual(received, [true, false, false])
})

test('a request with tools in its input counts as a request with tools, and the definitions count in full', () => {
  const traitsOf = (...input: object[]) => new ResponsesTraits({ model: 'm', input })
  assert.equal(traitsOf(user('look')).tools, false)
  assert.equal(traitsOf({ ...ADDED, tools: [] }, user('look')).tools, false)
  assert.equal(traitsOf(ADDED, user('look')).tools, true)
  const long = { ...ADDED.tools[1], name: 'id', description: 'the quick brown fox '.repeat(200) }
  const counted = traitsOf({ ...ADDED, tools: [long] }, user('look')).inputTokens
  const above = new ResponsesTraits({ model: 'm', input: [user('look')], tools: [long] }).inputTokens
  assert.ok(counted >= 700 && Math.abs(counted - above) <= 2, `${counted} and ${above} tokens`)
})
