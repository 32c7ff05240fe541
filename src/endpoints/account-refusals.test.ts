// A refusal that is not the client's fault moves the call to the next target or key, under any status and in any
// words; the client's own fault is final. Providers' times to wait are read from every place where they write them.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { answer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { refusalRows } from '../models/refusals.ts'
import { clock } from '../shared/clock.ts'
import { ask, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'

const refuse =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

const withTwoTargets = (t: TestContext, config = '') =>
  testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `${TWO_TARGETS}\nresilience: { cooldown: 1ms }\n${config}`,
  })

const ALPHA_ALONE =
  'routes: { auto: { targets: [ { model: alpha/model-a } ] } }\nresilience: { cooldown: 30s }'

const KEYS = `keys: [ { name: ann, role: client, digest: "sha256:${createHash('sha256').update('key-of-ann').digest('hex')}" }, { name: root, role: admin, digest: "sha256:${createHash('sha256').update('key-of-root').digest('hex')}" } ]`

const sentenceOf = (sent: any): string =>
  JSON.parse(sent.error?.metadata?.raw ?? 'null')?.error.message ??
  sent.error?.message ??
  sent.error ??
  sent.message ??
  sent.detail

test('each known refusal of an account or a model moves the call to the next target', async (t) => {
  const gateway = await withTwoTargets(t)
  for (const { provider, cause, status, sent, says, codes } of refusalRows()) {
    if (cause === 'content') continue
    for (const each of status)
      await t.test(`${provider}, ${each}: ${says ?? codes[0]}`, async () => {
        gateway.upstream.alpha!.script = refuse(each, sent)
        const got = await gateway.chat(ask('auto'))
        assert.equal(got.status, 200, got.text)
        const { attempt_log } = await gateway.record(got.headers.get('x-gateway-request-id'))
        assert.deepEqual(
          attempt_log.map(({ provider, status, outcome }: any) => [provider, status, outcome]),
          [
            ['alpha', each, 'failed'],
            ['beta', 200, 'answered'],
          ],
        )
        assert.equal(attempt_log[0].refusal, cause === 'key' ? null : sentenceOf(sent).slice(0, 256))
      })
  }
})

/** Refusals in other places and forms than the rows have them: through gateways, and inside a 200. */
const ELSEWHERE: Readonly<Record<string, readonly [status: number, body: unknown, code: string]>> = {
  'in a text before the JSON of another gateway': [
    400,
    {
      error: {
        message:
          'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}',
        type: null,
        code: '400',
      },
    },
    'upstream_refused',
  ],
  'after a text of another gateway': [
    400,
    { error: { message: 'Error from provider: This organization has been disabled.' } },
    'upstream_refused',
  ],
  'with a status inside a 200': [
    200,
    { error: { message: 'Insufficient credits. Add more using https://openrouter.ai/credits', code: 402 } },
    'upstream_refused',
  ],
  'without a status inside a 200': [
    200,
    { error: { message: 'You exceeded your current quota.', type: 'insufficient_quota' } },
    'upstream_refused',
  ],
  'a model inside a 200': [
    200,
    { error: { message: 'No endpoints found for model-a.', code: 404 } },
    'model_not_found',
  ],
  'in a list': [
    400,
    [{ error: { code: 400, message: 'User location is not supported for the API use.' } }],
    'upstream_refused',
  ],
  'in capitals': [
    400,
    { error: { message: 'YOUR CREDIT BALANCE IS TOO LOW to access this API' } },
    'upstream_refused',
  ],
}

test('a refusal of the account is recognized inside the words of other gateways and inside a 200', async (t) => {
  const gateway = await withTwoTargets(t)
  for (const [name, [status, body]] of Object.entries(ELSEWHERE))
    await t.test(name, async () => {
      gateway.upstream.alpha!.script = refuse(status, body)
      const got = await gateway.chat(ask('auto'))
      assert.equal(got.status, 200, got.text)
      const { attempt_log } = await gateway.record(got.headers.get('x-gateway-request-id'))
      assert.equal(attempt_log.length, 2)
      assert.ok(attempt_log[0].refusal)
    })
})

const EMPTY = {
  error: { message: 'Your credit balance is too low to access this API.', type: 'invalid_request_error' },
}

test('if no target is left, the client without keys reads the sentence of the provider, in a 502', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: refuse(400, EMPTY) }, config: ALPHA_ALONE })
  for (const [status, body] of [
    [400, EMPTY],
    [402, EMPTY],
    [403, EMPTY],
    [200, EMPTY],
  ] as const) {
    gateway.upstream.alpha!.script = refuse(status, body)
    const got = await gateway.chat(ask('auto'))
    assert.deepEqual([got.status, got.json.error.code], [502, 'upstream_refused'])
    assert.match(
      got.json.error.message,
      /denied the gateway access with status \d+: Your credit balance is too low/,
    )
  }
  gateway.upstream.alpha!.script = refuse(401, EMPTY)
  const denied = await gateway.chat(ask('auto'))
  assert.doesNotMatch(denied.text, /credit balance/, 'a 401 may contain a part of the key')
})

test('a client with a key reads neither the sentence nor its record; an admin reads the record', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: refuse(400, EMPTY) },
    config: `${ALPHA_ALONE}\n${KEYS}`,
  })
  const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })
  const got = await gateway.chat(ask('auto'), as('ann'))
  assert.deepEqual([got.status, got.json.error.code], [502, 'upstream_refused'])
  assert.doesNotMatch(got.text, /credit/)
  const id = got.headers.get('x-gateway-request-id')
  assert.equal((await gateway.record(id, as('ann'))).attempt_log[0].refusal, null)
  assert.equal((await gateway.record(id, as('root'))).attempt_log[0].refusal, EMPTY.error.message)
})

test('with several keys, a refusal of one account moves the call to the next key of the same target', async (t) => {
  const script: Script = (response, received) =>
    received.headers.authorization === 'Bearer sk-one-of-the-pool'
      ? refuse(400, EMPTY)(response, received)
      : answer()(response, received)
  const pool = await startMockServer(script)
  t.after(() => pool.close())
  const gateway = await testGateway(t, {
    env: { ONE: 'sk-one-of-the-pool', TWO: 'sk-two-of-the-pool' },
    config: `  pool: { dialect: openai, base_url: "${pool.baseUrl}", keys: [ { name: one, key: $ONE }, { name: two, key: $TWO } ] }
routes: { auto: { targets: [ { model: pool/m } ] } }`,
  })
  for (let calls = 0; calls < 3; calls++) assert.equal((await gateway.chat(ask('auto'))).status, 200)
  assert.equal(pool.ledger.length, 4, 'the key without credit rests')
})

/** The client's own fault, also if it repeats words of a refusal. */
const FINAL: Readonly<Record<string, readonly [status: number, body: unknown]>> = {
  'an invalid request': [
    400,
    { error: { message: "Invalid value: 'x'.", type: 'invalid_request_error', code: null } },
  ],
  'a context that is too long': [
    400,
    {
      error: {
        message: 'This model’s maximum context length is 8 tokens.',
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    },
  ],
  'a policy on content': [
    400,
    {
      error: { message: 'Your request was rejected by our safety system.', code: 'content_policy_violation' },
    },
  ],
  'a quotation of a refusal': [
    400,
    { error: { message: "Invalid value: 'Your credit balance is too low'. Supported values are: 'a'." } },
  ],
  'a parameter that is unknown': [
    400,
    {
      error: {
        message: 'Unsupported parameter: this model is not supported with max_tokens',
        code: 'unsupported_parameter',
      },
    },
  ],
  'a balance in the middle of a sentence': [
    400,
    { error: { message: 'The tool result is no JSON: credit balance is too low' } },
  ],
  'a file that is gone': [404, { error: { message: 'No such File object: file-abc', code: null } }],
  'a sentence under another status': [422, EMPTY],
  'content that a router refuses': [403, refusalRows().find(({ cause }) => cause === 'content')!.sent],
}

test("the client's own fault is final and relayed, also if it quotes a refusal", async (t) => {
  const gateway = await withTwoTargets(t)
  for (const [name, [status, body]] of Object.entries(FINAL))
    await t.test(name, async () => {
      gateway.upstream.alpha!.script = refuse(status, body)
      const before = gateway.received()
      const got = await gateway.chat(ask('auto'))
      assert.deepEqual([got.status, got.json], [status, body])
      assert.equal(gateway.received() - before, 1)
    })
})

const inSeconds = (s: number) => new Date(clock.now() + s * 1_000)

/** Places and forms of a time to wait, each with the seconds that it means, and where it was seen. */
const WAITS: readonly {
  readonly from: string
  readonly status?: number
  readonly headers?: () => Record<string, string>
  readonly body?: unknown
  readonly seconds: number
}[] = [
  { from: 'RFC 9110: seconds', headers: () => ({ 'retry-after': '45' }), seconds: 45 },
  {
    from: 'RFC 9110: a date',
    headers: () => ({ 'retry-after': inSeconds(120).toUTCString() }),
    seconds: 120,
  },
  { from: 'OpenAI: milliseconds', headers: () => ({ 'retry-after-ms': '61500' }), seconds: 61.5 },
  { from: 'a fraction', headers: () => ({ 'retry-after': '40.2' }), seconds: 40.2 },
  { from: 'a duration', headers: () => ({ 'retry-after': '1m5s' }), seconds: 65 },
  {
    from: 'OpenAI: the limit that is used up (groq/groq-python#101)',
    headers: () => ({
      'x-ratelimit-remaining-requests': '14370',
      'x-ratelimit-reset-requests': '2h',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '1m7.66s',
    }),
    seconds: 67.66,
  },
  {
    from: 'Azure: another name (openai/openai-python#937)',
    headers: () => ({ 'x-rate-limit-reset-tokens': '55' }),
    seconds: 55,
  },
  {
    from: 'OpenRouter: Unix milliseconds (decolua/9router#789)',
    headers: () => ({ 'x-ratelimit-reset': String(inSeconds(90).getTime()) }),
    seconds: 90,
  },
  {
    from: 'Anthropic: a Unix time',
    headers: () => ({
      'anthropic-ratelimit-unified-reset': String(Math.floor(inSeconds(90).getTime() / 1_000)),
    }),
    seconds: 90,
  },
  {
    from: 'Anthropic: an ISO time',
    headers: () => ({
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': inSeconds(90).toISOString(),
    }),
    seconds: 90,
  },
  {
    from: 'Google: RetryInfo (googleapis/python-genai#2114)',
    body: {
      error: {
        code: 429,
        message: 'You exceeded your current quota. Please retry in 58.934310785s.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '58s' }],
      },
    },
    seconds: 58,
  },
  {
    from: 'Google: RetryInfo in parts',
    body: { error: { message: 'm', details: [{ retryDelay: { seconds: 70, nanos: 500_000_000 } }] } },
    seconds: 70.5,
  },
  {
    from: 'Google: a delay of the quota (NikkeTryHard/zerogravity#19)',
    body: { error: { message: 'm', details: [{ metadata: { quotaResetDelay: '57m16.9s' } }] } },
    seconds: 3436.9,
  },
  {
    from: 'Google: more than an hour (router-for-me/CLIProxyAPI#3655)',
    body: { error: { message: 'Individual quota reached. Resets in 108h48m29s.' } },
    seconds: 3_600,
  },
  {
    from: 'Google through another gateway, as text (kittors/CliRelay#240)',
    body: {
      error: {
        message: '{"error":{"message":"m","details":[{"retryDelay":"434.18s"}]}}',
        type: 'upstream_error',
      },
    },
    seconds: 434.18,
  },
  {
    from: 'ChatGPT: seconds (router-for-me/CLIProxyAPI#1666)',
    body: { error: { type: 'usage_limit_reached', message: 'm', resets_in_seconds: 529 } },
    seconds: 529,
  },
  {
    from: 'ChatGPT: a time',
    body: () => ({ error: { message: 'm', resets_at: Math.floor(inSeconds(300).getTime() / 1_000) } }),
    seconds: 300,
  },
  {
    from: 'a member (can1357/oh-my-pi#11689)',
    body: { error: { message: 'm' }, retry_after: 77 },
    seconds: 77,
  },
  {
    from: 'OpenRouter: headers in the metadata',
    body: () => ({
      error: {
        message: 'm',
        code: 429,
        metadata: { headers: { 'X-RateLimit-Reset': String(inSeconds(80).getTime()) } },
      },
    }),
    seconds: 80,
  },
  {
    from: 'Hugging Face: a model that loads',
    status: 503,
    body: { error: 'Model m is currently loading', estimated_time: 50.5 },
    seconds: 50.5,
  },
  {
    from: 'Groq: words (OpenHands/OpenHands#4167)',
    body: {
      error: {
        message:
          'Rate limit reached for model `m` on tokens per minute (TPM): Limit 7000, Used 6148, Requested 7895. Please try again in 1m0.363142857s. Visit https://console.groq.com.',
        code: 'rate_limit_exceeded',
      },
    },
    seconds: 60.36,
  },
  {
    from: 'OpenAI: words (openai/codex#797)',
    body: { error: { message: 'Limit 200, Used 200, Requested 1. Please try again in 7m12s. Visit us.' } },
    seconds: 432,
  },
  {
    from: 'Azure: words (icereed/paperless-gpt#814)',
    body: {
      error: {
        message: 'You have exceeded the token rate limit. Please retry after 45 seconds.',
        code: '429',
      },
    },
    seconds: 45,
  },
  {
    from: 'words: wait',
    body: { error: { message: 'Please wait 33 seconds before you retry.' } },
    seconds: 33,
  },
  {
    from: 'words: in',
    body: { error: { message: 'Too many requests, retry in 2 minutes and 5 seconds' } },
    seconds: 125,
  },
  {
    from: 'words: a time',
    body: () => ({ error: { message: `Please try again at ${inSeconds(600).toISOString()}.` } }),
    seconds: 600,
  },
  {
    from: 'Anthropic: access again after a limit (anthropics/claude-code#38035)',
    status: 400,
    body: () => ({
      error: {
        message: `You have reached your specified API usage limits. You will regain access on ${inSeconds(1_800).toISOString().slice(0, 10)} at ${inSeconds(1_800).toISOString().slice(11, 16)} UTC.`,
      },
    }),
    seconds: 1_800,
  },
]

test("a target cools down for the provider's time, and the client is told it in whole seconds", async (t) => {
  for (const {
    from,
    status = 429,
    headers = (): Record<string, string> => ({}),
    body = { error: { message: 'busy' } },
    seconds,
  } of WAITS)
    await t.test(from, async (t) => {
      const gateway = await testGateway(t, { providers: { alpha: answer() }, config: ALPHA_ALONE })
      const content = typeof body === 'function' ? body() : body
      gateway.upstream.alpha!.script = refuse(status, content, headers())
      const before = clock.now()
      const got = await gateway.chat(ask('auto'))
      const after = clock.now()
      const { json } = await gateway.get('/api/routes')
      const until = Date.parse(json.routes[0].targets[0].cooling_until)
      const exact = status === 400 || /date|words: a time|Unix|time$/.test(from) ? 61 : 0.1
      const wait = (until - after) / 1_000
      assert.ok(wait > seconds - exact - 2 && (until - before) / 1_000 < seconds + 2, `${wait} s`)
      const told = got.headers.get('retry-after')!
      if (/^\d+$/.test(told)) {
        assert.ok(
          Number(told) <= Math.ceil(seconds) + 1 && Number(told) >= Math.floor(seconds - exact - 2),
          told,
        )
      } else assert.equal(told, headers()['retry-after'])
    })
})

test('limits in the headers of another refusal are no time to wait', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: answer() }, config: ALPHA_ALONE })
  gateway.upstream.alpha!.script = refuse(
    500,
    { error: { message: 'retry in 900 seconds' } },
    {
      'x-ratelimit-reset-requests': '1h',
    },
  )
  const after = clock.now()
  await gateway.chat(ask('auto'))
  const { json } = await gateway.get('/api/routes')
  assert.ok(Date.parse(json.routes[0].targets[0].cooling_until) - after < 40_000)
})
