// Requests that name other models than the one they ask for: what a budget sets aside for them, and their refusal.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Agent, request } from 'undici'
import type { Script } from '../../mocks/test-upstream.ts'
import { sharedGateways, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const shared = sharedGateways()
const KEY = { authorization: 'Bearer key-of-ann', 'content-type': 'application/json' }
const DIGEST = createHash('sha256').update('key-of-ann').digest('hex')
const PROVIDERS = ['openrouter', 'anthropic', 'vercel', 'groq']
const DIALECTS = {
  openrouter: ['chat', 'responses'],
  anthropic: ['messages'],
  vercel: ['chat'],
  groq: ['chat'],
}
const OPUS = 'anthropic/claude-opus-5.5'
const FLASH = 'deepseek/deepseek-v4-flash'

/** Answers as the last model that the request names, with 1,000 tokens out. */
const dearest: Script = (response, { json, path }) => {
  const { model, models, fallbacks } = json as any
  const served = fallbacks?.at(-1).model ?? models?.at(-1) ?? model
  const body = path.includes('/messages')
    ? {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: served, stop_reason: 'end_turn' },
        content: [{ type: 'text', text: '.' }],
        usage: { input_tokens: 10, output_tokens: 1_000 },
      }
    : {
        ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: served },
        choices: [{ index: 0, message: { role: 'assistant', content: '.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 1_000, total_tokens: 1_010 },
      }
  void pause(100).then(() =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
  )
}

const setup = (budget: string, more = '') => ({
  providers: Object.fromEntries(PROVIDERS.map((name) => [name, dearest])),
  dialects: DIALECTS,
  server: 'max_calls: 5000',
  config: `models:
  vercel/anthropic/claude-haiku-4.5: { price: { input: 1, output: 5 } }
  vercel/anthropic/claude-opus-5.5: { price: { input: 4, output: 20 } }
keys: [ { name: ann, digest: "sha256:${DIGEST}", budget: ${budget} } ]
${more}`,
})

const messages = [{ role: 'user', content: 'where to?' }]
const chat = (model: string, more: object) =>
  ['/v1/chat/completions', { model, messages, max_tokens: 1_000, ...more }] as const
const claude = (more: object) =>
  ['/v1/messages', { model: 'anthropic/claude-haiku-4-5', messages, max_tokens: 1_000, ...more }] as const

for (const [name, [path, body], most] of [
  ['models', chat(`openrouter/${FLASH}`, { models: [FLASH, OPUS], route: 'fallback' }), 0.0205],
  ['fallbacks', claude({ fallbacks: [{ model: 'claude-opus-5-5' }] }), 0.0205],
] as const)
  test(`1,000 calls at once with \`${name}\` exceed a budget by at most one call of the dearest model`, async (t) => {
    const gateway = await testGateway(t, setup('{ usd: 0.05 }'))
    const agent = new Agent({ connections: 250, pipelining: 1 })
    t.after(() => agent.destroy())
    const statuses = await Promise.all(
      Array.from({ length: 1_000 }, async () => {
        const sent = { method: 'POST', dispatcher: agent, headers: KEY, body: JSON.stringify(body) } as const
        const { statusCode, body: answer } = await request(gateway.url + path, sent)
        await answer.text()
        return statusCode
      }),
    )
    const passed = statuses.filter((status) => status === 200).length
    assert.equal(gateway.received(), passed)
    assert.ok(passed >= 2 && passed <= 3, `${passed} passed`)
    assert.ok(statuses.every((status) => status === 200 || status === 429))
    const me = await until('nothing is reserved', async () => {
      const { json } = await gateway.get('/api/keys/me', { headers: KEY })
      return json.reserved_usd === 0 && json
    })
    assert.ok(me.spent_usd >= passed * 0.02 && me.spent_usd <= 0.05 + most, `$${me.spent_usd}`)
  })

/** Spellings of one model, with the dearest model at the end. */
const MANY = [...Array.from({ length: 100 }, (_, n) => FLASH.replace('-', '-'.repeat(n + 1))), OPUS]

/** Makes a call, and returns what is set aside during it. */
async function setAside(t: TestContext, [path, body]: readonly [string, object], more = '') {
  const gateway = await shared(t, setup('{ usd: 1000, unpriced: allow }', more))
  const answered = fetch(gateway.url + path, { method: 'POST', headers: KEY, body: JSON.stringify(body) })
  const { reserved_usd } = await until('something is reserved', async () => {
    const { json } = await gateway.get('/api/keys/me', { headers: KEY })
    return json.reserved_usd > 0 && json
  })
  const { status } = await answered
  assert.equal(status, 200)
  await until('nothing is reserved', async () => {
    const { json } = await gateway.get('/api/keys/me', { headers: KEY })
    return json.reserved_usd === 0
  })
  return reserved_usd as number
}

/** Prices of 1,000 tokens out. A request's few tokens in cost less than a tenth of a cent. */
const [IN_FLASH, IN_HAIKU, IN_OPUS] = [0.0001966, 0.005, 0.02]

for (const [what, call, usd] of [
  ['the asked model', chat(`openrouter/${FLASH}`, {}), IN_FLASH],
  [
    'the same model by another name',
    chat(`openrouter/${FLASH}`, { models: ['deepseek-v4-flash'] }),
    IN_FLASH,
  ],
  ['models', chat(`openrouter/${FLASH}`, { models: [OPUS] }), IN_OPUS],
  [
    'models by Anthropic’s spelling',
    chat(`openrouter/${FLASH}`, { models: ['anthropic/claude-opus-5-5'] }),
    IN_OPUS,
  ],
  [
    'a model after the asked one, many times',
    chat(`openrouter/${FLASH}`, { models: [...Array(100).fill(FLASH), OPUS] }),
    IN_OPUS,
  ],
  ['fallbacks as texts', chat(`openrouter/${FLASH}`, { fallbacks: [OPUS] }), IN_OPUS],
  [
    'an auto router’s models',
    chat(`openrouter/${FLASH}`, { plugins: [{ id: 'auto-router', allowed_models: [OPUS] }] }),
    IN_OPUS,
  ],
  [
    'a panel of two besides',
    chat(`openrouter/${FLASH}`, { plugins: [{ id: 'fusion', analysis_models: [OPUS, OPUS] }] }),
    IN_FLASH + 2 * IN_OPUS,
  ],
  [
    'a tool’s model',
    chat(`openrouter/${FLASH}`, { tools: [{ type: 'openrouter:subagent', parameters: { model: OPUS } }] }),
    IN_FLASH + IN_OPUS,
  ],
  [
    'a function with a parameter of that name',
    chat(`openrouter/${FLASH}`, {
      tools: [{ type: 'function', function: { name: 'f', parameters: { model: OPUS } } }],
    }),
    IN_FLASH,
  ],
  [
    'Vercel’s models',
    chat('vercel/anthropic/claude-haiku-4.5', { providerOptions: { gateway: { models: [OPUS] } } }),
    IN_OPUS,
  ],
  [
    'a cheaper model',
    chat('vercel/anthropic/claude-opus-5.5', {
      providerOptions: { gateway: { models: ['anthropic/claude-haiku-4.5'] } },
    }),
    IN_OPUS,
  ],
  ['Anthropic’s fallbacks', claude({ fallbacks: [{ model: 'claude-opus-5-5' }] }), IN_OPUS],
  [
    'a fallback with a larger limit',
    claude({ fallbacks: [{ model: 'claude-opus-5-5', max_tokens: 3_000 }] }),
    3 * IN_OPUS,
  ],
  [
    'an advisor',
    claude({ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5' }] }),
    IN_HAIKU + IN_OPUS,
  ],
  [
    'an advisor that may be asked three times',
    claude({ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5', max_uses: 3 }] }),
    IN_HAIKU + 3 * IN_OPUS,
  ],
  [
    'a client’s own tool',
    claude({ tools: [{ name: 'f', input_schema: { type: 'object' }, model: 'claude-opus-5-5' }] }),
    IN_HAIKU,
  ],
  [
    'Groq’s compound',
    chat('groq/openai/gpt-oss-120b', {
      compound_custom: { models: { answering_model: 'openai/gpt-oss-20b' } },
    }),
    0.0006 + 0.0003,
  ],
] as const)
  test(`a budget sets aside the price of ${what}`, async (t) => {
    const reserved = await setAside(t, call)
    assert.ok(reserved >= usd * 0.999 && reserved < usd * 1.05 + 0.0005, `$${reserved}, not $${usd}`)
  })

test('a named model without a price counts as a call without a price', async (t) => {
  const post = async (budget: string, [path, body]: readonly [string, object]) => {
    const gateway = await shared(t, setup(budget))
    const before = gateway.received()
    const { status, text } = await gateway.get(path, {
      method: 'POST',
      headers: KEY,
      body: JSON.stringify(body),
    })
    return { status, text, sent: gateway.received() - before }
  }
  for (const [call, named] of [
    [chat(`openrouter/${FLASH}`, { models: ['acme/dream-9'] }), /openrouter\/acme\/dream-9/],
    [chat(`openrouter/${FLASH}`, { preset: 'mine' }), /mine/],
    [
      chat(`openrouter/${FLASH}`, { plugins: [{ id: 'auto-router', allowed_models: ['anthropic/*'] }] }),
      /anthropic\/\*/,
    ],
    [claude({ fallbacks: 'default' }), /default/],
    [claude({ fallbacks: [{ model: 'claude-zeta-9' }] }), /claude-zeta-9/],
    [chat(`openrouter/${FLASH}`, { models: MANY }), /more than 64/],
  ] as const) {
    const refused = await post('{ usd: 1000 }', call)
    assert.deepEqual([refused.status, refused.sent], [403, 0], refused.text)
    assert.match(refused.text, /price_unknown|permission_error/)
    assert.match(refused.text, named)
    const allowed = await post('{ usd: 1000, unpriced: allow }', call)
    assert.equal(allowed.sent, 1, allowed.text)
  }
})

const batch = (more: object) => ({
  requests: [{ custom_id: 'a', params: { model: 'claude/m', messages, max_tokens: 9, ...more } }],
})

test('a provider with `other_models: refuse` gets no request that names other models', async (t) => {
  const gateway = await shared(t, {
    providers: { alpha: dearest, beta: dearest, claude: dearest },
    dialects: { alpha: ['chat', 'responses'], beta: ['chat'], claude: ['messages'] },
    refusing: ['alpha', 'claude'],
    config: `passthrough: [completions, batches]
routes:
  both: { strategy: cheapest, targets: [ { model: alpha/m }, { model: beta/m } ] }
  set: { targets: [ { model: alpha/m, request: { set: { models: [m, other] } } } ] }
  cleared: { targets: [ { model: alpha/m, request: { omit: [models] } } ] }`,
  })
  const post = async ([path, body]: readonly [string, object]) => {
    const before = gateway.received()
    const answer = await gateway.get(path, { method: 'POST', headers: KEY, body: JSON.stringify(body) })
    return { ...answer, sent: gateway.received() - before }
  }
  for (const [call, member] of [
    [chat('alpha/m', { models: ['m', 'other'] }), 'models'],
    [chat('alpha/m', { models: [...Array(100).fill('m'), 'other'] }), 'models'],
    [chat('alpha/m', { models: Array(100).fill('m'), fallbacks: ['other'] }), 'fallbacks'],
    [chat('alpha/m', { providerOptions: { gateway: { models: ['other'] } } }), 'providerOptions'],
    [['/v1/responses', { model: 'alpha/m', input: '?', models: ['other'] }], 'models'],
    [['/v1/messages', { model: 'claude/m', messages, max_tokens: 9, fallbacks: 'default' }], 'fallbacks'],
    [['/v1/completions', { model: 'alpha/m', prompt: '?', models: ['other'] }], 'models'],
    [['/v1/messages/batches', batch({ fallbacks: [{ model: 'other' }] })], 'fallbacks'],
    [chat('set', {}), 'models'],
  ] as const) {
    const { status, text, sent, json } = await post(call)
    assert.deepEqual([status, sent], [400, 0], text)
    assert.match(json.error.message, new RegExp(`^${member}: names another model .*other_models: refuse`))
  }
  for (const call of [
    chat('alpha/m', { models: ['m', 'm-2026-01-01'] }),
    chat('cleared', { models: ['other'] }),
    chat('claude/m', { models: ['other'] }), // translated, so the list does not arrive
    chat('beta/m', { models: ['other'] }),
    ['/v1/completions', { model: 'beta/m', prompt: '?', models: ['other'] }] as const,
    ['/v1/messages/batches', batch({})] as const,
  ])
    assert.equal((await post(call)).sent, 1, JSON.stringify(call))
  const moved = await post(chat('both', { models: ['other'] }))
  assert.deepEqual([moved.status, moved.headers.get('x-gateway-provider')], [200, 'beta'])
  const { decision } = await gateway.record(moved.headers.get('x-gateway-request-id'))
  const reason = 'the request names other models (models)'
  assert.deepEqual(decision.skipped, [{ target: 'alpha/m', reason }])
  assert.equal(decision.estimate.targets.length, 2, 'the costs that were compared stay on record')
})

test('a member that names models is refused if it is there twice', async (t) => {
  const gateway = await shared(t, setup('{ usd: 1000 }'))
  const body = `{"model":"openrouter/${FLASH}","messages":[],"models":["${FLASH}"],"models":["${OPUS}"]}`
  const { status, text } = await gateway.chat(body, KEY)
  assert.deepEqual([status, gateway.received()], [400, 0], text)
  assert.match(text, /models: is there twice/)
})
