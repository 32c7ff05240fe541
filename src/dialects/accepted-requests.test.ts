// Translated requests as their providers accept them, over real sockets: white space, labels of media, empty lists,
// sequences of turns and calls, subsets of JSON Schema, and missing arguments. Each row names the report of a refusal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { testGateway } from '../test/test-gateway.ts'

type Dialect = 'chat' | 'messages' | 'responses' | 'gemini'

const PATHS: Readonly<Record<Dialect, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: '/v1beta/models/auto:generateContent',
}

interface Row {
  readonly what: string
  readonly from: Dialect
  readonly to: Dialect
  readonly request: object
  /** Checks the request that the provider gets. */
  readonly sent: (json: any) => void
  readonly loses?: string
}

const user = (content: unknown) => ({ role: 'user', content })
const call = (id: string, args: unknown = '{}') => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
})
const calling = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
const result = (id: string, content = 'r') => ({ role: 'tool', tool_call_id: id, content })
const image = (url: string) => ({ messages: [user([{ type: 'image_url', image_url: { url } }])] })
const JPEG = '/9j/4AAQ'
const PNG = 'iVBORw0KGgoAAAA'
const format = (schema: object, more: object = {}) => ({
  messages: [user('hi')],
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema, ...more } },
})
const tool = (parameters: object, more: object = {}) => ({
  messages: [user('hi')],
  tools: [{ type: 'function', function: { name: 'f', parameters, ...more } }],
})

const blanks = (json: any): unknown[] =>
  json.messages
    .flatMap(({ content }: any) => content)
    .filter(({ type, text }: any) => type === 'text' && !text.trim())
const roles = (json: any) => (json.messages ?? json.contents).map(({ role }: any) => role)
/** Asserts that each call is answered directly after its turn, once, and that nothing else is. */
const isPaired = ({ messages }: any) => {
  messages.forEach(({ content }: any, at: number) => {
    const made = content.filter(({ type }: any) => type === 'tool_use').map(({ id }: any) => id)
    const next = (messages[at + 1]?.content ?? []).filter(({ type }: any) => type === 'tool_result')
    assert.deepEqual(next.map(({ tool_use_id }: any) => tool_use_id).toSorted(), made.toSorted())
  })
  assert.equal(messages[0].role, 'user')
  assert.ok(messages.every(({ role }: any, at: number) => role !== messages[at - 1]?.role))
}

const ROWS: readonly Row[] = [
  // White space: anomalyco/opencode#31259, NousResearch/hermes-agent#77134
  {
    what: 'blank texts in a list, alone, beside a call, and as an instruction',
    from: 'chat',
    to: 'messages',
    request: {
      messages: [
        { role: 'system', content: ' \n' },
        user([
          { type: 'text', text: '\t' },
          { type: 'text', text: 'hi' },
        ]),
        { ...calling(call('c')), content: '\n\n' },
        result('c', ' '),
        { role: 'assistant', content: '\u00a0' },
        user('go on'),
      ],
    },
    sent: (json) => {
      assert.deepEqual(blanks(json), [])
      assert.equal(json.system, undefined)
      assert.deepEqual(roles(json), ['user', 'assistant', 'user'])
      assert.doesNotMatch(JSON.stringify(json), /"content":" "/)
    },
  },
  {
    what: 'white space at the end of the beginning of an answer',
    from: 'chat',
    to: 'messages',
    request: { messages: [user('hi'), { role: 'assistant', content: 'Sure: \n' }] },
    sent: (json) => assert.equal(json.messages[1].content[0].text, 'Sure:'),
  },
  {
    what: 'blank texts of Responses',
    from: 'responses',
    to: 'messages',
    request: {
      input: [
        user([
          { type: 'input_text', text: ' ' },
          { type: 'input_text', text: 'hi' },
        ]),
      ],
    },
    sent: (json) => assert.deepEqual(blanks(json), []),
  },
  {
    what: 'blank texts of Gemini',
    from: 'gemini',
    to: 'messages',
    request: { contents: [{ role: 'user', parts: [{ text: '\n' }, { text: 'hi' }] }] },
    sent: (json) => assert.deepEqual(blanks(json), []),
  },
  // Media types: NousResearch/hermes-agent#55432
  ...(
    [
      ['image/jpg', JPEG, 'image/jpeg'],
      ['image/pjpeg', JPEG, 'image/jpeg'],
      ['IMAGE/PNG', PNG, 'image/png'],
      ['image/png', JPEG, 'image/jpeg'],
      ['image/x-png', 'QUJD', 'image/png'],
      ['application/octet-stream', PNG, 'image/png'],
    ] as const
  ).map(
    ([label, data, type]): Row => ({
      what: `an image labelled ${label}`,
      from: 'chat',
      to: 'messages',
      request: image(`data:${label};base64,${data}`),
      sent: (json) => assert.equal(json.messages[0].content[0].source.media_type, type),
    }),
  ),
  {
    what: 'an image that Anthropic refuses',
    from: 'chat',
    to: 'messages',
    request: {
      messages: [
        user([
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,QUJD' } },
        ]),
      ],
    },
    sent: (json) => assert.equal(json.messages[0].content.length, 1),
    loses: 'image',
  },
  {
    what: 'image/jpg at Gemini',
    from: 'chat',
    to: 'gemini',
    request: image(`data:image/jpg;base64,${JPEG}`),
    sent: (json) => assert.equal(json.contents[0].parts[0].inlineData.mimeType, 'image/jpeg'),
  },
  {
    what: 'a GIF at Gemini',
    from: 'messages',
    to: 'gemini',
    request: {
      max_tokens: 9,
      messages: [
        user([
          { type: 'text', text: 'hi' },
          { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: 'R0lGODlh' } },
        ]),
      ],
    },
    sent: (json) => assert.equal(json.contents[0].parts.length, 1),
    loses: 'image',
  },
  {
    what: 'image/jpg at OpenAI',
    from: 'messages',
    to: 'responses',
    request: {
      max_tokens: 99,
      messages: [user([{ type: 'image', source: { type: 'base64', media_type: 'image/jpg', data: JPEG } }])],
    },
    sent: (json) => assert.match(json.input[0].content[0].image_url, /^data:image\/jpeg;/),
  },
  // Only an instruction: BerriAI/litellm#13769, braintrustdata/braintrust-proxy#250
  ...(
    [
      ['messages', 'messages', ({ messages }: any) => messages[0].content[0].text],
      ['gemini', 'contents', ({ contents }: any) => contents[0].parts[0].text],
      ['responses', 'input', ({ input }: any) => input[0].content[0].text],
    ] as const
  ).map(
    ([to, list, text]): Row => ({
      what: `only an instruction, at ${to}`,
      from: 'chat',
      to,
      request: { messages: [{ role: 'system', content: 'Say hello.' }] },
      sent: (json) => {
        assert.equal(json[list][0].role, 'user')
        assert.equal(text(json), 'Say hello.')
        assert.equal(json.system ?? json.systemInstruction ?? json.instructions, undefined)
      },
      loses: 'system.place',
    }),
  ),
  // Sequences: openclaw/openclaw#4815, lbjlaq/Antigravity-Manager#654, agentforce314/clawcodex#394,
  // vertesia/llumiverse#463, decolua/9router#3369
  {
    what: 'a conversation that begins with the assistant',
    from: 'chat',
    to: 'messages',
    request: { messages: [{ role: 'assistant', content: 'Hello!' }, user('hi')] },
    sent: isPaired,
    loses: 'turns',
  },
  {
    what: 'a conversation that begins with the model',
    from: 'responses',
    to: 'gemini',
    request: { input: [{ role: 'assistant', content: 'Hello!' }, user('hi')] },
    sent: (json) => assert.deepEqual(roles(json), ['user', 'model', 'user']),
    loses: 'turns',
  },
  {
    what: 'two turns of one role in a row',
    from: 'chat',
    to: 'messages',
    request: {
      messages: [
        user('a'),
        user('b'),
        { role: 'assistant', content: 'c' },
        { role: 'assistant', content: 'd' },
        user('e'),
      ],
    },
    sent: isPaired,
  },
  {
    what: 'a call without a result',
    from: 'chat',
    to: 'messages',
    request: { messages: [user('hi'), calling(call('a'), call('b')), result('a'), user('and?')] },
    sent: isPaired,
    loses: 'turns',
  },
  {
    what: 'a result without its call',
    from: 'chat',
    to: 'messages',
    request: { messages: [user('hi'), result('gone', 'the result'), user('and?')] },
    sent: (json) => {
      isPaired(json)
      assert.match(JSON.stringify(json), /the result/)
    },
    loses: 'turns',
  },
  {
    what: 'a result without an id',
    from: 'chat',
    to: 'messages',
    request: {
      messages: [user('hi'), calling(call('a')), { role: 'tool', content: 'the result' }],
    },
    sent: (json) => {
      isPaired(json)
      assert.equal(json.messages[2].content.length, 1)
    },
  },
  {
    what: 'a result after another answer',
    from: 'chat',
    to: 'messages',
    request: {
      messages: [
        user('hi'),
        calling(call('a')),
        user('wait'),
        { role: 'assistant', content: 'ok' },
        result('a', 'late'),
      ],
    },
    sent: (json) => {
      isPaired(json)
      assert.equal(JSON.stringify(json).split('late').length, 2, 'once')
    },
    loses: 'turns',
  },
  {
    what: 'two results of one call',
    from: 'chat',
    to: 'messages',
    request: { messages: [user('hi'), calling(call('a')), result('a', 'one'), result('a', 'two')] },
    sent: (json) => {
      isPaired(json)
      assert.match(JSON.stringify(json), /one.*two/)
    },
    loses: 'turns',
  },
  {
    what: 'a call without a result, from Messages at chat',
    from: 'messages',
    to: 'chat',
    request: {
      max_tokens: 9,
      messages: [
        user('hi'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
        user('and?'),
      ],
    },
    sent: (json) => assert.deepEqual(roles(json), ['user', 'assistant', 'tool', 'user']),
    loses: 'turns',
  },
  {
    what: 'an output without its call, from Responses at chat',
    from: 'responses',
    to: 'chat',
    request: { input: [user('hi'), { type: 'function_call_output', call_id: 'gone', output: 'r' }] },
    sent: (json) => assert.ok(!roles(json).includes('tool')),
    loses: 'turns',
  },
  {
    what: 'parallel calls of Responses with their outputs behind them',
    from: 'responses',
    to: 'messages',
    request: {
      input: [
        user('hi'),
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'b', output: '2' },
        { type: 'function_call_output', call_id: 'a', output: '1' },
      ],
    },
    sent: isPaired,
  },
  // Schemas: agentjido/req_llm#302, laravel/ai#715, DaKheera47/job-ops#654, BerriAI/litellm#21045, vercel/ai#14372
  {
    what: 'limits in the schema of an answer',
    from: 'chat',
    to: 'messages',
    request: format({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        minimum: { type: 'integer', minimum: 1, exclusiveMaximum: 9, description: 'a count' },
        list: {
          type: 'array',
          items: { oneOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
          minItems: 2,
          uniqueItems: true,
        },
        when: { type: 'string', format: 'date-time' },
        odd: { type: 'string', format: 'color', pattern: '^(?=a)' },
        open: { type: ['object', 'null'], additionalProperties: { type: 'string' } },
      },
      required: ['minimum'],
    }),
    sent: (json) => {
      const { schema } = json.output_config.format
      const text = JSON.stringify(schema)
      assert.doesNotMatch(text, /"(exclusiveMaximum|maxLength|uniqueItems|oneOf|pattern|\$schema)":/)
      assert.equal(schema.properties.minimum.minimum, undefined)
      assert.match(schema.properties.minimum.description, /^a count\n\n.*"minimum":1/)
      assert.equal(schema.properties.when.format, 'date-time')
      assert.equal(schema.properties.odd.format, undefined)
      assert.equal(schema.properties.open.additionalProperties, false)
      assert.equal(schema.properties.list.items.anyOf.length, 2)
      assert.deepEqual(schema.required, ['minimum'])
    },
    loses: 'schema',
  },
  {
    what: 'limits in the schema of a strict tool',
    from: 'chat',
    to: 'messages',
    request: tool({ type: 'object', properties: { n: { type: 'integer', maximum: 3 } } }, { strict: true }),
    sent: ({ tools: [{ input_schema }] }) => {
      assert.equal(input_schema.additionalProperties, false)
      assert.equal(input_schema.properties.n.maximum, undefined)
    },
    loses: 'schema',
  },
  {
    what: 'limits in the schema of a tool that is not strict',
    from: 'chat',
    to: 'messages',
    request: tool({ type: 'object', properties: { n: { type: 'integer', maximum: 3 } } }),
    sent: ({ tools: [{ input_schema }] }) =>
      assert.deepEqual(input_schema, { type: 'object', properties: { n: { type: 'integer', maximum: 3 } } }),
  },
  // dearlordylord/huly-mcp#66, anomalyco/opencode#37916, windoze95/cantinarr#497
  {
    what: 'alternatives of required members at the top of the arguments of a tool',
    from: 'chat',
    to: 'messages',
    request: tool({
      type: 'object',
      properties: { a: {}, b: {} },
      required: ['a'],
      anyOf: [{ required: ['b'] }, { required: ['a'] }],
    }),
    sent: ({ tools: [{ input_schema }] }) =>
      assert.deepEqual(input_schema, { type: 'object', properties: { a: {}, b: {} }, required: ['a'] }),
    loses: 'schema',
  },
  {
    what: 'alternatives at the top of the arguments of a tool',
    from: 'chat',
    to: 'messages',
    request: tool({
      anyOf: [
        { type: 'object', properties: { a: {} }, required: ['a'] },
        { type: 'object', properties: { b: {} } },
      ],
    }),
    sent: ({ tools: [{ input_schema }] }) =>
      assert.deepEqual(input_schema, { type: 'object', properties: { a: {}, b: {} } }),
    loses: 'schema',
  },
  {
    what: 'words that Gemini does not know in the schema of an answer',
    from: 'chat',
    to: 'gemini',
    request: format({
      type: 'object',
      properties: { n: { type: 'integer', exclusiveMinimum: 0, multipleOf: 2, maximum: 8 } },
    }),
    sent: ({ generationConfig }) => {
      const { n } = generationConfig.responseJsonSchema.properties
      assert.deepEqual([n.exclusiveMinimum, n.multipleOf, n.maximum], [undefined, undefined, 8])
    },
    loses: 'schema',
  },
  {
    what: 'a strict tool that OpenAI would refuse as such',
    from: 'messages',
    to: 'chat',
    request: {
      max_tokens: 9,
      messages: [user('hi')],
      tools: [
        {
          name: 'f',
          strict: true,
          input_schema: {
            type: 'object',
            properties: { a: { type: 'string' } },
            additionalProperties: false,
          },
        },
      ],
    },
    sent: ({ tools: [{ function: made }] }) => assert.equal(made.strict, false),
    loses: 'tool.options',
  },
  {
    what: 'a strict tool that OpenAI accepts',
    from: 'messages',
    to: 'responses',
    request: {
      max_tokens: 99,
      messages: [user('hi')],
      tools: [
        {
          name: 'f',
          strict: true,
          input_schema: {
            type: 'object',
            properties: { a: { type: 'string' } },
            required: ['a'],
            additionalProperties: false,
          },
        },
      ],
    },
    sent: ({ tools: [made] }) => assert.equal(made.strict, true),
  },
  // Missing arguments: MoonshotAI/kimi-cli#1764, spring-projects/spring-ai#3280
  ...(['null', '', ' ', '""', null, undefined] as const).map(
    (args): Row => ({
      what: `the arguments ${JSON.stringify(args)}`,
      from: 'chat',
      to: 'messages',
      request: { messages: [user('hi'), calling(call('a', args)), result('a')] },
      sent: (json) => assert.deepEqual(json.messages[1].content[0].input, {}),
    }),
  ),
  {
    what: 'the arguments null, from Responses at chat',
    from: 'responses',
    to: 'chat',
    request: {
      input: [
        user('hi'),
        { type: 'function_call', call_id: 'a', name: 'f', arguments: 'null' },
        { type: 'function_call_output', call_id: 'a', output: 'r' },
      ],
    },
    sent: ({ messages }) => assert.equal(messages[1].tool_calls[0].function.arguments, '{}'),
  },
  {
    what: 'the arguments null, from chat at Responses',
    from: 'chat',
    to: 'responses',
    request: { messages: [user('hi'), calling(call('a', 'null')), result('a')] },
    sent: ({ input }) => assert.equal(input[1].arguments, '{}'),
  },
  {
    what: 'the arguments null, at Gemini',
    from: 'chat',
    to: 'gemini',
    request: { messages: [user('hi'), calling(call('a', 'null')), result('a')] },
    sent: ({ contents }) => assert.deepEqual(contents[1].parts[0].functionCall.args, {}),
  },
]

test('a translated request has the form that its provider accepts, and names what is lost', async (t) => {
  const provider = await startMockServer((response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"seen"}}'),
  )
  t.after(() => provider.close())
  const names: readonly Dialect[] = ['chat', 'messages', 'responses', 'gemini']
  const gateway = await testGateway(t, {
    providers: {},
    env: { KEY: 'sk-a' },
    config: `${names.map((name) => `  ${name}: { dialect: ${name}, base_url: "${provider.baseUrl}", key: $KEY }`).join('\n')}
routes: { ${names.map((name) => `to-${name}: { targets: [ { model: ${name}/m } ] }`).join(', ')} }`,
  })
  for (const { what, from, to, request, sent, loses } of ROWS)
    await t.test(what, async () => {
      const got = await gateway.get(PATHS[from].replace('auto', `to-${to}`), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...request, ...(from !== 'gemini' && { model: `to-${to}` }) }),
      })
      assert.match(got.text, /seen/)
      sent(provider.ledger.at(-1)!.json)
      const lost = got.headers.get('x-gateway-lossy')?.split(', ') ?? []
      if (loses) assert.ok(lost.includes(loses), `loses ${lost}`)
      else assert.ok(!lost.includes('turns') && !lost.includes('schema'), `loses ${lost}`)
    })
})
