// The output limit of a relayed chat call has the only name that its model accepts, as facts know it. Every other
// byte stays as the client sent it.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, type Script, streamed } from '../../mocks/test-upstream.ts'
import { openLearnedRefusals } from '../models/learned.ts'
import { type Setup, temporaryDirectory, testGateway } from '../test/test-gateway.ts'

const refusal = (message: string, param: string | null): string =>
  JSON.stringify({ error: { message, type: 'invalid_request_error', param, code: 'unsupported_parameter' } })

/** Refuses requests with a member, in OpenAI's words, and answers all others. */
const refusing =
  (member: string, instead: string, answered: Script = answer()): Script =>
  (response, received) => {
    if (typeof received.json[member] !== 'number') return answered(response, received)
    const message = `Unsupported parameter: '${member}' is not supported with this model. Use '${instead}' instead.`
    response.writeHead(400, { 'content-type': 'application/json' }).end(refusal(message, member))
  }
const newer = refusing('max_tokens', 'max_completion_tokens')

const start = (t: TestContext, more: Setup = {}) =>
  testGateway(t, {
    providers: { openai: newer, beta: answer() },
    config: `routes:
  auto: { targets: [ { model: openai/gpt-5-mini } ] }
  both: { targets: [ { model: openai/gpt-5-mini }, { model: beta/m } ] }
resilience: { cooldown: 0s, retries: 0 }`,
    ...more,
  })

const rest = '"messages":[{"role":"user","content":"a \\u00e9  max_tokens"}] , "seed": 1.0}'
const body = (model: string, limits: string): string => `{ "model":"${model}",\n ${limits}, ${rest}`

test('max_tokens of a relayed call gets the name that the model accepts, and every other byte stays (DIAL-01, FIT-10)', async (t) => {
  const gateway = await start(t)
  const { openai } = gateway.upstream
  const rows: readonly [sent: string, received: string | null][] = [
    ['"max_tokens" : 20', '"max_completion_tokens" : 20'],
    ['"max\\u005ftokens": 2e1', '"max_completion_tokens": 2e1'],
    // Both limits hold, so the lower one is sent.
    ['"max_tokens":20,"max_completion_tokens":20', '"max_completion_tokens":20'],
    ['"max_completion_tokens":10,"max_tokens":20', '"max_completion_tokens":10'],
    ['"max_completion_tokens":30,"max_tokens":20', '"max_completion_tokens":20'],
    ['"max_completion_tokens":null,"max_tokens":20', '"max_completion_tokens":20'],
    // Nothing to rename.
    ['"max_tokens":null', null],
    ['"max_completion_tokens":20', null],
    ['"x":{"max_tokens":20}', null],
  ]
  for (const [sent, received] of rows) {
    const said = await gateway.chat(body('auto', sent))
    assert.equal(said.status, 200, said.text)
    // The space after a member that is left out goes with it.
    const [text, expected] = [openai!.ledger.at(-1)!.text, body('gpt-5-mini', received ?? sent)].map(
      (each) => (sent.includes('_completion_') ? each.replace(/, "messages/, ',"messages') : each),
    )
    assert.equal(text, expected, sent)
    const adjusted = received === null ? null : 'max_tokens'
    assert.equal(said.headers.get('x-gateway-adjusted'), adjusted, sent)
    assert.equal(said.headers.get('x-gateway-attempts'), '1')
    const { attempt_log: log } = await gateway.record(said.headers.get('x-gateway-request-id'))
    assert.deepEqual(log[0].adjusted, received === null ? null : ['max_tokens'], sent)
  }
  const wrong = await gateway.chat(body('auto', '"max_tokens":"20"'))
  assert.equal(openai!.ledger.at(-1)!.json.max_tokens, '20', 'the provider judges what is no limit')
  assert.equal(wrong.headers.get('x-gateway-adjusted'), null)
})

test('dated and prefixed names, other hosts, streams and models without a route are renamed, and models without the fact are not', async (t) => {
  const gateway = await start(t, {
    providers: { openai: newer, beta: streamed('Hi'), gamma: answer() },
    config: `models: { gamma/mine: { accepts: { chat_limit: max_completion_tokens } }, gamma/old: { accepts: { chat_limit: max_tokens } } }
resilience: { cooldown: 0s, retries: 0 }`,
  })
  const rows: readonly [model: string, renamed: string | null, from?: string][] = [
    ['openai/gpt-5-2025-08-07', 'max_completion_tokens'],
    ['openai/gpt-6-sol', 'max_completion_tokens'],
    ['openai/o3', 'max_completion_tokens'],
    ['gamma/openai/gpt-5.4', 'max_completion_tokens'],
    ['gamma/mine', 'max_completion_tokens'],
    ['gamma/old', 'max_tokens', 'max_completion_tokens'],
    ['gamma/old', null],
    ['gamma/gpt-4o', null],
    ['gamma/gpt-of-nobody', null],
    ['gamma/openai/gpt-oss-120b', null],
  ]
  for (const [model, to, from = 'max_tokens'] of rows) {
    const said = await gateway.chat(body(model, `"${from}":20`))
    assert.equal(said.status, 200, said.text)
    const sent = gateway.upstream[model.split('/')[0]!]!.ledger.at(-1)!.json as any
    assert.equal(sent[to ?? from], 20, model)
    if (to !== null) assert.equal(sent[from], undefined, model)
    assert.equal(said.headers.get('x-gateway-adjusted'), to && from, model)
  }
  const inEvents = await gateway.chat(body('beta/gpt-5', '"stream":true,"max_tokens":20'))
  assert.equal(inEvents.headers.get('x-gateway-adjusted'), 'max_tokens')
  assert.equal((gateway.upstream.beta!.ledger.at(-1)!.json as any).max_completion_tokens, 20)
})

test('`on_refused: relay` turns the renaming off, and the client reads the refusal of what it sent', async (t) => {
  const gateway = await start(t, {
    config: 'routes: { auto: { on_refused: relay, targets: [ { model: openai/gpt-5-mini } ] } }',
  })
  const said = await gateway.chat(body('auto', '"max_tokens":20'))
  assert.deepEqual([said.status, gateway.received(), said.json.error.param], [400, 1, 'max_tokens'])
  assert.equal(said.headers.get('x-gateway-adjusted'), null)
})

test('each target of a route gets the name that it accepts, and the record of each attempt says so', async (t) => {
  const gateway = await start(t, {
    providers: { openai: (response) => void response.writeHead(500).end(), beta: answer() },
  })
  const said = await gateway.chat(body('both', '"max_tokens":20'))
  assert.equal(said.status, 200)
  const limits = ['openai', 'beta'].map((name) => {
    const { max_tokens, max_completion_tokens } = gateway.upstream[name]!.ledger[0]!.json as any
    return [max_tokens, max_completion_tokens]
  })
  assert.deepEqual(limits, [
    [undefined, 20],
    [20, undefined],
  ])
  assert.equal(said.headers.get('x-gateway-adjusted'), null, 'the target that answered got what was sent')
  const { attempt_log: log } = await gateway.record(said.headers.get('x-gateway-request-id'))
  assert.deepEqual(
    log.map(({ adjusted }: any) => adjusted),
    [['max_tokens'], null],
  )
})

test('a host of the model that knows only the old name gets what the client sent, and this is remembered', async (t) => {
  const data = temporaryDirectory(t)
  for (const route of ['', 'on_refused: adjust,']) {
    const gateway = await start(t, {
      providers: { alpha: refusing('max_completion_tokens', 'max_tokens') },
      config: `routes: { auto: { ${route} targets: [ { model: alpha/gpt-5-mini } ] } }\nresilience: { cooldown: 0s, retries: 0 }`,
      data,
    })
    for (const attempts of ['2', '1']) {
      const said = await gateway.chat(body('auto', '"max_tokens":20'))
      assert.deepEqual([said.status, said.headers.get('x-gateway-attempts')], [200, attempts])
      assert.equal(said.headers.get('x-gateway-adjusted'), null)
    }
    await gateway.gateway.close(100)
    assert.equal(openLearnedRefusals(data).list()[0]!.parameter, 'max_completion_tokens')
    openLearnedRefusals(data).forget(() => true)
  }
})

test('a limit that is too high under its new name is refused once', async (t) => {
  const tooHigh: Script = (response, { json }) =>
    void response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(
        refusal(
          `max_completion_tokens is too large: ${json.max_completion_tokens}.`,
          'max_completion_tokens',
        ),
      )
  const gateway = await start(t, { providers: { openai: tooHigh, beta: answer() } })
  const said = await gateway.chat(body('auto', '"max_tokens":9000000'))
  assert.deepEqual([said.status, gateway.received()], [400, 1])
  assert.match(said.json.error.message, /too large: 9000000/)
})

const efforts = (response: Parameters<Script>[0], message: string) =>
  void response
    .writeHead(400, { 'content-type': 'application/json' })
    .end(refusal(message, 'reasoning_effort'))

test('a second request never contains what facts rule out (FIT-04)', async (t) => {
  const wantsNone: Script = (response) =>
    efforts(response, "Function tools are not supported. Set reasoning_effort to 'none'.")
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
  for (const [model, requests] of [
    ['gpt-6.1-sol', 1], // accepts no effort `none`
    ['gpt-6-sol', 2],
  ] as const) {
    const gateway = await start(t, {
      providers: { openai: wantsNone },
      config: `routes: { auto: { on_refused: adjust, targets: [ { model: openai/${model} } ] } }\nresilience: { cooldown: 0s, retries: 0 }`,
    })
    const said = await gateway.chat({ model: 'auto', messages: [], reasoning_effort: 'low', tools })
    assert.deepEqual([said.status, gateway.received()], [400, requests], model)
    assert.match(said.json.error.message, /Set reasoning_effort/)
  }
})

test('the client reads the refusal of its own request, unless the changed one is too long', async (t) => {
  for (const [second, read] of [
    ['Something else is wrong.', /temperature/],
    ["This model's maximum context length is 5 tokens.", /maximum context length/],
  ] as const) {
    const gateway = await start(t, {
      providers: {
        openai: (response, { json }) =>
          void response
            .writeHead(400, { 'content-type': 'application/json' })
            .end(
              json.temperature === undefined
                ? refusal(second, null)
                : refusal("Unsupported parameter: 'temperature'.", 'temperature'),
            ),
      },
      config: 'routes: { auto: { on_refused: adjust, targets: [ { model: openai/m } ] } }',
    })
    const said = await gateway.chat({ model: 'auto', messages: [], temperature: 0.5 })
    assert.deepEqual([said.status, gateway.received()], [400, 2])
    assert.match(said.json.error.message, read)
    const { attempt_log: log } = await gateway.record(said.headers.get('x-gateway-request-id'))
    assert.deepEqual(
      log.map(({ status, adjusted }: any) => [status, adjusted]),
      [
        [400, null],
        [400, ['temperature']],
      ],
    )
  }
})

test('a renamed call is cached under what the client sent, and a hit names the renaming, too', async (t) => {
  const gateway = await start(t, {
    config: `routes: { auto: { cache: true, targets: [ { model: openai/gpt-5-mini } ] } }`,
  })
  const ask = async (limit: string) => {
    const { headers } = await gateway.chat(body('auto', limit))
    return [headers.get('x-gateway-cache'), headers.get('x-gateway-adjusted')]
  }
  assert.deepEqual(await ask('"max_tokens":20'), ['MISS', 'max_tokens'])
  assert.deepEqual(await ask('"max_tokens":20'), ['HIT', 'max_tokens'])
  assert.deepEqual(await ask('"max_tokens":21'), ['MISS', 'max_tokens'])
  assert.deepEqual(await ask('"max_completion_tokens":20'), ['MISS', null])
})
