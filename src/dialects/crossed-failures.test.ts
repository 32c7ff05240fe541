// Failures across dialects, over real sockets: error statuses, errors inside streams, cut or silent streams,
// refused reasoning, and losses that a route refuses. Sealed reasoning must not reach another family. Over
// 250 lines, because it is a list of failures.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { SILENT } from '../core/process-log.ts'
import { manualClock } from '../shared/test-clock.ts'
import { testGateway } from '../test/test-gateway.ts'
import { pause } from '../test/test-until.ts'
import { packOpaque } from './blocks.ts'
import { BEGUN, chunk, crossedGateway, json, named, sse } from './test-crossed-gateway.ts'

type Crossed = Awaited<ReturnType<typeof crossedGateway>>

const messages = [{ role: 'user' as const, content: 'hi' }]
const asked = { model: 'auto', max_tokens: 10, messages }
const CLIENTS = [
  {
    client: 'messages',
    provider: 'chat',
    whole: ({ anthropic }: Crossed) => anthropic.messages.create(asked),
    stream: async ({ anthropic }: Crossed, texts: string[]) => {
      for await (const event of await anthropic.messages.create({ ...asked, stream: true }))
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
          texts.push(event.delta.text)
    },
    error: Anthropic.APIError,
  },
  {
    client: 'chat',
    provider: 'messages',
    whole: ({ openai }: Crossed) => openai.chat.completions.create({ model: 'auto', messages }),
    stream: async ({ openai }: Crossed, texts: string[]) => {
      const stream = await openai.chat.completions.create({ model: 'auto', messages, stream: true })
      for await (const { choices } of stream) texts.push(choices[0]?.delta.content ?? '')
    },
    error: OpenAI.APIError,
  },
] as const

const errorOf = (provider: string, message: string, type = 'invalid_request_error') =>
  provider === 'chat' ? { error: { message, type, code: type } } : { type: 'error', error: { type, message } }

for (const { client, provider, whole, stream, error: Type } of CLIENTS) {
  test(`errors from a ${provider} provider reach a ${client} client in the client’s format, with status, message and Retry-After (MSG-11, MSG-12, MSG-13)`, async (t) => {
    const gateway = await crossedGateway(t, provider, json({}), { config: 'resilience: { cooldown: 0s }' })
    for (const status of [400, 404, 413, 422, 429, 500, 503, 529]) {
      gateway.upstream.alpha!.script = json(errorOf(provider, `no "${status}"`), status, {
        'retry-after': '7',
      })
      await assert.rejects(whole(gateway), (error) => {
        assert.ok(error instanceof Type)
        assert.equal(error.status, status)
        assert.match(error.message, new RegExp(`no \\\\?"${status}\\\\?"`))
        assert.equal(error.headers?.get('retry-after'), '7')
        return true
      })
      const record = await gateway.newest()
      assert.deepEqual([record.state, record.status], ['failed', status])
    }
  })

  test(`any error inside a ${provider} stream, and any broken stream, reaches a ${client} client as an error (DIAL-05, MSG-14)`, async (t) => {
    const gateway = await crossedGateway(t, provider, json({}), {
      config: 'resilience: { idle: 1s, cooldown: 0s }',
    })
    const inside =
      provider === 'chat'
        ? { error: { message: 'too busy', code: 'overloaded' } }
        : named({ type: 'error', error: { type: 'overloaded_error', message: 'too busy' } })
    const begun =
      (then: Script): Script =>
      (response, received) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const each of BEGUN[provider]!)
          response.write(typeof each === 'string' ? each : `data: ${JSON.stringify(each)}\n\n`)
        void pause(30).then(() => then(response, received))
      }
    const ways: readonly (readonly [string, Script, RegExp])[] = [
      ['an error', sse(...BEGUN[provider]!, inside), /too busy/],
      ['a cut', begun((response) => response.destroy()), /terminated/],
      ['an end', begun((response) => response.end()), /ended/],
      ['silence', begun(() => {}), /stopped sending|terminated/],
      ['nonsense', begun((response) => response.end('data: {"cho\n\n')), /cannot be read/],
    ]
    for (const [way, script, says] of ways) {
      gateway.upstream.alpha!.script = script
      const texts: string[] = []
      await assert.rejects(
        stream(gateway, texts),
        (error) => error instanceof Type && says.test(error.message),
        way,
      )
      assert.equal(texts.join(''), 'half', way)
      assert.equal((await gateway.newest()).state, 'failed', way)
    }
  })

  test(`after a ${provider} provider refuses reasoning from a ${client} client, one request without reasoning is sent and recorded`, async (t) => {
    const script: Script = (response, received) => {
      const { reasoning_effort, thinking } = received.json
      const refuses = reasoning_effort !== undefined || thinking !== undefined
      const said = errorOf(
        provider,
        `Unrecognized request argument supplied: ${provider === 'chat' ? 'reasoning_effort' : 'thinking'}`,
      )
      const good =
        provider === 'chat'
          ? answer()
          : json({ content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn' })
      ;(refuses ? json(said, 400) : good)(response, received)
    }
    // A gateway of its own, because it learns the refusal.
    const gateway = await crossedGateway(t, provider, script, { options: {} })
    const wish =
      client === 'messages'
        ? () => gateway.anthropic.messages.create({ ...asked, output_config: { effort: 'high' } })
        : () => gateway.openai.chat.completions.create({ model: 'auto', messages, reasoning_effort: 'high' })
    await wish()
    const { attempts, fallbacks, attempt_log: log } = await gateway.newest()
    assert.deepEqual([attempts, fallbacks, log.map((each: any) => each.status)], [2, 0, [400, 200]])
    assert.deepEqual(log[1].losses, ['effort'])
    await wish()
    assert.equal(gateway.received(), 3, 'it is known from then on')
    gateway.upstream.alpha!.script = json(errorOf(provider, 'messages: too long'), 400)
    await assert.rejects(wish(), /too long/)
    assert.equal(gateway.received(), 4, 'another refusal is final')
  })
}

test('a route can refuse some or all losses before anything is sent, or prefer a target without losses (DIAL-04)', async (t) => {
  const hinted = {
    ...asked,
    system: [{ type: 'text' as const, text: 'x', cache_control: { type: 'ephemeral' as const } }],
  }
  for (const [on_loss, lossless, status] of [
    ['refuse', 0, 400],
    ['[cache_control]', 0, 400],
    ['[thinking.signature]', 1, 200],
    ['allow', 1, 200],
  ] as const) {
    const gateway = await crossedGateway(t, 'chat', answer(), { route: `on_loss: ${on_loss},` })
    const said = await gateway.get('/v1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(hinted),
    })
    assert.equal(said.status, status, on_loss)
    assert.equal(gateway.received(), lossless)
    if (status !== 400) continue
    assert.deepEqual([said.json.type, said.json.error.type], ['error', 'invalid_request_error'])
    assert.match(said.json.error.message, /refuses .* with losses \(alpha\/m would lose cache_control\)/)
    const { json: refused } = await gateway.get('/api/usage/refused-calls')
    assert.equal(refused.data[0].code, 'translation_lossy')
    await gateway.anthropic.messages.create(asked)
  }
  const two = await testGateway(t, {
    providers: { alpha: answer(), beta: json({ content: [], stop_reason: 'end_turn' }) },
    dialects: { alpha: ['chat'], beta: ['messages'] },
    config: 'routes: { auto: { on_loss: refuse, targets: [ { model: alpha/m }, { model: beta/m } ] } }',
  })
  const anthropic = new Anthropic({ baseURL: two.url, apiKey: 'none', maxRetries: 0 })
  const { response } = await anthropic.messages.create(hinted).withResponse()
  assert.equal(response.headers.get('x-gateway-provider'), 'beta')
  const record = await two.record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual(record.decision.skipped, [{ target: 'alpha/m', reason: 'would lose cache_control' }])
  assert.equal(record.attempt_log[0].losses, null)
})

test('`prefer: native` takes precedence over the strategy, and the resolve endpoint names the translated targets with their losses', async (t) => {
  for (const [prefer, provider] of [
    ['', 'alpha'],
    ['prefer: native,', 'beta'],
  ]) {
    const gateway = await testGateway(t, {
      providers: { alpha: answer(), beta: json({ content: [], stop_reason: 'end_turn' }) },
      dialects: { alpha: ['chat'], beta: ['messages'] },
      config: `routes: { auto: { ${prefer} targets: [ { model: alpha/m }, { model: beta/m } ] } }`,
    })
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: 'none', maxRetries: 0 })
    const { response } = await anthropic.messages.create(asked).withResponse()
    assert.equal(response.headers.get('x-gateway-provider'), provider)
    const { json: resolved } = await gateway.get('/api/cloud/model/resolve?model=auto')
    assert.deepEqual(resolved.depends_on, prefer === '' ? [] : ['dialect'])
    const [alpha, beta] = resolved.candidates
    assert.deepEqual([alpha.losses.messages, beta.losses.chat], [[], []])
    assert.deepEqual([alpha.losses.chat, beta.losses.messages], [undefined, undefined])
  }
})

test('a fallback across dialects translates the request again, and each recorded attempt names its own losses', async (t) => {
  const gateway = await testGateway(t, {
    providers: {
      alpha: json(errorOf('messages', 'busy', 'overloaded_error'), 529),
      beta: answer('from chat'),
    },
    dialects: { alpha: ['messages'], beta: ['chat'] },
    config: 'routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] } }',
  })
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: 'none', maxRetries: 0 })
  const { data, response } = await anthropic.messages.create({ ...asked, top_k: 3 } as never).withResponse()
  assert.deepEqual(data.content, [{ type: 'text', text: 'from chat' }])
  assert.equal(response.headers.get('x-gateway-lossy'), 'sampling.top_k')
  const { attempt_log: log } = await gateway.record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual(
    log.map((each: any) => [each.provider, each.losses]),
    [
      ['alpha', null],
      ['beta', ['sampling.top_k']],
    ],
  )
})

const packed = packOpaque({ family: 'other', bytes: 'c2VhbGVk' })
const FOREIGN = {
  packed,
  'returned by Google’s Python client': Buffer.from(packed, 'base64').toString('base64url'),
  'packed by an earlier version': 'wb1:other:YzJWaGJHVms=',
}
for (const [how, foreign] of Object.entries(FOREIGN))
  test(`in translated and in native calls, a provider never receives another model family’s reasoning as signed reasoning, ${how} (DIAL-07)`, async (t) => {
    const history = [
      ...messages,
      {
        role: 'assistant' as const,
        content: [
          { type: 'thinking' as const, thinking: 'hm', signature: foreign },
          { type: 'thinking' as const, thinking: 'own', signature: 'c2lnbmVk' },
          { type: 'text' as const, text: 'x', cache_control: { type: 'ephemeral' as const } },
        ],
      },
      { role: 'assistant' as const, content: [{ type: 'redacted_thinking' as const, data: foreign }] },
      ...messages,
    ]
    const native = await crossedGateway(t, 'messages', json({ content: [], stop_reason: 'end_turn' }))
    await native.anthropic.messages.create({ ...asked, messages: history })
    assert.deepEqual(native.sent().messages, [
      ...messages,
      { role: 'assistant', content: [history[1]!.content[1], history[1]!.content[2]] },
      ...messages,
    ])
    const chat = await crossedGateway(t, 'chat', answer())
    const { response } = await chat.anthropic.messages.create({ ...asked, messages: history }).withResponse()
    assert.equal(response.headers.get('x-gateway-lossy'), 'cache_control, thinking.signature')
    assert.doesNotMatch(JSON.stringify(chat.sent()), /c2VhbGVk|c2lnbmVk|wb1:|d2IxO/)
    await chat.openai.chat.completions.create({
      model: 'auto',
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: 'x',
          reasoning_details: [{ type: 'reasoning.encrypted', data: foreign }],
        } as any,
      ],
    })
    assert.deepEqual(chat.sent().messages[1], { role: 'assistant', content: 'x' })
  })

test('a silent translated stream contains a ping within 30 s, in which a Gemini client finds nothing, and a silent native stream contains none (MSG-10, DIAL-18)', async (t) => {
  let respond: (() => void) | undefined
  const quiet: Script = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      `: THINKING\n\ndata: ${JSON.stringify(chunk({ role: 'assistant', content: 'a' }))}\n\ndata: \n\n`,
    )
    respond = () => {
      response.write(`data: ${JSON.stringify(chunk({}, 'stop'))}\n\n`)
      response.end('data: [DONE]\n\n')
    }
  }
  const manual = manualClock()
  const gateway = await crossedGateway(t, 'chat', quiet, { clock: manual })
  const turn = { ...asked, stream: true }
  for (const [path, ping, lines, body] of [
    ['/v1/messages', 'event: ping', /^: ping\n\nevent: /, turn],
    ['/v1/chat/completions', null, /^: THINKING\n\ndata: /, turn],
    ['/v1/responses', ': ping', /^: ping\n\nevent: /, { model: 'auto', input: 'hi', stream: true }],
    [
      '/v1beta/models/auto:streamGenerateContent?alt=sse',
      '\n',
      /^\s*(data: .*\s+)+$/, // Google's Python client takes other lines as parts of an error
      { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    ],
  ] as const) {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader.read()).value!
    const before = text.length
    await manual.advance(30_000)
    while (ping !== null && !text.includes(ping, before)) text += (await reader.read()).value!
    respond!()
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value
    assert.match(text, lines)
    if (ping === null) assert.ok(!text.includes('ping'))
  }
})

test('a request nested too deeply to be rewritten is refused with 400 and recorded; nothing is sent, and no internal error is logged', async (t) => {
  const errors: string[] = []
  const log = { ...SILENT, error: (_: object, text: string) => void errors.push(text) }
  const gateway = await crossedGateway(t, 'chat', answer(), { options: { log } })
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const said = await gateway.get('/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, tools: [{ name: 't', input_schema: { enum: 1 } }] }).replace(
      '"enum":1',
      `"enum":${deep}`,
    ),
  })
  assert.deepEqual([said.status, said.json.error.type], [400, 'invalid_request_error'])
  assert.match(said.json.error.message, /nested too deeply/)
  assert.equal(gateway.received(), 0)
  const record = await gateway.newest()
  assert.deepEqual([record.state, record.status, record.error_code], ['failed', 400, 'invalid_request'])
  assert.deepEqual([record.attempts, record.attempt_log[0].outcome], [0, 'not_sent'])
  assert.deepEqual(errors, [])
})

test('an answer from the cache still names the losses of its translation (DIAL-04)', async (t) => {
  const gateway = await crossedGateway(t, 'chat', answer(), { config: 'cache: { enabled: true }' })
  const body = { ...asked, top_k: 5 }
  for (const cache of ['MISS', 'HIT']) {
    const { response } = await gateway.anthropic.messages.create(body).withResponse()
    assert.deepEqual(
      ['cache', 'lossy'].map((name) => response.headers.get(`x-gateway-${name}`)),
      [cache, 'sampling.top_k'],
    )
  }
  assert.equal(gateway.received(), 1)
})

test('instructions within a conversation keep their place in chat, and safeguard verdicts are never made up (MSG-16, MSG-20)', async (t) => {
  const gateway = await crossedGateway(t, 'chat', answer())
  const body = {
    ...asked,
    messages: [...messages, { role: 'system', content: 'now in French' }, ...messages],
    safeguards: [{ type: 'dangerous_tool_use' }],
  }
  const { data, response } = await gateway.anthropic.messages.create(body as never).withResponse()
  assert.deepEqual(gateway.sent().messages, [
    messages[0],
    { role: 'system', content: 'now in French' },
    messages[0],
  ])
  assert.equal(response.headers.get('x-gateway-lossy'), 'safeguards')
  assert.doesNotMatch(JSON.stringify(data), /safeguard/)
})
