// Official clients across dialects, over real sockets: Anthropic's and OpenAI's clients with a Gemini
// provider, Google's client with chat and Messages providers. Each client must read what the provider sent,
// and losses are named. Over 250 lines, because it spells out the bytes that are sent and received.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Script } from '../../../mocks/test-upstream.ts'
import { sharedGateways } from '../../test/test-gateway.ts'
import { crossStream, readStream } from '../test-crossing.ts'

const sharedGateway = sharedGateways()

async function crossed(t: TestContext, api: string, script: Script, model = 'gemini-2.5-flash') {
  const gateway = await sharedGateway(t, {
    providers: { alpha: script },
    dialects: { alpha: [api] },
    config: `routes: { auto: { targets: [ { model: alpha/${model} } ] } }\nresilience: { cooldown: 0s }`,
  })
  const options = { apiKey: 'none', maxRetries: 0 }
  return {
    ...gateway,
    anthropic: new Anthropic({ baseURL: gateway.url, ...options }),
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, ...options }),
    google: new GoogleGenAI({
      apiKey: 'none',
      httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
    }).models,
    sent: () => gateway.upstream.alpha!.ledger.at(-1)!,
    newest: async () => {
      const { json } = await gateway.get('/api/usage/request-logs?limit=1')
      return gateway.record(json.data[0].id)
    },
  }
}

const sse =
  (...events: readonly (object | string)[]): Script =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of events)
      response.write(typeof each === 'string' ? each : `data: ${JSON.stringify(each)}\r\n\r\n`)
    response.end()
  }
const json =
  (body: unknown, status = 200): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const gemini = (parts: object[], more: object = {}, last: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...last }],
  modelVersion: 'gemini-x',
  ...more,
})
const USAGE = {
  promptTokenCount: 120,
  cachedContentTokenCount: 100,
  candidatesTokenCount: 25,
  thoughtsTokenCount: 5,
  totalTokenCount: 150,
}
const SIGNATURE = 'c2lnbmVkIGJ5IGdvb2dsZQ=='
const STREAM = [
  gemini([{ text: 'hm', thought: true }]),
  gemini([{ text: ', so', thought: true }]),
  gemini([{ text: 'I ' }]),
  gemini([{ text: 'look.' }]),
  gemini([
    { functionCall: { name: 'Bash', args: { cmd: 'ls' } }, thoughtSignature: SIGNATURE },
    { functionCall: { name: 'Bash', args: { cmd: 'pwd' } } },
  ]),
  gemini([{ functionCall: { name: 'Bash', args: {} } }], { usageMetadata: USAGE }, { finishReason: 'STOP' }),
]
const WHOLE = gemini(
  [
    { text: 'hm, so', thought: true },
    { text: 'I look.' },
    { functionCall: { name: 'Bash', args: { cmd: 'ls' } }, thoughtSignature: SIGNATURE },
    { functionCall: { name: 'Bash', args: { cmd: 'pwd' } } },
    { functionCall: { name: 'Bash', args: {} } },
  ],
  { usageMetadata: USAGE },
  { finishReason: 'STOP' },
)
const TOOLS = [
  {
    name: 'Bash',
    description: 'runs',
    input_schema: { type: 'object' as const, properties: { cmd: { type: 'string' } } },
  },
]
const DONE = gemini([{ text: 'done' }], {}, { finishReason: 'STOP' })

for (const isStream of [true, false])
  test(`a Messages client reads thoughts, text, parallel calls and usage in Gemini’s ${isStream ? 'streamed' : 'whole'} answer, and the signature returns byte for byte (DIAL-08)`, async (t) => {
    const gateway = await crossed(t, 'gemini', isStream ? sse(...STREAM) : json(WHOLE))
    const asked = {
      model: 'auto',
      max_tokens: 100,
      system: 'be brief',
      thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
      tools: TOOLS,
      messages: [{ role: 'user' as const, content: 'look' }],
    }
    const message = isStream
      ? await gateway.anthropic.messages.stream(asked).finalMessage()
      : await gateway.anthropic.messages.create(asked)
    const { path, json: body } = gateway.sent()
    assert.equal(
      path,
      `/v1/models/gemini-2.5-flash:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    )
    assert.deepEqual(body, {
      contents: [{ role: 'user', parts: [{ text: 'look' }] }],
      systemInstruction: { parts: [{ text: 'be brief' }] },
      tools: [
        {
          functionDeclarations: [
            { name: 'Bash', description: 'runs', parametersJsonSchema: TOOLS[0]!.input_schema },
          ],
        },
      ],
      generationConfig: {
        maxOutputTokens: 100,
        thinkingConfig: { includeThoughts: true, thinkingBudget: 2_000 },
      },
    })
    assert.deepEqual(
      message.content.map((block) =>
        block.type === 'text' ? block.text : block.type === 'tool_use' ? block.input : block.type,
      ),
      ['thinking', 'I look.', 'thinking', { cmd: 'ls' }, { cmd: 'pwd' }, {}],
    )
    const { usage } = message
    assert.deepEqual([message.stop_reason, message.model], ['tool_use', 'gemini-x'])
    assert.deepEqual([usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens], [20, 100, 30])
    const record = await gateway.newest()
    assert.deepEqual(
      [record.tokens.input, record.tokens.output, record.tokens.reasoning, record.attempt_log[0].losses],
      [120, 30, 5, []],
    )

    gateway.upstream.alpha!.script = json(DONE)
    const ids = message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
    await gateway.anthropic.messages.create({
      ...asked,
      messages: [
        ...asked.messages,
        { role: 'assistant', content: message.content },
        {
          role: 'user',
          content: ids.map((id, n) => ({
            type: 'tool_result' as const,
            tool_use_id: id,
            is_error: n === 2,
            content:
              n === 1
                ? [
                    {
                      type: 'image' as const,
                      source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'QUJD' },
                    },
                  ]
                : `of ${n}`,
          })),
        },
      ],
    })
    const [, model, user] = gateway.sent().json.contents as any[]
    assert.deepEqual(model.parts, [
      { text: 'hm, so', thought: true },
      { text: 'I look.' },
      { functionCall: { id: ids[0], name: 'Bash', args: { cmd: 'ls' } }, thoughtSignature: SIGNATURE },
      { functionCall: { id: ids[1], name: 'Bash', args: { cmd: 'pwd' } } },
      { functionCall: { id: ids[2], name: 'Bash', args: {} } },
    ])
    assert.deepEqual(user.parts, [
      { functionResponse: { id: ids[0], name: 'Bash', response: { output: 'of 0' } } },
      { functionResponse: { id: ids[1], name: 'Bash', response: { output: '' } } },
      { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
      { functionResponse: { id: ids[2], name: 'Bash', response: { error: 'of 2' } } },
    ])
    assert.deepEqual((await gateway.newest()).attempt_log[0].losses, ['tool_result.media'])
  })

test('from Gemini 3 on, a tool result contains its images and files, and effort becomes a level', async (t) => {
  const gateway = await crossed(t, 'gemini', json(DONE), 'gemini-3-pro')
  const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'Bash', input: {} }
  const image = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'QUJD' },
  }
  await gateway.anthropic.messages.create({
    model: 'auto',
    max_tokens: 100,
    output_config: { effort: 'high' },
    messages: [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [image] }] },
    ],
  })
  const { contents, generationConfig } = gateway.sent().json as any
  // Another model made the call. Gemini would refuse the call without a placeholder signature.
  assert.equal(contents[1].parts[0].thoughtSignature, 'skip_thought_signature_validator')
  assert.deepEqual(contents[2].parts[0].functionResponse.parts, [
    { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
  ])
  assert.deepEqual(generationConfig.thinkingConfig, { includeThoughts: true, thinkingLevel: 'high' })
  assert.deepEqual((await gateway.newest()).attempt_log[0].losses, [])
})

test('a chat client receives tool calls with complete JSON arguments, usage and the finish reason from Gemini’s stream', async (t) => {
  const gateway = await crossed(t, 'gemini', sse(...STREAM))
  const tools = [{ type: 'function' as const, function: { name: 'Bash', parameters: { type: 'object' } } }]
  const stream = gateway.openai.chat.completions.stream({
    model: 'auto',
    messages: [{ role: 'user', content: 'look' }],
    tools,
    stream_options: { include_usage: true },
  })
  const { choices, usage } = await stream.finalChatCompletion()
  const [{ message, finish_reason }] = choices as any
  assert.deepEqual(
    [message.content, finish_reason, message.tool_calls.map((each: any) => each.function.arguments)],
    ['I look.', 'tool_calls', ['{"cmd":"ls"}', '{"cmd":"pwd"}', '{}']],
  )
  assert.deepEqual(
    [usage?.prompt_tokens, usage?.completion_tokens, usage?.prompt_tokens_details?.cached_tokens],
    [120, 30, 100],
  )
  for (const [reason, expected] of [
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
  ]) {
    gateway.upstream.alpha!.script = sse(gemini([{ text: 'x' }], {}, { finishReason: reason }))
    const streamed = await gateway.openai.chat.completions
      .stream({ model: 'auto', messages: [{ role: 'user', content: 'x' }] })
      .finalChatCompletion()
    assert.equal(streamed.choices[0]!.finish_reason, expected)
  }
  gateway.upstream.alpha!.script = json({ promptFeedback: { blockReason: 'SAFETY' } })
  const blocked = await gateway.openai.chat.completions.create({
    model: 'auto',
    messages: [{ role: 'user', content: 'x' }],
  })
  assert.equal(blocked.choices[0]!.finish_reason, 'content_filter')
})

test('clients of other dialects receive Gemini’s errors and broken streams as errors', async (t) => {
  const gateway = await crossed(
    t,
    'gemini',
    json({ error: { code: 400, message: 'contents: too long', status: 'INVALID_ARGUMENT' } }, 400),
  )
  const asked = { model: 'auto', max_tokens: 9, messages: [{ role: 'user' as const, content: 'x' }] }
  await assert.rejects(gateway.anthropic.messages.create(asked), (error: any) => {
    assert.ok(error instanceof Anthropic.BadRequestError, `${error}`)
    assert.match(error.message, /contents: too long/)
    return true
  })
  for (const broken of [
    sse(STREAM[0]!, STREAM[2]!),
    sse(STREAM[2]!, { error: { code: 503, message: 'no' } }),
  ]) {
    gateway.upstream.alpha!.script = broken
    await assert.rejects(gateway.anthropic.messages.stream(asked).finalMessage(), Anthropic.AnthropicError)
    assert.equal((await gateway.newest()).state, 'failed')
    await assert.rejects(gateway.openai.chat.completions.stream(asked).finalChatCompletion())
  }
})

const GOOGLE_TOOLS = [
  {
    functionDeclarations: [
      {
        name: 'Bash',
        description: 'runs',
        parameters: {
          type: 'OBJECT' as any,
          properties: { cmd: { type: 'STRING' as any, nullable: true } },
          required: ['cmd'],
        },
      },
    ],
  },
]
const named = (event: { type: string } & Record<string, unknown>) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const THINKING = { type: 'thinking', thinking: 'hm', signature: 'c2lnbmVkIGJ5IGFudGhyb3BpYw==' }
const CLAUDE = {
  type: 'message',
  role: 'assistant',
  model: 'claude-x',
  content: [
    THINKING,
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { cmd: 'ls' } },
    { type: 'tool_use', id: 'toolu_2', name: 'Bash', input: {} },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 30 },
}
/** The same answer as events. */
const CLAUDE_STREAM = [
  named({ type: 'message_start', message: { ...CLAUDE, content: [], stop_reason: null } }),
  ...CLAUDE.content.flatMap((block: any, index) => [
    named({
      type: 'content_block_start',
      index,
      content_block:
        block.type === 'tool_use'
          ? { ...block, input: {} }
          : block.type === 'text'
            ? { type: 'text', text: '' }
            : { type: 'thinking', thinking: '', signature: '' },
    }),
    ...(block.type === 'tool_use'
      ? [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
      : block.type === 'text'
        ? [{ type: 'text_delta', text: block.text }]
        : [
            { type: 'thinking_delta', thinking: block.thinking },
            { type: 'signature_delta', signature: block.signature },
          ]
    ).map((delta) => named({ type: 'content_block_delta', index, delta })),
    named({ type: 'content_block_stop', index }),
  ]),
  named({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 30 } }),
  named({ type: 'message_stop' }),
]

for (const isStream of [true, false])
  test(`with ${isStream ? 'streamed' : 'whole'} answers, Anthropic receives its thinking back byte for byte from Gemini clients, even if they drop thoughts or write base64 in another alphabet (DIAL-08)`, async (t) => {
    const gateway = await crossed(t, 'messages', isStream ? sse(...CLAUDE_STREAM) : json(CLAUDE))
    const asked = {
      model: 'auto',
      contents: 'look',
      config: {
        systemInstruction: 'be brief',
        maxOutputTokens: 9_000,
        tools: GOOGLE_TOOLS,
        thinkingConfig: { includeThoughts: true, thinkingBudget: 2_000 },
      },
    }
    const answers: GenerateContentResponse[] = []
    if (isStream)
      for await (const chunk of await gateway.google.generateContentStream(asked)) answers.push(chunk)
    else answers.push(await gateway.google.generateContent(asked))
    const parts = answers.flatMap(({ candidates }) => candidates![0]!.content!.parts ?? [])
    assert.equal(parts.flatMap(({ thought, text }) => (thought ? [text] : [])).join(''), 'hm')
    assert.equal(answers.map(({ text }) => text ?? '').join(''), 'I look.')
    const calls = answers.flatMap(({ functionCalls }) => functionCalls ?? [])
    assert.deepEqual(
      calls.map(({ id, name, args }) => [id, name, args]),
      [
        ['toolu_1', 'Bash', { cmd: 'ls' }],
        ['toolu_2', 'Bash', {}],
      ],
    )
    const last = answers.at(-1)!
    assert.deepEqual([last.candidates![0]!.finishReason, last.modelVersion], ['STOP', 'claude-x'])
    const { promptTokenCount, cachedContentTokenCount, candidatesTokenCount } = last.usageMetadata!
    assert.deepEqual([promptTokenCount, cachedContentTokenCount, candidatesTokenCount], [120, 100, 30])
    const body = gateway.sent().json as any
    assert.deepEqual(
      [body.system, body.thinking, body.tools[0].input_schema],
      [
        [{ type: 'text', text: 'be brief' }],
        { type: 'enabled', budget_tokens: 2_000 },
        { type: 'object', properties: { cmd: { type: ['string', 'null'] } }, required: ['cmd'] },
      ],
    )

    gateway.upstream.alpha!.script = json({
      ...CLAUDE,
      content: [{ type: 'text', text: 'done' }],
      stop_reason: 'end_turn',
    })
    // Google's Python client takes only base64, and returns it in the alphabet for URLs.
    const inPython = parts.map(({ thoughtSignature: seal, ...part }) => {
      if (seal === undefined) return part
      const bytes = Buffer.from(seal, 'base64')
      assert.equal(bytes.toString('base64'), seal)
      return { ...part, thoughtSignature: bytes.toString('base64url') }
    })
    for (const returned of [parts, parts.filter(({ thought }) => !thought), inPython]) {
      const { text } = await gateway.google.generateContent({
        ...asked,
        contents: [
          { role: 'user', parts: [{ text: 'look' }] },
          { role: 'model', parts: returned },
          {
            role: 'user',
            parts: calls.map(({ id, name }) => ({
              functionResponse: { id: id!, name: name!, response: { output: `of ${id}` } },
            })),
          },
        ],
      })
      assert.equal(text, 'done')
      const [, assistant, results] = (gateway.sent().json as any).messages
      const [thinking, ...rest] = assistant.content
      assert.deepEqual(thinking, THINKING)
      assert.deepEqual(
        rest.filter(({ type }: any) => type === 'tool_use'),
        CLAUDE.content.slice(2),
      )
      assert.equal(rest.flatMap(({ type, text }: any) => (type === 'text' ? [text] : [])).join(''), 'I look.')
      assert.deepEqual(
        results.content.map((each: any) => [each.tool_use_id, each.content]),
        [
          ['toolu_1', 'of toolu_1'],
          ['toolu_2', 'of toolu_2'],
        ],
      )
    }
  })

test('with a chat provider, a Gemini client can omit ids, receives errors in Google’s format, and receives streams as lists unless it requests events', async (t) => {
  const said = (message: object, finish_reason: string) => ({
    model: 'm',
    choices: [{ message, finish_reason }],
    usage: { prompt_tokens: 12, completion_tokens: 3 },
  })
  const made = {
    id: 'functions.Bash:0',
    type: 'function',
    function: { name: 'Bash', arguments: '{"cmd":"ls"}' },
  }
  const gateway = await crossed(t, 'chat', json(said({ content: null, tool_calls: [made] }, 'tool_calls')))
  const { functionCalls, usageMetadata } = await gateway.google.generateContent({
    model: 'auto',
    contents: 'look',
    config: { tools: GOOGLE_TOOLS },
  })
  assert.match(functionCalls![0]!.id!, /^[a-zA-Z0-9_-]{1,40}$/)
  assert.deepEqual(
    [functionCalls![0]!.args, usageMetadata!.promptTokenCount, usageMetadata!.totalTokenCount],
    [{ cmd: 'ls' }, 12, 15],
  )
  gateway.upstream.alpha!.script = json(said({ content: 'done' }, 'stop'))
  await gateway.google.generateContent({
    model: 'auto',
    contents: [
      { role: 'user', parts: [{ text: 'look' }] },
      {
        role: 'model',
        parts: ['a', 'b'].map((cmd) => ({ functionCall: { name: 'Bash', args: { cmd } } })),
      },
      {
        role: 'user',
        parts: ['a', 'b'].map((cmd) => ({ functionResponse: { name: 'Bash', response: { said: cmd } } })),
      },
      { role: 'model', parts: [{ functionCall: functionCalls![0]! }] },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: functionCalls![0]!.id!, name: 'Bash', response: { error: 'no' } } },
        ],
      },
    ],
    config: { tools: GOOGLE_TOOLS },
  })
  const { messages } = gateway.sent().json as any
  const ids = messages[1].tool_calls.map(({ id }: any) => id)
  assert.equal(new Set(ids).size, 2)
  assert.deepEqual(
    messages.slice(2, 4).map((each: any) => [each.tool_call_id, each.content]),
    [
      [ids[0], '{"said":"a"}'],
      [ids[1], '{"said":"b"}'],
    ],
  )
  assert.deepEqual(
    [messages[4].tool_calls[0].id, messages[5].tool_call_id, messages[5].content],
    ['functions.Bash:0', 'functions.Bash:0', '[error] no'],
  )
  const listed = await gateway.get('/v1beta/models/auto:streamGenerateContent', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"contents":[{"parts":[{"text":"x"}]}]}',
  })
  assert.deepEqual([listed.status, listed.json.length], [200, 1])
  assert.equal(listed.json[0].candidates[0].content.parts[0].text, 'done')
  gateway.upstream.alpha!.script = json({ error: { message: 'too long', type: 'x', code: null } }, 400)
  await assert.rejects(gateway.google.generateContent({ model: 'auto', contents: 'x' }), (error: any) => {
    assert.deepEqual([error.name, error.status], ['ApiError', 400])
    assert.match(error.message, /too long/)
    return true
  })
})

test('through two chained gateways, Google’s clients read encrypted thoughts only once, and usage that does not fit is reported as lost (DIAL-04, DIAL-08)', () => {
  const chunk = (delta: object, more: object = {}) => ({
    model: 'm',
    choices: [{ index: 0, delta, ...more }],
  })
  const call = {
    index: 0,
    id: 'functions.Bash:0',
    type: 'function',
    function: { name: 'Bash', arguments: '{}' },
  }
  const usage = { prompt_tokens: 9, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 5 } }
  const stream = Buffer.from(
    [
      chunk({ reasoning_content: 'hm' }),
      chunk({ reasoning_content: ', so' }),
      chunk({ tool_calls: [call] }),
      { ...chunk({}, { finish_reason: 'tool_calls' }), usage },
      '[DONE]',
    ]
      .map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`)
      .join(''),
  )
  const there = crossStream('gemini', 'chat', stream)
  assert.deepEqual(there.losses, ['usage'])
  const back = crossStream('chat', 'gemini', there.bytes)
  const { blocks, tokens } = readStream('chat', back.bytes)
  assert.deepEqual(
    blocks.map((block) => (block.type === 'reasoning' ? block.text : block.type === 'call' && block.id)),
    ['hm, so', 'functions.Bash:0'],
  )
  assert.deepEqual([tokens?.output, tokens?.reasoning], [7, 5])
})
