// Context windows in routing, over real sockets. A target with a known window that is too small is tried last. If a
// target refuses a request as too long, a target with a larger window is tried next. Rules can match a call's purpose
// and program.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { testGateway } from '../test/test-gateway.ts'
import { gatewayAtModels } from '../test/test-models.ts'

const WORDS = 'the quick brown fox jumps over the lazy dog '
const long = (tokens: number) => [{ role: 'user', content: WORDS.repeat(tokens / 9) }]

test('a target whose known context window is too small for the request is tried last (FIT-07)', async (t) => {
  const { mock, post, newest } = await gatewayAtModels(
    t,
    'routes: { auto: { targets: [ { model: claude/claude-haiku-4-5 }, { model: claude/claude-opus-5-5 } ] }, small: { targets: [ { model: claude/claude-haiku-4-5 }, { model: claude/claude-opus-4-5 } ] } }',
  )
  const ask = (model: string, tokens: number, max_tokens = 50) =>
    post('/v1/messages', { model, max_tokens, messages: long(tokens) })
  assert.equal((await ask('auto', 90)).headers.get('x-gateway-model'), 'claude-haiku-4-5')
  assert.equal((await ask('auto', 150_000)).headers.get('x-gateway-model'), 'claude-haiku-4-5')
  assert.equal((await ask('auto', 150_000, 60_000)).headers.get('x-gateway-model'), 'claude-opus-5-5')
  const large = await ask('auto', 250_000)
  assert.deepEqual([large.status, large.headers.get('x-gateway-model')], [200, 'claude-opus-5-5'])
  assert.deepEqual((await newest()).decision.skipped, [
    {
      target: 'claude/claude-haiku-4-5',
      reason: 'window of 200000 tokens may be too small; tried last',
    },
  ])
  const before = mock.entries().length
  const none = await ask('small', 250_000)
  assert.deepEqual([none.status, mock.entries().length - before], [400, 1], 'all too small: as configured')
  assert.match(none.text, /prompt is too long/)
})

const refusing =
  (error: object): Script =>
  (response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error))
const TOO_LONG = {
  chat: { error: { message: 'Too many tokens.', type: 'x', code: 'context_length_exceeded' } },
  responses: { error: { message: 'Too many tokens.', type: 'x', code: 'context_length_exceeded' } },
  messages: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
  },
  'messages, in Bedrock’s words': {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'The model returned the following errors: Input is too long for requested model.',
    },
  },
  gemini: {
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).',
    },
  },
}

for (const [dialect, error] of Object.entries(TOO_LONG))
  test(`if a ${dialect} provider rejects a request as too long, only a target with a larger window is tried next (FIT-07)`, async (t) => {
    const gateway = await testGateway(t, {
      providers: { alpha: refusing(error), beta: answer('small'), gamma: answer('large') },
      dialects: { alpha: [dialect.replace(/,.*/, '')], beta: ['chat'], gamma: ['chat'] },
      config: `models: { alpha/m: { context: 100000 }, beta/m: { context: 50000 }, gamma/m: { context: 200000 } }
routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m }, { model: gamma/m } ] }, down: { targets: [ { model: alpha/m }, { model: beta/m } ] } }
resilience: { retries: 0 }`,
    })
    const said = await gateway.chat({ model: 'auto', messages: [{ role: 'user', content: 'hi' }] })
    assert.equal(said.json.choices[0].message.content, 'large')
    const { attempt_log: log } = await gateway.record(said.headers.get('x-gateway-request-id'))
    assert.deepEqual(
      log.map(({ provider, status, outcome }: any) => [provider, status, outcome]),
      [
        ['alpha', 400, 'failed'],
        ['gamma', 200, 'answered'],
      ],
    )
    const final = await gateway.chat({ model: 'down', messages: [{ role: 'user', content: 'hi' }] })
    assert.equal(final.status, 400, 'a smaller one would refuse it, too')
    const resolved = await gateway.get('/api/cloud/model/resolve?model=auto')
    assert.equal(resolved.json.candidates[0].state, 'ready', 'it is not in cooldown')
  })

test('rules can match a call’s purpose and program', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer('a'), beta: answer('b'), gamma: answer('c') },
    config: `routes: { auto: { rules: [ { when: { client: [Codex_Exec, other] }, use: { target: beta/m } }, { when: { purpose: [background, compaction] }, use: { target: gamma/m } } ], targets: [ { model: alpha/m }, { model: beta/m }, { model: gamma/m } ] } }`,
  })
  const ask = async (headers: Record<string, string>) => {
    const said = await gateway.chat(
      { model: 'auto', messages: [{ role: 'user', content: 'hi' }], tools: [{ type: 'function' }] },
      headers,
    )
    const { decision, purpose } = await gateway.record(said.headers.get('x-gateway-request-id'))
    return [said.headers.get('x-gateway-provider'), decision.cause, purpose]
  }
  assert.deepEqual(await ask({ 'user-agent': 'claude-cli/2.1.328 (external)' }), [
    'alpha',
    'priority',
    'main',
  ])
  assert.deepEqual(await ask({ 'user-agent': 'codex_exec/0.169.0 (Debian)' }), [
    'beta',
    'rule 1: client codex_exec or other',
    'main',
  ])
  const compaction = {
    'x-codex-turn-metadata': '{"request_kind":"compaction"}',
    'user-agent': 'claude-cli/2',
  }
  assert.deepEqual(await ask(compaction), ['gamma', 'rule 2: purpose background or compaction', 'compaction'])
})
