// Responses across dialects, over real sockets with the official clients: Codex's requests to Messages and
// chat providers, and Anthropic's client and chat requests to a Responses provider. Over 250 lines, because
// it spells out the bytes that are sent and received.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Script, stream } from '../../../mocks/test-upstream.ts'
import { sharedGateways } from '../../test/test-gateway.ts'
import { message, response, streamOf } from './test-samples.ts'

const sharedGateway = sharedGateways()

async function crossed(t: TestContext, api: string, script: Script, config = '') {
  const gateway = await sharedGateway(t, {
    providers: { alpha: script },
    dialects: { alpha: [api] },
    config: `routes: { auto: { targets: [ { model: alpha/m } ] } }\n${config}`,
  })
  const options = { apiKey: 'none', maxRetries: 0 }
  return {
    ...gateway,
    anthropic: new Anthropic({ baseURL: gateway.url, ...options }),
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, ...options }),
    sent: () => gateway.upstream.alpha!.ledger.at(-1)!.json as any,
    newest: async () => {
      const { json } = await gateway.get('/api/usage/request-logs?limit=1')
      return gateway.record(json.data[0].id)
    },
  }
}

const json =
  (body: unknown, status = 200): Script =>
  (res) =>
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const named = (event: { type: string } & Record<string, unknown>) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`

const block = (index: number, content_block: object, ...deltas: object[]) =>
  [
    named({ type: 'content_block_start', index, content_block }),
    ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })),
    named({ type: 'content_block_stop', index }),
  ].join('')
const args = (partial_json: string) => ({ type: 'input_json_delta', partial_json })
const use = (id: string, name: string) => ({ type: 'tool_use', id, name, input: {} })

/** Codex's four kinds of tools. */
const TOOLS: any[] = [
  { type: 'function', name: 'exec_command', strict: false, parameters: { type: 'object' } },
  {
    type: 'namespace',
    name: 'agents',
    description: 'Subagents.',
    tools: [{ type: 'function', name: 'spawn', description: 'Spawns.', parameters: { type: 'object' } }],
  },
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  },
  {
    type: 'tool_search',
    execution: 'client',
    description: 'Finds tools.',
    parameters: { type: 'object', properties: { query: { type: 'string' } } },
  },
]

const CLAUDE = [
  named({ type: 'message_start', message: { model: 'claude-x', usage: { input_tokens: 5 } } }),
  block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'hm' },
    { type: 'signature_delta', signature: 'c2ln/+==' },
  ),
  block(1, { type: 'redacted_thinking', data: 'cmVk' }),
  block(
    2,
    { type: 'text', text: '' },
    { type: 'text_delta', text: 'Look: ' },
    { type: 'text_delta', text: '👋' },
  ),
  block(3, use('toolu_1', 'exec_command'), args('{"cmd":'), args('"ls"}')),
  block(4, use('toolu_2', 'agents__spawn')),
  block(5, use('toolu_3', 'apply_patch'), args('{"input":"*** Begin'), args(' Patch\\n"}')),
  block(6, use('toolu_4', 'tool_search'), args('{"query":"mail"}')),
  named({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use' },
    usage: { output_tokens: 7, cache_read_input_tokens: 11, output_tokens_details: { thinking_tokens: 2 } },
  }),
  named({ type: 'message_stop' }),
].join('')

test('with a Messages provider, Codex can use tools and parallel calls, and the second turn returns all items (RSP-01, RSP-02, RSP-07, DIAL-08)', async (t) => {
  const gateway = await crossed(t, 'messages', stream(CLAUDE))
  const asked = {
    model: 'auto',
    tools: TOOLS,
    store: false,
    include: ['reasoning.encrypted_content' as const],
  }
  const events: any[] = []
  const final: any = await gateway.openai.responses
    .stream({ ...asked, instructions: 'be brief', input: 'look' })
    .on('event', (event) => events.push(event))
    .finalResponse()
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, n) => n),
  )
  const types = events.map(({ type }) => type)
  assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress'])
  assert.deepEqual(
    types.filter((type) => /^response\.(completed|failed|incomplete)$/.test(type)),
    [types.at(-1)],
  )
  let open: unknown = null
  for (const { type, output_index: at } of events) {
    if (type === 'response.output_item.added') {
      assert.equal(open, null, 'one item at a time')
      open = at
    } else if (at !== undefined) assert.equal(at, open, type)
    if (type === 'response.output_item.done') open = null
  }
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  assert.deepEqual(done, events.at(-1).response.output)

  const [thought, redacted, text, ...calls] = final.output
  assert.deepEqual([thought.summary, redacted.summary], [[{ type: 'summary_text', text: 'hm' }], []])
  assert.equal(text.content[0].text, 'Look: 👋')
  assert.deepEqual(
    calls.map(({ type, name, namespace, arguments: made, input, call_id }: any) => [
      type,
      name,
      namespace,
      made ?? input,
      call_id,
    ]),
    [
      ['function_call', 'exec_command', undefined, '{"cmd":"ls"}', 'toolu_1'],
      ['function_call', 'spawn', 'agents', '{}', 'toolu_2'],
      ['custom_tool_call', 'apply_patch', undefined, '*** Begin Patch\n', 'toolu_3'],
      ['tool_search_call', undefined, undefined, { query: 'mail' }, 'toolu_4'],
    ],
  )
  const { usage } = final
  assert.deepEqual(
    [usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens],
    [16, 11, 7],
  )
  assert.equal(usage.output_tokens_details.reasoning_tokens, 2)
  assert.deepEqual(
    gateway.sent().tools.map(({ name, description }: any) => [name, description]),
    [
      ['exec_command', undefined],
      ['agents__spawn', 'Subagents.\n\nSpawns.'],
      ['apply_patch', 'Edits.\n\nThe input must follow this grammar:\nstart: "x"'],
      ['tool_search', 'Finds tools.'],
    ],
  )

  gateway.upstream.alpha!.script = stream(
    named({ type: 'message_start', message: { model: 'c' } }),
    block(0, use('toolu_5', 'mail__send'), args('{}')),
    named({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }),
    named({ type: 'message_stop' }),
  )
  const found = {
    type: 'namespace',
    name: 'mail',
    description: 'Mail.',
    tools: [{ type: 'function', name: 'send', parameters: { type: 'object' } }],
  }
  // The turn as Codex returns it: items with nulls, and results in another order.
  const second: any = await gateway.openai.responses
    .stream({
      ...asked,
      input: [
        { role: 'user', content: 'look' },
        ...final.output.map(({ parsed_arguments: _, ...item }: any) =>
          item.type === 'reasoning' ? { ...item, content: null } : item,
        ),
        {
          type: 'tool_search_output',
          call_id: 'toolu_4',
          execution: 'client',
          status: 'completed',
          tools: [found],
        },
        { type: 'function_call_output', call_id: 'toolu_2', output: 'spawned' },
        {
          type: 'function_call_output',
          call_id: 'toolu_1',
          output: [
            { type: 'input_text', text: 'a.txt' },
            { type: 'input_image', image_url: 'data:image/png;base64,QUJD' },
          ],
        },
        { type: 'custom_tool_call_output', call_id: 'toolu_3', output: 'patched' },
      ] as any,
    })
    .finalResponse()
  const [, assistant, results] = gateway.sent().messages
  assert.deepEqual(assistant.content, [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln/+==' },
    { type: 'redacted_thinking', data: 'cmVk' },
    { type: 'text', text: 'Look: 👋' },
    { ...use('toolu_1', 'exec_command'), input: { cmd: 'ls' } },
    use('toolu_2', 'agents__spawn'),
    { ...use('toolu_3', 'apply_patch'), input: { input: '*** Begin Patch\n' } },
    { ...use('toolu_4', 'tool_search'), input: { query: 'mail' } },
  ])
  assert.deepEqual(
    results.content.map(({ tool_use_id: id, content }: any) => [id, content]),
    [
      ['toolu_4', JSON.stringify([found])],
      ['toolu_2', 'spawned'],
      [
        'toolu_1',
        [
          { type: 'text', text: 'a.txt' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
        ],
      ],
      ['toolu_3', 'patched'],
    ],
  )
  const [call] = second.output
  assert.deepEqual([call.type, call.namespace, call.name], ['function_call', 'mail', 'send'])
  const { attempt_log, state } = await gateway.newest()
  assert.deepEqual([state, attempt_log[0].losses], ['completed', ['tool.custom.grammar']])
})

test('with a chat provider, Codex receives interleaved calls, unusual ids, thoughts and a stop at the length limit, and the ids return unchanged (RSP-01, DIAL-06)', async (t) => {
  const call = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] })
  const gateway = await crossed(
    t,
    'chat',
    stream(
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      call(0, { id: 'functions.exec:0', function: { name: 'exec_command', arguments: '' } }),
      call(1, { id: 'functions.exec:1', function: { name: 'agents__spawn', arguments: '{"a"' } }),
      call(0, { function: { arguments: '{"cmd":"ls"}' } }),
      call(1, { function: { arguments: ':1}' } }),
      chunk({}, 'tool_calls'),
      `data: ${JSON.stringify({ model: 'm', choices: [], usage: { prompt_tokens: 9, completion_tokens: 3 } })}\n\n`,
      'data: [DONE]\n\n',
    ),
  )
  const asked = { model: 'auto', tools: TOOLS.slice(0, 2) }
  const first: any = await gateway.openai.responses
    .stream({
      ...asked,
      instructions: 'be brief',
      input: [
        { role: 'developer', content: 'and kind' },
        { role: 'user', content: 'look' },
      ],
    })
    .finalResponse()
  assert.deepEqual(gateway.sent().messages, [
    { role: 'system', content: 'be brief\n\nand kind' },
    { role: 'user', content: 'look' },
  ])
  const [thought, ...calls] = first.output
  assert.equal(thought.summary[0].text, 'hm')
  assert.deepEqual(
    calls.map(({ namespace, name, arguments: made }: any) => [namespace, name, made]),
    [
      [undefined, 'exec_command', '{"cmd":"ls"}'],
      ['agents', 'spawn', '{"a":1}'],
    ],
  )
  for (const { call_id } of calls) assert.match(call_id, /^[a-zA-Z0-9_-]{1,40}$/)
  assert.deepEqual(first.usage, {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 12,
  })

  gateway.upstream.alpha!.script = json({
    model: 'm',
    choices: [{ message: { content: 'half' }, finish_reason: 'length' }],
  })
  const second: any = await gateway.openai.responses.create({
    ...asked,
    input: [
      { role: 'user', content: 'look' },
      ...first.output.map(({ parsed_arguments: _, ...item }: any) => item),
      ...calls.map(({ call_id }: any) => ({ type: 'function_call_output', call_id, output: call_id })),
    ],
  })
  assert.deepEqual(
    [second.status, second.incomplete_details, second.output_text, second.usage.total_tokens],
    ['incomplete', { reason: 'max_output_tokens' }, 'half', 0],
  )
  const { messages } = gateway.sent()
  assert.deepEqual(
    messages[1].tool_calls.map((each: any) => [each.id, each.function.name]),
    [
      ['functions.exec:0', 'exec_command'],
      ['functions.exec:1', 'agents__spawn'],
    ],
  )
  assert.equal(messages[1].reasoning_content, 'hm')
  assert.deepEqual(
    messages.slice(2).map((each: any) => each.tool_call_id),
    ['functions.exec:0', 'functions.exec:1'],
  )
})

test('a truncated stream, an error in a stream and a refusal arrive as errors in the Responses format (RSP-03, RSP-12)', async (t) => {
  const gateway = await crossed(t, 'messages', stream(CLAUDE.split('event: message_delta')[0]!))
  const types: string[] = []
  const numbers: number[] = []
  const streamed = async () => {
    const events = await gateway.openai.responses.create({ model: 'auto', input: 'x', stream: true })
    for await (const { type, sequence_number } of events) {
      types.push(type)
      numbers.push(sequence_number)
    }
  }
  await streamed()
  assert.equal(types.at(-1), 'response.failed')
  assert.deepEqual(
    numbers,
    numbers.map((_, n) => n),
  )
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  gateway.upstream.alpha!.script = json(overloaded, 529)
  await assert.rejects(
    gateway.openai.responses.create({ model: 'auto', input: 'x' }),
    (error: any) =>
      error instanceof OpenAI.APIError && error.status === 529 && /Overloaded/.test(error.message),
  )
  const before = gateway.received()
  const compaction: any = { model: 'auto', input: [{ type: 'compaction_trigger' }] }
  await assert.rejects(
    gateway.openai.responses.create(compaction),
    (error: any) => error instanceof OpenAI.BadRequestError && /compaction_trigger/.test(error.message),
  )
  assert.equal(gateway.received(), before)
})

const call = (n: number, more: object = {}) => ({
  type: 'function_call',
  id: `fc_${n}`,
  call_id: `call_${n}`,
  name: 'Bash',
  arguments: n === 2 ? '{}' : '{"cmd":"ls"}',
  ...more,
})
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA+/==' }
const OUTPUT = [
  { ...REASONING, summary: [{ type: 'summary_text', text: 'hm' }] },
  { ...message('Look:'), phase: 'commentary' },
  call(1),
  call(2),
]
const USAGE = {
  input_tokens: 16,
  input_tokens_details: { cached_tokens: 11 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
}
const GPT = streamOf(
  { type: 'response.created', response: response('gpt-x', 'in_progress') },
  { type: 'response.output_item.added', output_index: 0, item: REASONING },
  {
    type: 'response.reasoning_summary_part.added',
    item_id: OUTPUT[0]!.id,
    output_index: 0,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  },
  {
    type: 'response.reasoning_summary_text.delta',
    item_id: OUTPUT[0]!.id,
    output_index: 0,
    summary_index: 0,
    delta: 'hm',
  },
  { type: 'response.output_item.done', output_index: 0, item: OUTPUT[0] },
  { type: 'response.output_item.added', output_index: 1, item: { ...message(''), content: [] } },
  {
    type: 'response.content_part.added',
    item_id: OUTPUT[1]!.id,
    output_index: 1,
    content_index: 0,
    part: { type: 'output_text', text: '', annotations: [] },
  },
  {
    type: 'response.output_text.delta',
    item_id: OUTPUT[1]!.id,
    output_index: 1,
    content_index: 0,
    delta: 'Look:',
  },
  { type: 'response.output_item.done', output_index: 1, item: OUTPUT[1] },
  // Interleaved calls, and a call that arrives whole.
  { type: 'response.output_item.added', output_index: 2, item: call(1, { arguments: '' }) },
  { type: 'response.output_item.added', output_index: 3, item: call(2) },
  { type: 'response.output_item.done', output_index: 3, item: call(2) },
  {
    type: 'response.function_call_arguments.delta',
    item_id: OUTPUT[2]!.id,
    output_index: 2,
    delta: '{"cmd":',
  },
  { type: 'response.function_call_arguments.delta', item_id: OUTPUT[2]!.id, output_index: 2, delta: '"ls"}' },
  { type: 'response.output_item.done', output_index: 2, item: call(1) },
  { type: 'response.completed', response: response('gpt-x', 'completed', { output: OUTPUT, usage: USAGE }) },
)

test('with a Responses provider, Claude Code receives blocks in order, and OpenAI receives its reasoning back byte for byte (DIAL-08, MSG-03)', async (t) => {
  const gateway = await crossed(t, 'responses', stream(GPT))
  const asked = {
    model: 'auto',
    max_tokens: 8_000,
    thinking: { type: 'adaptive' as const },
    tools: [{ name: 'Bash', input_schema: { type: 'object' as const } }],
  }
  const said = await gateway.anthropic.messages
    .stream({ ...asked, system: 'be brief', messages: [{ role: 'user', content: 'look' }] })
    .finalMessage()
  assert.deepEqual(
    said.content.map((each: any) => each.thinking ?? each.text ?? [each.id, each.input]),
    ['hm', 'Look:', ['call_1', { cmd: 'ls' }], ['call_2', {}]],
  )
  assert.deepEqual([said.stop_reason, said.model], ['tool_use', 'gpt-x'])
  const { usage } = said
  assert.deepEqual([usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens], [5, 11, 7])
  const { store, include, reasoning, instructions, max_output_tokens: most } = gateway.sent()
  assert.deepEqual(
    [store, include, reasoning, instructions, most],
    [false, ['reasoning.encrypted_content'], { summary: 'auto' }, 'be brief', 8_000],
  )
  const { response_id, tokens } = await gateway.newest()
  assert.deepEqual([response_id, tokens.reasoning], [null, 2])

  gateway.upstream.alpha!.script = json(response('gpt-x', 'completed', { output: [message('done')] }))
  const second = await gateway.anthropic.messages.create({
    ...asked,
    messages: [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: said.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_2', content: 'b' },
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [
              { type: 'text', text: 'a' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
            ],
          },
        ],
      },
    ],
  })
  assert.deepEqual([second.content, second.stop_reason], [[{ type: 'text', text: 'done' }], 'end_turn'])
  const [, thought, text, ...rest] = gateway.sent().input
  assert.deepEqual(thought, OUTPUT[0])
  assert.equal(text.content[0].text, 'Look:')
  assert.deepEqual(
    rest.map(({ type, call_id, output }: any) => [type, call_id, output]),
    [
      ['function_call', 'call_1', undefined],
      ['function_call', 'call_2', undefined],
      ['function_call_output', 'call_2', 'b'],
      [
        'function_call_output',
        'call_1',
        [
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image_url: 'data:image/png;base64,QUJD', detail: 'auto' },
        ],
      ],
    ],
  )
})

test('the official chat client reads text, calls and usage in a Responses provider’s stream', async (t) => {
  const gateway = await crossed(t, 'responses', stream(GPT))
  const { choices, usage } = await gateway.openai.chat.completions
    .stream({
      model: 'auto',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'look' },
      ],
      tools: [{ type: 'function', function: { name: 'Bash', parameters: { type: 'object' } } }],
      response_format: { type: 'json_object' },
      stream_options: { include_usage: true },
    })
    .finalChatCompletion()
  const [{ message: said, finish_reason }] = choices as any
  assert.deepEqual(
    [said.content, finish_reason, said.tool_calls.map((each: any) => each.function.arguments)],
    ['Look:', 'tool_calls', ['{"cmd":"ls"}', '{}']],
  )
  assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [16, 7])
  const { input, instructions, text, tools } = gateway.sent()
  assert.deepEqual([instructions, input.length, text], ['be brief', 1, { format: { type: 'json_object' } }])
  assert.deepEqual(tools, [{ type: 'function', name: 'Bash', parameters: { type: 'object' }, strict: false }])
})

test('after a switch to another model family, the new provider never receives the old provider’s encrypted reasoning as its own (DIAL-07)', async (t) => {
  const gateway = await sharedGateway(t, {
    providers: { claude: stream(CLAUDE), gpt: stream(GPT) },
    dialects: { claude: ['messages'], gpt: ['responses'] },
    config: 'routes: { auto: { targets: [ { model: claude/m } ] } }',
  })
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 })
  const ask = async (model: string, items: any[]): Promise<any> =>
    openai.responses
      .stream({ model, tools: TOOLS, input: [{ role: 'user', content: 'look' }, ...items] })
      .finalResponse()
  const answered = (output: any[]) =>
    output
      .filter(({ call_id }) => call_id)
      .map(({ call_id, type }) =>
        type === 'tool_search_call'
          ? { type: 'tool_search_output', call_id, execution: 'client', tools: [] }
          : {
              type: type === 'custom_tool_call' ? 'custom_tool_call_output' : 'function_call_output',
              call_id,
              output: 'x',
            },
      )
  const returned = ({ output }: any) => [
    ...output.map(({ parsed_arguments: _, ...item }: any) => item),
    ...answered(output),
  ]
  const first = returned(await ask('claude/m', []))
  const second = returned(await ask('gpt/m', first))
  assert.doesNotMatch(gateway.upstream.gpt!.ledger.at(-1)!.text, /wb1:|d2IxO|c2ln|cmVk/)
  await ask('claude/m', [...first, ...second])
  const back = gateway.upstream.claude!.ledger.at(-1)!
  assert.match(back.text, /c2ln\/\+==/)
  assert.doesNotMatch(back.text, /gAAA/)
})
