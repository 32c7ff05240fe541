// Official clients with providers of another dialect, over real sockets: Anthropic's client with a chat
// provider, OpenAI's client with a Messages provider. Each client must read what the provider sent. Losses
// are named in the response header, on the attempt and in the metrics. Over 250 lines, because it spells out
// the bytes that are sent and received.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunk, crossedGateway, json, named, sse } from './test-crossed-gateway.ts'

const call = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] })
const TOOLS = [
  {
    name: 'Bash',
    description: 'runs',
    input_schema: { type: 'object' as const, properties: { cmd: { type: 'string' } } },
  },
]
const USAGE = {
  prompt_tokens: 120,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 100 },
  completion_tokens_details: { reasoning_tokens: 5 },
}

test('a Messages client reads the thoughts, text, interleaved calls with unusual ids, and usage in a chat provider’s stream (MSG-02, MSG-03, MSG-04, MSG-06, MSG-07, MSG-08, DIAL-06)', async (t) => {
  const gateway = await crossedGateway(
    t,
    'chat',
    sse(
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      chunk({ reasoning_content: ', so' }),
      chunk({ content: 'I look.' }),
      call(0, { id: 'functions.Bash:0', type: 'function', function: { name: 'Bash', arguments: '' } }),
      call(1, { id: 'functions.Bash:1', type: 'function', function: { name: 'Bash', arguments: '{"cmd"' } }),
      call(0, { function: { arguments: '{"cmd":"ls"}' } }),
      call(1, { function: { arguments: ':"pwd"}' } }),
      call(2, { id: 'ok_2', type: 'function', function: { name: 'Bash', arguments: '' } }),
      chunk({}, 'tool_calls'),
      { ...chunk({}), choices: [], usage: USAGE },
      'data: [DONE]\n\n',
    ),
  )
  const stream = gateway.anthropic.messages.stream({
    model: 'auto',
    max_tokens: 100,
    tools: TOOLS,
    messages: [{ role: 'user', content: 'look' }],
  })
  const open: number[] = []
  const seen: string[] = []
  for await (const event of stream) {
    if (event.type === 'content_block_start') {
      assert.equal(open.length, 0, 'one block at a time')
      open.push(event.index)
    }
    if (event.type === 'content_block_delta') assert.equal(event.index, open[0])
    if (event.type === 'content_block_stop') assert.equal(event.index, open.pop())
    seen.push(event.type)
  }
  const message = await stream.finalMessage()
  assert.deepEqual(
    message.content.map((block) => {
      if (block.type === 'text') return block.text
      return block.type === 'thinking' ? block.thinking : block.type === 'tool_use' ? block.input : null
    }),
    ['hm, so', 'I look.', { cmd: 'ls' }, { cmd: 'pwd' }, {}],
  )
  const ids = message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
  for (const id of ids) assert.match(id, /^[a-zA-Z0-9_-]{1,40}$/)
  assert.equal(ids[2], 'ok_2')
  const { usage } = message
  assert.deepEqual([message.stop_reason, message.model], ['tool_use', 'm-2026'])
  assert.deepEqual([usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens], [20, 100, 30])
  assert.deepEqual([seen[0], seen.at(-2), seen.at(-1)], ['message_start', 'message_delta', 'message_stop'])

  // The client returns the reasoning, and the provider receives it as its own.
  gateway.upstream.alpha!.script = json({
    model: 'm',
    choices: [{ message: { content: 'done' }, finish_reason: 'stop' }],
  })
  const answered = await gateway.anthropic.messages.create({
    model: 'auto',
    max_tokens: 100,
    tools: TOOLS,
    messages: [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: message.content },
      {
        role: 'user',
        content: ids.map((id) => ({ type: 'tool_result' as const, tool_use_id: id, content: `of ${id}` })),
      },
    ],
  })
  assert.deepEqual([answered.content, answered.stop_reason], [[{ type: 'text', text: 'done' }], 'end_turn'])
  const { messages } = gateway.sent()
  assert.deepEqual(
    messages[1].tool_calls.map((each: any) => [each.id, each.function.arguments]),
    [
      ['functions.Bash:0', '{"cmd":"ls"}'],
      ['functions.Bash:1', '{"cmd":"pwd"}'],
      ['ok_2', '{}'],
    ],
  )
  assert.deepEqual(
    messages.slice(2).map((each: any) => each.tool_call_id),
    ['functions.Bash:0', 'functions.Bash:1', 'ok_2'],
  )
  assert.equal(messages[1].reasoning_content, 'hm, so')
  const record = await gateway.newest()
  assert.deepEqual([record.attempt_log[0].losses, record.state], [[], 'completed'])
})

test('a chat provider receives the image in a Messages client’s tool result as an image, and all losses are named (DIAL-04, MSG-15, MSG-17, MSG-18, MSG-19)', async (t) => {
  const gateway = await crossedGateway(
    t,
    'chat',
    json({ model: 'm', choices: [{ message: { content: 'seen' }, finish_reason: 'length' }], usage: USAGE }),
    { options: {} }, // its metrics begin at 0
  )
  const { data: message, response } = await gateway.anthropic.messages
    .create({
      model: 'auto',
      max_tokens: 100,
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=1;' },
        { type: 'text', text: 'be brief', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      messages: [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't1',
              is_error: true,
              content: [
                { type: 'text', text: 'half' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
              ],
            },
            { type: 'text', text: 'and?' },
          ],
        },
      ],
      tools: TOOLS,
    })
    .withResponse()
  assert.equal(message.stop_reason, 'max_tokens')
  const sent = gateway.sent()
  assert.deepEqual(sent.messages[0], { role: 'system', content: 'be brief' })
  assert.deepEqual(sent.messages.slice(3), [
    { role: 'tool', tool_call_id: 't1', content: '[error] half' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Returned by the tool call t1:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
        { type: 'text', text: 'and?' },
      ],
    },
  ])
  assert.deepEqual([sent.reasoning_effort, sent.max_tokens, sent.model], ['low', 100, 'm'])
  const losses = ['attribution', 'cache_control', 'thinking.budget', 'tool_result.error', 'tool_result.media']
  assert.equal(response.headers.get('x-gateway-lossy'), losses.join(', '))
  assert.equal(response.headers.get('request-id'), response.headers.get('x-gateway-request-id'))
  const record = await gateway.newest()
  assert.deepEqual(record.attempt_log[0].losses, losses)
  assert.deepEqual([record.tokens.input, record.tokens.cached_input], [120, 100])
  const { text: metrics } = await gateway.get('/metrics')
  assert.match(metrics, /waybill_losses_total\{provider="alpha",model="m",loss="cache_control"\} 1/)
})

const STREAM = [
  named({
    type: 'message_start',
    message: { model: 'claude-x', usage: { input_tokens: 5, cache_read_input_tokens: 11, output_tokens: 1 } },
  }),
  named({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  }),
  named({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }),
  named({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } }),
  named({ type: 'content_block_stop', index: 0 }),
  named({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }),
  named({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Look:' } }),
  named({ type: 'content_block_stop', index: 1 }),
  named({
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: {} },
  }),
  named({
    type: 'content_block_delta',
    index: 2,
    delta: { type: 'input_json_delta', partial_json: '{"cmd":"ls"}' },
  }),
  named({ type: 'content_block_stop', index: 2 }),
  named({
    type: 'content_block_start',
    index: 3,
    content_block: { type: 'tool_use', id: 'toolu_2', name: 'Bash', input: {} },
  }),
  named({ type: 'content_block_stop', index: 3 }),
  named({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } }),
  named({ type: 'message_stop' }),
]

test('a chat client receives tool calls and usage from a Messages provider’s stream, and Anthropic receives its thinking back byte for byte (DIAL-08)', async (t) => {
  const gateway = await crossedGateway(t, 'messages', sse(...STREAM))
  const tools = [{ type: 'function' as const, function: { name: 'Bash', parameters: { type: 'object' } } }]
  const stream = gateway.openai.chat.completions.stream({
    model: 'auto',
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'look' },
    ],
    tools,
    reasoning_effort: 'low',
    stream_options: { include_usage: true },
  })
  const details: any[] = []
  for await (const { choices } of stream)
    details.push(...((choices[0]?.delta as any)?.reasoning_details ?? []))
  const { choices, usage } = await stream.finalChatCompletion()
  const [{ message, finish_reason }] = choices as any
  assert.deepEqual(
    [
      message.content,
      finish_reason,
      message.tool_calls.map((each: any) => [each.id, each.function.arguments]),
    ],
    [
      'Look:',
      'tool_calls',
      [
        ['toolu_1', '{"cmd":"ls"}'],
        ['toolu_2', '{}'],
      ],
    ],
  )
  assert.deepEqual(
    [usage?.prompt_tokens, usage?.completion_tokens, usage?.prompt_tokens_details?.cached_tokens],
    [16, 7, 11],
  )
  const first = gateway.sent()
  assert.deepEqual([first.thinking, first.max_tokens], [{ type: 'enabled', budget_tokens: 4096 }, 32_000])
  assert.deepEqual(first.system, [{ type: 'text', text: 'be brief' }])

  gateway.upstream.alpha!.script = json({
    type: 'message',
    model: 'c',
    content: [{ type: 'text', text: 'done' }],
    stop_reason: 'end_turn',
  })
  const answered = await gateway.openai.chat.completions.create({
    model: 'auto',
    tools,
    reasoning_effort: 'low',
    messages: [
      { role: 'user', content: 'look' },
      { ...message, reasoning_details: details },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'a' },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'b' },
    ],
  })
  assert.equal(answered.choices[0]!.message.content, 'done')
  const [, assistant, results] = gateway.sent().messages
  assert.deepEqual(assistant.content, [
    { type: 'thinking', thinking: 'hm', signature: 'c2lnbmVk' },
    { type: 'text', text: 'Look:' },
    { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { cmd: 'ls' } },
    { type: 'tool_use', id: 'toolu_2', name: 'Bash', input: {} },
  ])
  assert.deepEqual(
    results.content.map((each: any) => each.tool_use_id),
    ['toolu_1', 'toolu_2'],
  )
})

test('tool calls and results sent to Mistral have ids of nine letters and digits, and Mistral’s own ids return unchanged (DIAL-06)', async (t) => {
  const made = (id: string) => ({ id, type: 'function', function: { name: 'Bash', arguments: '{}' } })
  const gateway = await crossedGateway(
    t,
    'chat',
    json({
      model: 'm',
      choices: [{ message: { tool_calls: [made('a1B2c3D4e')] }, finish_reason: 'tool_calls' }],
    }),
  )
  const asked = { model: 'alpha/mistral-large', max_tokens: 99, tools: TOOLS }
  const first = await gateway.anthropic.messages.create({
    ...asked,
    messages: [{ role: 'user', content: 'x' }],
  })
  const [own] = first.content
  assert.equal(own?.type === 'tool_use' && own.id, 'a1B2c3D4e')
  const foreign = { type: 'tool_use' as const, id: 'toolu_01A-foreign_id', name: 'Bash', input: {} }
  const calls = [own as typeof foreign, foreign]
  await gateway.anthropic.messages.create({
    ...asked,
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: calls },
      {
        role: 'user',
        content: calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'y' })),
      },
    ],
  })
  const [, assistant, ...results] = gateway.sent().messages
  const ids = assistant.tool_calls.map(({ id }: { id: string }) => id)
  assert.equal(ids[0], 'a1B2c3D4e')
  assert.match(ids[1], /^[a-zA-Z0-9]{9}$/)
  assert.deepEqual(
    results.map((each: any) => each.tool_call_id),
    ids,
  )
})

test('a number field with a wrong type is refused before translation, with an error in the client’s dialect (FAIL-02)', async (t) => {
  const { url, upstream } = await crossedGateway(t, 'chat', json({}))
  const call = {
    model: 'auto',
    max_tokens: 16,
    temperature: 'hot',
    messages: [{ role: 'user', content: 'x' }],
  }
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(call) })
  assert.equal(answer.status, 400)
  const { type, error } = (await answer.json()) as { type: string; error: { type: string; message: string } }
  assert.deepEqual([type, error.type], ['error', 'invalid_request_error'])
  assert.match(error.message, /temperature: expected a number, received "hot"/)
  assert.equal(upstream.alpha!.ledger.length, 0)
})
