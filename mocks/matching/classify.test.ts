// Tests the classifier that import, recording and replay share, with every way to name a model, a stream and
// a turn, in all dialects.
import assert from 'node:assert/strict'
import test from 'node:test'
import { hostName, redactPath } from '../redaction/paths.ts'
import { classify } from './classify.ts'

const tools = [{ type: 'function', function: { name: 'f' } }]

/** provider, path, body, and the expected class: endpoint, model, stream, scenario. */
const requests: [
  provider: string,
  path: string,
  body: unknown,
  is: [string, string | null, boolean, string],
][] = [
  ['openai', 'chat/completions', { model: 'gpt-5-mini' }, ['chat/completions', 'gpt-5-mini', false, 'plain']],
  [
    'openai',
    'chat/completions',
    { model: 'm', tools, stream: true },
    ['chat/completions', 'm', true, 'tools'],
  ],
  [
    'openai',
    'chat/completions',
    { model: 'm', tools, messages: [{ role: 'tool', content: '' }] },
    ['chat/completions', 'm', false, 'plain'],
  ],
  [
    'openai',
    'chat/completions',
    { model: 'scenario-429' },
    ['chat/completions', 'scenario-429', false, '429'],
  ],
  [
    'openai',
    'responses',
    { model: 'm', tools, input: [{ type: 'function_call_output' }] },
    ['responses', 'm', false, 'plain'],
  ],
  // A text that mentions a call is not a tool result. A field of that name in another place is not one
  // either.
  [
    'openai',
    'chat/completions',
    { model: 'm', tools, messages: [{ role: 'user', content: '"role":"tool"' }] },
    ['chat/completions', 'm', false, 'tools'],
  ],
  [
    'openai',
    'audio/transcriptions',
    '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--b--',
    ['audio/transcriptions', 'whisper-1', false, 'plain'],
  ],
  [
    'gemini',
    'models/gemini-2.5-flash:streamGenerateContent',
    { contents: [], tools: [{}] },
    ['models/{model}:generateContent', 'gemini-2.5-flash', true, 'tools'],
  ],
  [
    'gemini',
    'models/gemini-embedding-001:batchEmbedContents',
    { requests: [] },
    ['models/gemini-embedding-001:batchEmbedContents', 'gemini-embedding-001', false, 'plain'],
  ],
  [
    'anthropic',
    'messages',
    { model: 'm', tools, messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] },
    ['messages', 'm', false, 'plain'],
  ],
  [
    'bedrock-runtime.amazonaws.com',
    '/model/us.amazon.nova-2-lite-v1%3A0/converse-stream',
    { toolConfig: { tools: [{}] } },
    ['model/us.amazon.nova-2-lite-v1:0/converse-stream', 'us.amazon.nova-2-lite-v1:0', true, 'tools'],
  ],
  [
    'bedrock-runtime.amazonaws.com',
    'model/anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream',
    {
      tools,
      messages: [{ role: 'user', content: [{ toolResult: {} }] }],
    },
    [
      'model/anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream',
      'anthropic.claude-haiku-4-5-20251001-v1:0',
      true,
      'plain',
    ],
  ],
  ['api.cohere.com', 'v2/embed', { model: 'embed-v4.0' }, ['v2/embed', 'embed-v4.0', false, 'plain']],
  [
    'api.z.ai',
    'api/paas/v4/chat/completions',
    { model: 'glm-5' },
    ['api/paas/v4/chat/completions', 'glm-5', false, 'plain'],
  ],
  [
    'azure',
    'deployments/gpt-5-mini/chat/completions',
    {},
    ['chat/completions', 'gpt-5-mini', false, 'plain'],
  ],
  [
    'azure',
    'chat/completions',
    { model: 'scenario-401' },
    ['chat/completions', 'REDACTED_287', false, '401'],
  ],
  ['openai', 'chat/completions', 'no JSON', ['chat/completions', null, false, 'plain']],
]

for (const [provider, path, body, is] of requests)
  test(`a request to ${provider} ${path} is classified as ${is.join(', ')} (REC-02)`, () => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const { endpoint, model, stream, scenario } = classify({ provider, method: 'POST', path, body: text })
    assert.deepEqual([endpoint, model, stream, scenario], is)
  })

test('a name that identifies its owner is replaced by a placeholder that stays the same in later requests (REC-01, REC-02)', () => {
  const asked: [provider: string, path: string, model: string | undefined][] = [
    ['azure', 'deployments/acme-payroll-assistant/chat/completions', undefined],
    ['azure', 'chat/completions', 'acme-gpt'],
    ['azure', 'responses', 'acme'],
    ['host-3fa', 'v1/chat/completions', 'acme-llama-70b'],
    ['openai', 'chat/completions', 'ft:gpt-4o:acme-corporation::a1b2c3'],
    ['openai', 'batches/batch_6a0f5a1e4ac88190', undefined],
    [
      'aiplatform.googleapis.com',
      'v1/projects/acme-prod/locations/us-east5/publishers/google/models/gemini-2.5-flash:generateContent',
      undefined,
    ],
    ['mistral', 'files/2c4f8a90-1111-4b21-9ab1-acme00000000/content', undefined],
    ['openai', 'organization/users/ada@acme.example', undefined],
  ]
  for (const [provider, path, model] of asked) {
    const once = classify({ provider, method: 'POST', path, body: JSON.stringify({ model }) })
    assert.doesNotMatch(JSON.stringify(once), /acme|6a0f5a/, path)
    const again = classify({
      provider,
      method: 'POST',
      path: redactPath(path, provider),
      body: JSON.stringify({ model: once.model }),
    })
    assert.deepEqual(again, once)
  }
})

test('two private names have different placeholders', () => {
  const modelOf = (model: string) =>
    classify({ provider: 'azure', method: 'POST', path: 'chat/completions', body: JSON.stringify({ model }) })
      .model
  assert.notEqual(modelOf('acme-assistant'), modelOf('acme-moderator'))
  assert.notEqual(hostName('llm.acme.example'), hostName('llm.beta.example'))
})

test('path segments that belong to the interface are kept, but ids and names are removed (REC-01, REC-02)', () => {
  for (const path of [
    '/v1/fine_tuning/jobs',
    '/v1/files',
    '/v1/ocr',
    '/api/paas/v4/chat/completions',
    '/v1/vector_stores',
    '/v1/threads',
    '/v1beta/cachedContents',
    '/compatible-mode/v1/chat/completions',
    '/v1/messages/batches',
    '/v1/audio/speech',
    '/v1/images/edits',
  ])
    assert.equal(redactPath(path), path)
  const path = redactPath('/v1/threads/thread_abc123def456ghi789/runs/run_k3jf93lslwk2j4h5/steps')
  assert.match(path, /^\/v1\/threads\/thread_REDACTED_0*\d{1,6}\/runs\/run_REDACTED_\d+\/steps$/)
})

test('a public host keeps its name, and a private host gets a placeholder (REC-01)', () => {
  for (const host of ['api.cohere.com', 'ai-gateway.vercel.sh', 'localhost:8080'])
    assert.equal(hostName(host), host)
  for (const host of [
    'llm.acme.internal',
    '10.0.0.3:8000',
    'acme.eu-west-1.elb.amazonaws.com',
    '<ACME_BASE>',
    '..',
    '',
  ])
    assert.match(hostName(host), /^host-[\da-f]{3}$/, host)
  assert.equal(hostName(hostName('llm.acme.internal')), hostName('llm.acme.internal'))
})
