import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Interaction } from '../import/interaction.ts'
import { redact, redactAnswer } from './exchange.ts'
import { createPlaceholders } from './placeholders.ts'

const exchange = (difference: Partial<Interaction> & { body?: string }): Interaction => ({
  url: 'https://api.example.com/v1/chat/completions',
  host: 'api.example.com',
  path: '/v1/chat/completions',
  method: 'POST',
  requestHeaders: {},
  requestBody: '{"model":"m"}',
  status: 200,
  responseHeaders: {},
  responseBody: Buffer.from(difference.body ?? '{}'),
  ...difference,
})

/** Answers, each with its redacted form of the same length in bytes. */
const bodies: [sentence: string, body: string, left: string][] = [
  [
    'an answer in OpenAI’s chat dialect',
    '{"id":"chatcmpl-Ab3kd93KD","model":"gpt-5-mini-2025-08-07","choices":[{"message":{"role":"assistant","content":"Grüße, 42 \\n"},"finish_reason":"stop"}],"usage":{"total_tokens":27}}',
    '{"id":"chatcmpl-000000122","model":"gpt-5-mini-2025-08-07","choices":[{"message":{"role":"assistant","content":"Xx××x, 11 \\n"},"finish_reason":"stop"}],"usage":{"total_tokens":27}}',
  ],
  [
    'a tool call, and keeps its arguments valid JSON',
    '{"tool_calls":[{"id":"call_Ab3kd93KDlw93kfls","type":"function","function":{"name":"book_flight","arguments":"{\\"to\\": \\"Oslo\\", \\"bag\\": false, \\"kg\\": 1.5e1, \\"note\\": \\"a\\\\nb\\"}"}}]}',
    '{"tool_calls":[{"id":"call_REDACTED_00185643","type":"function","function":{"name":"xxxx_xxxxxx","arguments":"{\\"xx\\": \\"Xxxx\\", \\"xxx\\": true , \\"xy\\": 1.1e1, \\"xxxx\\": \\"x\\\\nx\\"}"}}]}',
  ],
  [
    'pieces of arguments in Anthropic’s stream',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":": false"}}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":": true "}}\n\n',
  ],
  [
    'a tool’s input that is an object, including names, numbers and booleans',
    '{"type":"tool_use","input":{"type":"secret","adults":2,"pets":false,"none":null},"stop_reason":"tool_use"}',
    '{"type":"tool_use","input":{"xxxx":"xxxxxx","xxxxxx":1,"xxxy":true ,"xxxz":null},"stop_reason":"tool_use"}',
  ],
  [
    'a request that the Responses API repeats in its answer',
    '{"object":"response","temperature":0.7,"instructions":"Be brief.","metadata":{"type":"order"},"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"max_output_tokens":500}',
    '{"object":"response","temperature":0.7,"instructions":"Xx xxxxx.","metadata":{"xxxx":"xxxxx"},"tools":[{"type":"function","name":"x","parameters":{"xxxx":"xxxxxx"}}],"max_output_tokens":500}',
  ],
  [
    'an answer of Gemini',
    '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"city":"Bern"}}}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9},"modelVersion":"gemini-2.5-flash"}',
    '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x","args":{"xxxx":"Xxxx"}}}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9},"modelVersion":"gemini-2.5-flash"}',
  ],
  [
    'pieces of a call in a stream of interactions',
    'event: step.start\ndata: {"index":1,"step":{"type":"function_call","id":"61nzpsv4","name":"weigh","arguments":{}},"event_type":"step.start"}\n\nevent: step.delta\ndata: {"index":1,"delta":{"type":"arguments_delta","arguments":"{\\"to\\":1}"},"event_type":"step.delta"}\n\nevent: interaction.completed\ndata: {"interaction":{"id":"v1_Ab3kd93KDlw93kfls","status":"requires_action"},"event_type":"interaction.completed"}\n\n',
    'event: step.start\ndata: {"index":1,"step":{"type":"function_call","id":"00000619","name":"xxxxx","arguments":{}},"event_type":"step.start"}\n\nevent: step.delta\ndata: {"index":1,"delta":{"type":"arguments_delta","arguments":"{\\"xx\\":1}"},"event_type":"step.delta"}\n\nevent: interaction.completed\ndata: {"interaction":{"id":"v1_REDACTED_00684748","status":"requires_action"},"event_type":"interaction.completed"}\n\n',
  ],
  [
    'embeddings and the probabilities of tokens',
    '{"object":"embedding","index":3,"embedding":[-0.0123,4e-05],"logprobs":{"token":"Hi","bytes":[72,105]}}',
    '{"object":"embedding","index":3,"embedding":[-1.1111,1e-11],"logprobs":{"token":"Xx","bytes":[11,111]}}',
  ],
  [
    'an error with a key in its message',
    '{"error":{"message":"Incorrect key: sk-a1","type":"invalid_request_error","param":"messages","code":"invalid_api_key"}}',
    '{"error":{"message":"Xxxxxxxxx xxx: xx-x1","type":"invalid_request_error","param":"messages","code":"invalid_api_key"}}',
  ],
  [
    'an unknown field, with everything below it',
    '{"acme_tier":{"status":"ok","index":7},"status":"in_progress","code":"print(42)"}',
    '{"xxxx_xxxx":{"xxxxxx":"xx","xxxxx":1},"status":"in_progress","code":"xxxxx(11)"}',
  ],
  [
    'a text with escapes and split surrogate pairs, and keeps its length',
    '{"text":"\\u00e9\\u2019\\ud83d\\ude00 é’😀 \\"a\\\\\\/","content":"\\ud83d"}',
    '{"text":"\\u00d7\\u2715\\ud835\\udc31 ×✕𝐱 \\"x\\\\\\/","content":"\\ud835"}',
  ],
  ['an HTML page', '<html><b>Sorry, Ada</b></html>', '<xxxx><x>Xxxxx, Xxx</x></xxxx>'],
  [
    'an event stream with comments and several fields',
    ': OPENROUTER PROCESSING\r\n: for Ada\r\nevent: ping\r\nid: 77\r\nretry: 30\r\ndata: not json\r\ndata: [DONE]\r\n\r\n',
    ': OPENROUTER PROCESSING\r\n: xxx Xxx\r\nevent: ping\r\nid: 11\r\nretry: 30\r\ndata: xxx xxxx\r\ndata: [DONE]\r\n\r\n',
  ],
  [
    'model names that contain their owner',
    '{"model":"davinci:ft-acme:harbour","modelVersion":"tunedModels/acme-1","modelId":"ada@acme.example/m"}',
    '{"model":"davinci:ft-REDACTED_252","modelVersion":"REDACTED_000647318","modelId":"REDACTED_000000607"}',
  ],
  [
    'codes with too many digits, and a number that is a token',
    '{"code":"ok+41-44-1234567","token":827364,"user-4111-1111-1111-2222":1,"type":"web_search_20250305"}',
    '{"code":"xx+11-11-1111111","token":111111,"xxxx-1111-1111-1111-1111":1,"type":"web_search_20250305"}',
  ],
  ['a truncated value', '{"content":"Dear A', '{"xxxxxxx":"Xxxx X'],
]

for (const [sentence, body, left] of bodies)
  test(`redaction blanks the private parts in ${sentence} (REC-01)`, () => {
    assert.equal(redact(exchange({ body })).body.toString(), left)
    assert.equal(Buffer.byteLength(left), Buffer.byteLength(body))
  })

test('each id has the same placeholder everywhere, and different ids have different placeholders', () => {
  const body =
    '{"id":"call_aaaaaaaaaaaaaa","item_id":"call_bbbbbbbbbbbbbb","tool_call_id":"call_aaaaaaaaaaaaaa","request_id":"req-1"}'
  const { headers, body: left } = redactAnswer({
    method: 'POST',
    path: '/v1/responses',
    headers: { 'x-request-id': 'call_bbbbbbbbbbbbbb' },
    body: Buffer.from(body),
  })
  const { id, item_id, tool_call_id, request_id } = JSON.parse(left.toString())
  assert.deepEqual(
    [id, item_id, tool_call_id, request_id],
    ['call_REDACTED_00931', 'call_REDACTED_00683', 'call_REDACTED_00931', 'req-1'],
  )
  assert.equal(headers['x-request-id'], item_id)
})

test('redaction keeps a header only if its name and format are known', () => {
  const { headers } = redact(
    exchange({
      responseHeaders: {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, max-age=0',
        'retry-after': 'Sat, 21 Nov 2026 10:00:00 GMT',
        'x-ratelimit-reset-requests': '6m0.5s',
        'openai-version': 'Ada Lovelace',
        'x-ratelimit-account': '123456789012',
        'openai-organization': 'acme',
        'set-cookie': 'a=b',
      },
    }),
  )
  assert.deepEqual(headers, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, max-age=0',
    'retry-after': 'Sat, 21 Nov 2026 10:00:00 GMT',
    'x-ratelimit-reset-requests': '6m0.5s',
    'openai-version': 'Xxx Xxxxxxxx',
  })
})

test('a media type in a private header is no secret, and a name of the customer is', () => {
  const secretsOf = (value: string) =>
    redact(exchange({ responseHeaders: { 'x-token-type': value } })).secrets.values
  assert.equal(secretsOf('application/json').size, 0)
  assert.equal(secretsOf('harbour/of-ann').get('harbour/of-ann'), 'header x-token-type')
})

test('a redacted request keeps only its method, path, field names and sizes', () => {
  const { path, fields } = redact(
    exchange({
      path: '/v1/projects/harbour-7/locations/eu/models/gemini-2.5-flash:streamGenerateContent',
      requestBody: '{"contents":[{"text":"Hé"}],"model":"ft:gpt-5-mini:acme::a1","my_field":[1, 2]}',
    }),
  )
  assert.match(
    path,
    /^\/v1\/projects\/0+\d{1,3}\/locations\/name-\d{3}\/models\/gemini-2\.5-flash:streamGenerateContent$/,
  )
  assert.deepEqual(fields, { contents: 16, model: 24, xx_xxxxx: 5 })
})

test('the name of a project is removed even if it is the name of a model (REC-01)', () => {
  const { path } = redact(
    exchange({ path: '/v1/projects/acme-gemini-pro/publishers/google/models/gemini-pro:generateContent' }),
  )
  assert.equal(path, '/v1/projects/REDACTED_000133/publishers/google/models/gemini-pro:generateContent')
})

test('a key is detected even if a model has the same name, and an API version’s date does not count as a secret (REC-01)', () => {
  const { secrets } = redact(
    exchange({
      url: 'https://api.example.com/v1/x?api-version=2024-10-21',
      requestHeaders: { authorization: 'Bearer zebra-private-4711' },
      requestBody: '{"model":"zebra-private-4711"}',
    }),
  )
  assert.deepEqual([...secrets.values], [['zebra-private-4711', 'header authorization']])
})

test('answers of many megabytes can be redacted (REC-01)', () => {
  const image = Buffer.alloc(4e6, 7).toString('base64')
  const { body } = redact(exchange({ body: JSON.stringify({ data: [{ b64_json: image }] }) }))
  assert.equal(body.includes('BwcH'), false)
})

test('redaction lists the values that must not occur afterwards: credentials, cookies, query values, ids and long words', () => {
  const { secrets } = redact(
    exchange({
      url: 'https://api.example.com/v1/x?key=AIplanted12&v=1',
      requestHeaders: { authorization: 'Bearer top-secret-1', 'user-agent': 'test/1.0.0-beta' },
      responseHeaders: { 'set-cookie': 'sid=0123456789; Path=/' },
      requestBody:
        '{"model":"mistral-marvellous","messages":[{"role":"user","content":"Marvellous lighthouse messages"}]}',
      body: '{"id":"chatcmpl-0123456789","content":"Seagulls, naturally"}',
    }),
  )
  assert.deepEqual(
    [...secrets.values],
    [
      ['top-secret-1', 'header authorization'],
      ['0123456789', 'header set-cookie'],
      ['AIplanted12', 'query key'],
      ['chatcmpl-0123456789', 'an id'],
    ],
  )
  assert.deepEqual([...secrets.words], ['lighthouse', 'seagulls', 'naturally'])
})

test('a binary body is refused', () => {
  assert.throws(
    () => redact(exchange({ responseBody: Buffer.from([0xff, 0xd8, 0xff]) })),
    /is not UTF-8 text/,
  )
})

test('a redacted body keeps its length, JSON stays JSON, and redacting a body twice changes nothing more', () => {
  const text = fc.string({ unit: 'grapheme' })
  const value = fc.letrec((tie) => ({
    any: fc.oneof(text, fc.double(), fc.boolean(), fc.constant(null), tie('list'), tie('object')),
    list: fc.array(tie('any'), { maxLength: 4 }),
    object: fc.dictionary(
      fc.oneof(text, fc.constantFrom('content', 'id', 'usage', 'type', 'input')),
      tie('any'),
      {
        maxKeys: 4,
      },
    ),
  })).any
  const body = fc.oneof(
    value.map((json) => JSON.stringify(json)),
    fc
      .array(value, { maxLength: 5 })
      .map((events) => events.map((json) => `data: ${JSON.stringify(json)}\n\n`).join('')),
    text,
  )
  fc.assert(
    fc.property(body, (body) => {
      const answer = { method: 'POST', path: '/v1/x', headers: {} }
      const once = redactAnswer({ ...answer, body: Buffer.from(body) }).body
      assert.equal(once.length, Buffer.byteLength(body))
      const twice = redactAnswer({ ...answer, body: once }, undefined, createPlaceholders(true))
      assert.deepEqual(twice.body, once)
      if (isJson(body)) assert.ok(isJson(once.toString()), once.toString())
    }),
    { numRuns: 500 },
  )
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('cloud signatures and tokens are removed, even if a stored answer repeats them', () => {
  const secrets = [
    'AKIAEXAMPLE00000001',
    'fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024',
    'IQoJb3JpZ2luX2VjEXAMPLEtoken/with+signs==',
    'ya29.a-token-of-google-0123456789',
    'eyJ0eXAiOiJKV1Qi.token-of-entra.0123456789',
  ]
  const [id, signature, session, google, entra] = secrets
  for (const requestHeaders of [
    {
      authorization: `AWS4-HMAC-SHA256 Credential=${id}/20261125/eu-central-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
      'x-amz-security-token': session!,
    },
    { authorization: `Bearer ${google}`, 'x-goog-user-project': 'acme-billing-1' },
    { authorization: `Bearer ${entra}` },
  ]) {
    const body = JSON.stringify({ choices: [{ message: { content: secrets.join(' ') } }] })
    const kept = redact(exchange({ requestHeaders, body }), '', { keepsAnswer: true })
    const written = JSON.stringify(requestHeaders)
    for (const secret of secrets.filter((each) => written.includes(each))) {
      assert.ok(!kept.body.includes(secret), secret)
      assert.ok(!JSON.stringify([kept.path, kept.headers, kept.fields]).includes(secret), secret)
    }
  }
})
