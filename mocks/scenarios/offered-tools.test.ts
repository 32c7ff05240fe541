// Tests that the mock makes up answers to requests for tools, embeddings and images that were not recorded.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import OpenAI from 'openai'
import { z } from 'zod'
import { fitEmbeddings, fitImages } from '../recording/fit.ts'
import { createMockProviders } from '../server/create.ts'
import { offeredTools, sampleOf } from './offered-tools.ts'

const mock = await createMockProviders({ lenient: true })
test.after(() => mock.close())
const openai = new OpenAI({
  baseURL: mock.baseUrl('openai'),
  apiKey: mock.key('openai'),
  maxRetries: 0,
})

const schema = {
  type: 'object',
  properties: {
    party: { type: 'integer', minimum: 2 },
    day: { type: 'string', format: 'date' },
    room: { enum: ['garden', 'hall'] },
    note: { type: 'string' },
  },
  required: ['party', 'day', 'room'],
}
const booked = { party: 2, day: '2026-01-31', room: 'garden' }

const bodies: [provider: string, path: string, body: object][] = [
  [
    'openai',
    'chat/completions',
    {
      model: 'm',
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ type: 'function', function: { name: 'book_table', parameters: schema } }],
    },
  ],
  [
    'openai',
    'responses',
    { model: 'm', input: 'x', tools: [{ type: 'function', name: 'book_table', parameters: schema }] },
  ],
  [
    'anthropic',
    'messages',
    {
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'x' }],
      tools: [
        { type: 'web_search_20250305', name: 'web_search' },
        { name: 'book_table', input_schema: schema },
      ],
    },
  ],
  [
    'gemini',
    'models/m:generateContent',
    {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
      tools: [{ functionDeclarations: [{ name: 'book_table', parametersJsonSchema: schema }] }],
    },
  ],
]

const argumentsIn: Record<string, (answer: any) => unknown> = {
  'chat/completions': (answer) => JSON.parse(answer.choices[0].message.tool_calls[0].function.arguments),
  responses: (answer) => JSON.parse(answer.output[0].arguments),
  messages: (answer) => answer.content[0].input,
  'models/m:generateContent': (answer) => answer.candidates[0].content.parts[0].functionCall.args,
}

for (const [provider, path, body] of bodies)
  for (const stream of [false, true])
    test(`${provider} ${path}, ${stream ? 'streamed' : 'whole'}: the model calls the offered tool`, async () => {
      const key = mock.key(provider)
      const streamPath = path.replace(':generateContent', ':streamGenerateContent')
      const response = await fetch(`${mock.baseUrl(provider)}/${stream ? streamPath : path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          'x-goog-api-key': key,
          'anthropic-version': '2023-06-01',
        },
        body: JSON.stringify({ ...body, ...(stream && provider !== 'gemini' && { stream }) }),
      })
      const text = await response.text()
      assert.equal(response.status, 200, text)
      assert.match(text, /book_table/)
      assert.doesNotMatch(text, /get_weather|web_search/)
      if (!stream) assert.deepEqual(argumentsIn[path]!(JSON.parse(text)), booked)
    })

/** Ways to ask for JSON of a schema, and the place of the text in the answer. */
const structured: [provider: string, path: string, body: object][] = [
  [
    ...(['openai', 'chat/completions'] as const),
    { response_format: { type: 'json_schema', json_schema: { name: 'w', strict: true, schema } } },
  ],
  ['openai', 'responses', { text: { format: { type: 'json_schema', name: 'w', schema } } }],
  ['anthropic', 'messages', { output_config: { format: { type: 'json_schema', schema } } }],
  ['anthropic', 'messages', { output_format: { type: 'json_schema', schema } }],
  [
    'gemini',
    'models/m:generateContent',
    { responseMimeType: 'application/json', responseJsonSchema: schema },
  ],
  ['gemini', 'models/m:generateContent', { responseMimeType: 'application/json', responseSchema: schema }],
  [
    ...(['mistral', 'chat/completions'] as const),
    { response_format: { type: 'json_schema', json_schema: { name: 'w', schema_definition: {}, schema } } },
  ],
  [
    'groq',
    'chat/completions',
    { response_format: { type: 'json_schema', json_schema: { name: 'w', schema } } },
  ],
  ['ollama', 'chat/completions', { format: schema }],
]
const textIn: Record<string, (answer: any) => string> = {
  'chat/completions': (answer) => answer.choices[0].message.content,
  responses: (answer) => answer.output.at(-1).content[0].text,
  messages: (answer) => answer.content.at(-1).text,
  'models/m:generateContent': (answer) => answer.candidates[0].content.parts[0].text,
}
async function answerTo(provider: string, path: string, config: object): Promise<string> {
  const turn = { role: 'user', content: 'x' }
  const said = {
    'chat/completions': { model: 'm', messages: [turn] },
    responses: { model: 'm', input: 'x' },
    messages: { model: 'm', max_tokens: 9, messages: [turn] },
  }[path]
  const key = mock.key(provider)
  const response = await fetch(`${mock.baseUrl(provider)}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-goog-api-key': key, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(
      said
        ? { ...said, ...config }
        : { contents: [{ role: 'user', parts: [{ text: 'x' }] }], generationConfig: config },
    ),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return textIn[path]!(JSON.parse(text))
}
for (const [provider, path, config] of structured)
  test(`${provider} ${path}: the answer fits the schema of ${Object.keys(config).at(-1)}`, async () => {
    assert.deepEqual(JSON.parse(await answerTo(provider, path, config)), booked)
  })

test('JSON without a schema is an object, and a value of an enumeration is itself', async () => {
  const json = { response_format: { type: 'json_object' } }
  assert.deepEqual(JSON.parse(await answerTo('openai', 'chat/completions', json)), {})
  const values = {
    responseMimeType: 'text/x.enum',
    responseSchema: { type: 'STRING', enum: ['low', 'high'] },
  }
  assert.equal(await answerTo('gemini', 'models/m:generateContent', values), 'low')
  const text = { response_format: { type: 'text' } }
  assert.match(await answerTo('openai', 'chat/completions', text), /recorded answer/)
})

test('a sample fits schemas that are put together', () => {
  const cases: [schema: object, sample: unknown][] = [
    [
      {
        allOf: [{ $ref: '#/$defs/a' }, { properties: { b: { type: 'boolean' } }, required: ['b'] }],
        $defs: { a: { type: 'object', properties: { a: { const: 1 } }, required: ['a'] } },
      },
      { a: 1, b: true },
    ],
    [{ type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] }, ['text', 1]],
    [{ type: 'array', items: { type: 'string' }, maxItems: 0 }, []],
    [{ type: 'OBJECT', properties: { n: { type: 'NUMBER', nullable: true } }, required: ['n'] }, { n: 1 }],
    [
      {
        type: 'object',
        properties: { k: { type: 'string' } },
        required: ['k'],
        anyOf: [{ required: ['k'] }],
      },
      { k: 'text' },
    ],
  ]
  for (const [composed, sample] of cases)
    assert.deepEqual(sampleOf(composed), sample, JSON.stringify(composed))
})

test("the made-up arguments of a call fit the tool’s schema, and a text answers the tool's result", async () => {
  for (const model of ['gpt-5-mini', 'scenario-tools', 'scenario-tools-parallel']) {
    const tools = [{ type: 'function' as const, function: { name: 'book_table', parameters: schema } }]
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'A table, please.' }]
    const first = await openai.chat.completions.create({ model, messages, tools })
    const { message, finish_reason } = first.choices[0]!
    assert.equal(finish_reason, 'tool_calls')
    messages.push(message)
    for (const call of message.tool_calls!) {
      assert.ok(call.type === 'function')
      assert.deepEqual(JSON.parse(call.function.arguments), booked)
      messages.push({ role: 'tool', tool_call_id: call.id, content: 'done' })
    }
    const second = await openai.chat.completions.create({ model, messages, tools })
    assert.equal(second.choices[0]!.finish_reason, 'stop', model)
    assert.ok(second.choices[0]!.message.content)
  }
})

test('the tool that a request requires is called first', () => {
  const tools = ['a', 'b'].map((name) => ({ type: 'function', function: { name } }))
  const named = (choice: object) => offeredTools({ tools, ...choice }).map(({ name }) => name)
  assert.deepEqual(named({}), ['a', 'b'])
  assert.deepEqual(named({ tool_choice: { type: 'function', function: { name: 'b' } } }), ['b', 'a'])
  assert.deepEqual(named({ tool_choice: { type: 'tool', name: 'b' } }), ['b', 'a'])
  assert.deepEqual(named({ toolConfig: { functionCallingConfig: { allowedFunctionNames: ['b'] } } }), [
    'b',
    'a',
  ])
  assert.deepEqual(offeredTools('no object'), [])
})

test('made-up arguments fit their schema', () => {
  const tree = z.object({
    name: z.string(),
    get children() {
      return z.array(tree).max(3).optional()
    },
  })
  const schemas = [
    z.object({ city: z.string().min(6).max(9), days: z.int().min(3).max(5), units: z.enum(['C', 'F']) }),
    z.object({ at: z.iso.datetime(), who: z.email(), where: z.url(), id: z.uuid() }),
    z.object({ either: z.union([z.number().gt(4), z.string()]), list: z.array(z.boolean()).min(2) }),
    z.object({
      maybe: z.string().optional(),
      none: z.null(),
      fixed: z.literal('x'),
      nested: z.object({ n: z.number().lt(0) }),
    }),
    tree,
  ]
  for (const one of schemas)
    assert.deepEqual(one.safeParse(sampleOf(z.toJSONSchema(one))).error?.issues, undefined)
})

test('arguments are generated without an error for every schema', () => {
  const loop = { type: 'object', properties: { again: { $ref: '#' } }, required: ['again'] }
  assert.ok(JSON.stringify(sampleOf(loop)).length < 500)
  fc.assert(fc.property(fc.jsonValue(), (value) => void JSON.stringify(sampleOf(value))))
})

test('embeddings contain a vector for each input, with the requested length and format', async () => {
  for (const encoding_format of ['float', 'base64'] as const) {
    const { data, usage } = await openai.embeddings.create({
      model: 'text-embedding-3-small',
      input: ['a', 'b', 'a'],
      dimensions: 20,
      encoding_format,
    })
    assert.deepEqual(
      data.map(({ index }) => index),
      [0, 1, 2],
    )
    const [a, b, again] = data.map(({ embedding }) =>
      typeof embedding === 'string'
        ? [...new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer)]
        : embedding,
    )
    assert.equal(a!.length, 20)
    assert.deepEqual(a, again)
    assert.notDeepEqual(a, b)
    assert.ok(Math.abs(Math.hypot(...a!) - 1) < 1e-6)
    assert.equal(usage.prompt_tokens, 15)
  }
})

test('replayed embeddings have their recorded numbers, even in another encoding', async () => {
  const ask = (encoding_format: 'float' | 'base64') =>
    openai.embeddings.create({ model: 'text-embedding-3-small', input: 'a', dimensions: 8, encoding_format })
  const floats = (await ask('float')).data[0]!.embedding
  assert.equal(floats[0], 0.0125)
  const packed = Buffer.from(String((await ask('base64')).data[0]!.embedding), 'base64')
  assert.deepEqual(
    floats,
    [...new Float32Array(Uint8Array.from(packed).buffer)].map((number) => Number(number.toFixed(6))),
  )
  assert.equal(fitEmbeddings({ error: {} }, { input: 'a' }), null)
})

test('more images than recorded have the usage of so many', () => {
  const recorded = { data: [{ b64_json: 'a' }], usage: { output_tokens: 10, details: { image_tokens: 9 } } }
  const { body, madeUp } = fitImages(recorded, { n: 3 })!
  assert.deepEqual(body, {
    data: Array(3).fill({ b64_json: 'a' }),
    usage: { output_tokens: 30, details: { image_tokens: 27 } },
  })
  assert.deepEqual(madeUp, ['3 images (recorded: 1)'])
})

test('a request for unrecorded embeddings causes an error if made-up answers are not allowed', async (t) => {
  const strict = await createMockProviders({ invent: false })
  t.after(() => strict.close())
  const client = new OpenAI({
    baseURL: strict.baseUrl('openai'),
    apiKey: strict.key('openai'),
    maxRetries: 0,
  })
  await client.embeddings.create({ model: 'm', input: ['a'], encoding_format: 'base64' })
  await assert.rejects(
    client.embeddings.create({ model: 'm', input: ['a', 'b'] }),
    /openai\/embeddings; it differs in 2 inputs \(recorded: 1\)/,
  )
})

test('the mock returns the requested number of images', async () => {
  const { data } = await openai.images.generate({ model: 'gpt-image-1', prompt: 'A waybill.', n: 3 })
  assert.equal(data!.length, 3)
})
