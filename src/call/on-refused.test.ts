// `on_refused` over real sockets. A parameter that a provider refuses is omitted, recorded, named in a
// header, and remembered across restarts. Relayed calls, other refusals and parameters that the client needs
// stay unchanged. Over 200 lines, because it is a list of refusals.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { openLearnedRefusals } from '../models/learned.ts'
import { SYSTEM_CLOCK, useClock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'

const json =
  (body: unknown, status = 200): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const refusal = (message: string, param: string | null = null, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param, code },
})

type Refuses = (body: any) => object | null
/** Refuses every request for which `why` returns a reason, and answers all other requests. */
const refusing =
  (why: Refuses): Script =>
  (response, received) => {
    const found = why(received.json)
    ;(found ? json(found, 400) : answer())(response, received)
  }

const asked = {
  model: 'auto',
  max_tokens: 10,
  temperature: 0.4,
  messages: [{ role: 'user', content: 'hi' }],
}

async function start(t: TestContext, script: Script, { route = '', data = undefined as string | undefined }) {
  const gateway = await testGateway(t, {
    providers: { alpha: script },
    config: `routes: { auto: { ${route} targets: [ { model: alpha/m } ] } }\nresilience: { cooldown: 0s, retries: 0 }`,
    ...(data !== undefined && { data }),
  })
  const post = (path: string, body: object) =>
    gateway.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return {
    ...gateway,
    /** Sends a Messages request, which is translated. */
    translated: (more: object = {}) => post('/v1/messages', { ...asked, ...more }),
    relayed: (more: object = {}) => post('/v1/chat/completions', { ...asked, ...more }),
    sent: () => gateway.upstream.alpha!.ledger.map(({ json: body }) => body as any),
    recordOf: ({ headers }: { headers: Headers }) => gateway.record(headers.get('x-gateway-request-id')),
  }
}

const noTemperature: Refuses = ({ temperature }) =>
  temperature === undefined ? null : refusal('`temperature` is deprecated for this model.')

test('a refused parameter of a translated call is omitted, recorded, named in a header, and remembered across a restart (FIT-01, FIT-02, FIT-03)', async (t) => {
  const data = temporaryDirectory(t)
  const first = await start(t, refusing(noTemperature), { data })
  const said = await first.translated()
  assert.equal(said.status, 200, said.text)
  assert.equal(said.headers.get('x-gateway-adjusted'), 'temperature')
  assert.equal(said.headers.get('x-gateway-attempts'), '2')
  assert.match(said.headers.get('x-gateway-lossy')!, /sampling\.temperature/)
  const { attempt_log: log, fallbacks } = await first.recordOf(said)
  assert.equal(fallbacks, 0)
  assert.deepEqual(
    log.map(({ status, outcome, error_code, adjusted }: any) => [status, outcome, error_code, adjusted]),
    [
      [400, 'failed', 'invalid_request_error', null],
      [200, 'answered', null, ['temperature']],
    ],
  )
  assert.deepEqual(
    first.sent().map(({ temperature }) => temperature),
    [0.4, undefined],
  )
  const again = await first.translated()
  assert.deepEqual([again.status, again.headers.get('x-gateway-attempts')], [200, '1'])
  assert.equal(again.headers.get('x-gateway-adjusted'), 'temperature', 'what is known is said, too')
  await first.gateway.close(100)

  let ahead = 0
  t.after(useClock(dated(() => SYSTEM_CLOCK.now() + ahead)))
  const second = await start(t, refusing(noTemperature), { data })
  const later = await second.translated()
  assert.deepEqual([later.status, second.received()], [200, 1])
  assert.equal(later.headers.get('x-gateway-adjusted'), 'temperature')
  const plain = await second.translated({ temperature: undefined })
  assert.equal(plain.headers.get('x-gateway-adjusted'), null)

  openLearnedRefusals(data).forget(() => true)
  ahead = 1_100
  await second.translated()
  assert.equal(second.received(), 4, 'forgotten in a running gateway: the provider is asked again')
})

test('a relayed call is adjusted only if its route opts in; a translated call is adjusted unless its route passes refusals through', async (t) => {
  for (const [route, way, status, requests] of [
    ['', 'relayed', 400, 1],
    ['on_refused: relay,', 'relayed', 400, 1],
    ['on_refused: adjust,', 'relayed', 200, 2],
    ['on_refused: relay,', 'translated', 400, 1],
    ['on_refused: adjust,', 'translated', 200, 2],
  ] as const) {
    const gateway = await start(t, refusing(noTemperature), { route })
    const said = await gateway[way]()
    assert.deepEqual([said.status, gateway.received()], [status, requests], `${route} ${way}`)
    if (status === 400) assert.match(said.text, /`temperature` is deprecated for this model\./)
    if (way !== 'relayed' || status === 400) continue
    const [sent, adjusted] = gateway.upstream.alpha!.ledger.map(({ text }) => text)
    assert.equal(adjusted, sent!.replace('"temperature":0.4,', ''), 'every other byte is as it was')
    assert.equal(said.headers.get('x-gateway-adjusted'), 'temperature')
  }
})

test('if only one value of a parameter is refused, only that value is remembered', async (t) => {
  const only = (...efforts: string[]): Refuses => {
    return ({ reasoning_effort: effort }) =>
      effort === undefined || efforts.includes(effort)
        ? null
        : refusal(
            `Unsupported value: 'reasoning_effort' does not support '${effort}' with this model. Supported values are: ${efforts.join(', ')}.`,
            'reasoning_effort',
            'unsupported_value',
          )
  }
  const data = temporaryDirectory(t)
  const gateway = await start(t, refusing(only('low', 'high')), { data })
  const effort = (level: string) =>
    gateway.translated({ temperature: undefined, output_config: { effort: level } })
  const efforts = ['medium', 'medium', 'high', 'low']
  for (const level of efforts) assert.equal((await effort(level)).status, 200)
  assert.deepEqual(
    gateway.sent().map(({ reasoning_effort }) => reasoning_effort),
    ['medium', undefined, undefined, 'high', 'low'],
    'other people keep the effort that the model accepts',
  )
  assert.deepEqual(
    JSON.parse(readFileSync(join(data, 'learned-refusals.json'), 'utf8')).map(
      ({ learned_at: _, ...rest }: any) => rest,
    ),
    [{ provider: 'alpha', model: 'm', parameter: 'reasoning_effort', value: '"medium"' }],
  )
})

test('a refusal is final if it names no parameter, names a required parameter, or follows an earlier refusal, which the client then reads', async (t) => {
  const always = (message: string, param: string | null = null): Refuses => {
    return () => refusal(message, param)
  }
  const rows: readonly [string, Refuses, requests: number, message: RegExp][] = [
    ['names no parameter', always('Your request is not acceptable.'), 1, /not acceptable/],
    ['a subject, not a parameter', always('Questions about temperature are not allowed.'), 1, /Questions/],
    [
      'a needed parameter',
      always("Invalid value: 'messages[0].content'.", 'messages[0].content'),
      1,
      /Invalid/,
    ],
    ['another that is not there', always("Unsupported parameter: 'top_p'.", 'top_p'), 1, /top_p/],
    ['in another language', always('该模型不支持参数。'), 1, /该模型不支持参数/],
    ['refuses everything', always('`temperature` is deprecated for this model.'), 2, /deprecated/],
    [
      'two after each other',
      ({ temperature, top_p }) =>
        temperature !== undefined
          ? refusal("Unsupported parameter: 'temperature'", 'temperature')
          : top_p !== undefined
            ? refusal("Unsupported parameter: 'top_p'", 'top_p')
            : null,
      2,
      /temperature/,
    ],
  ]
  for (const [name, why, requests, message] of rows) {
    const data = temporaryDirectory(t)
    const gateway = await start(t, refusing(why), { data })
    const said = await gateway.translated({ top_p: name === 'two after each other' ? 0.5 : undefined })
    assert.deepEqual([said.status, gateway.received()], [400, requests], name)
    assert.match(said.text, message, name)
    assert.deepEqual(openLearnedRefusals(data).list(), [], `${name}: nothing is remembered`)
    assert.equal((await gateway.recordOf(said)).attempt_log.length, requests, name)
  }
})

test('a refusal in another language is understood if it quotes the parameter’s name, and a refused combination is not remembered', async (t) => {
  const data = temporaryDirectory(t)
  const gateway = await start(
    t,
    refusing(({ temperature, reasoning_effort }) =>
      temperature !== undefined && reasoning_effort !== undefined
        ? refusal('Der Parameter „x“: `temperature` geht nicht zusammen mit reasoning_effort.')
        : null,
    ),
    { data },
  )
  for (let n = 0; n < 2; n++)
    assert.equal((await gateway.translated({ output_config: { effort: 'high' } })).status, 200)
  assert.equal(gateway.received(), 4, 'both calls ask twice')
  assert.equal((await gateway.translated()).headers.get('x-gateway-adjusted'), null)
  assert.deepEqual(openLearnedRefusals(data).list(), [])
})

test('a refused parameter is sent under the new name given in the refusal, and the new name is remembered', async (t) => {
  const rows = [
    ['max_tokens', 'max_completion_tokens'],
    ['max_completion_tokens', 'max_tokens'],
  ] as const
  for (const [from, to] of rows) {
    const data = temporaryDirectory(t)
    const gateway = await start(
      t,
      refusing((body) =>
        from in body
          ? refusal(
              `Unsupported parameter: '${from}' is not supported with this model. Use '${to}' instead.`,
              from,
              'unsupported_parameter',
            )
          : null,
      ),
      { route: 'on_refused: adjust,', data },
    )
    const ask = () => gateway.relayed({ max_tokens: undefined, [from]: 10 })
    for (const attempts of ['2', '1']) {
      const said = await ask()
      assert.deepEqual([said.status, said.headers.get('x-gateway-attempts')], [200, attempts])
      assert.equal(said.headers.get('x-gateway-adjusted'), from)
    }
    assert.deepEqual(
      gateway.sent().map((body) => [body[from], body[to]]),
      [
        [10, undefined],
        [undefined, 10],
        [undefined, 10],
      ],
    )
  }
  const needed = await start(
    t,
    refusing(() => refusal("Invalid value for 'max_tokens'.", 'max_tokens')),
    {},
  )
  assert.deepEqual([(await needed.translated()).status, needed.received()], [400, 1], 'never left out')
})

test('the effort setting is omitted if tools work only without it; tools that need another dialect are refused immediately', async (t) => {
  const data = temporaryDirectory(t)
  const tools = [{ name: 'weather', input_schema: { type: 'object' } }]
  const refused = 'Function tools with reasoning_effort are not supported for m in /v1/chat/completions.'
  const gateway = await start(
    t,
    refusing(({ tools: sent, reasoning_effort }) =>
      sent && reasoning_effort !== 'none'
        ? refusal(
            `${refused} To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
            'reasoning_effort',
          )
        : null,
    ),
    { data },
  )
  const plain = { temperature: undefined, tools }
  for (const more of [plain, { ...plain, output_config: { effort: 'high' } }])
    assert.equal((await gateway.translated(more)).status, 200)
  await gateway.translated({ temperature: undefined, output_config: { effort: 'high' } })
  assert.deepEqual(
    gateway.sent().map(({ reasoning_effort }) => reasoning_effort),
    [undefined, 'none', 'high', 'none', 'high'],
    'without tools the effort stays',
  )
  assert.deepEqual(openLearnedRefusals(data).list(), [], 'a combination is not remembered')

  const never = await start(
    t,
    refusing(() => refusal(`${refused} Please use /v1/responses instead.`, 'reasoning_effort')),
    {},
  )
  const said = await never.translated({ ...plain, output_config: { effort: 'high' } })
  assert.deepEqual([said.status, never.received()], [400, 1])
})

test('a thinking budget is replaced with adaptive thinking if the refusal asks for adaptive thinking', async (t) => {
  const data = temporaryDirectory(t)
  const message = (body: any) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: body.model, stop_reason: 'end_turn' },
    ...{ content: [{ type: 'text', text: 'Hm.' }], usage: { input_tokens: 5, output_tokens: 2 } },
  })
  const gateway = await testGateway(t, {
    providers: {
      alpha: (response, received) => {
        const { json: body } = received as any
        const error = {
          type: 'invalid_request_error',
          message:
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
        }
        if (body.thinking?.type === 'enabled') json({ type: 'error', error }, 400)(response, received)
        else json(message(body))(response, received)
      },
    },
    dialects: { alpha: ['messages'] },
    config: 'routes: { auto: { targets: [ { model: alpha/m } ] } }\nresilience: { cooldown: 0s, retries: 0 }',
    data,
  })
  const ask = (reasoning_effort: string) =>
    gateway.get('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', messages: asked.messages, reasoning_effort }),
    })
  for (const level of ['high', 'low', 'none']) assert.equal((await ask(level)).status, 200, level)
  const sent = gateway.upstream.alpha!.ledger.map(({ json: body }) => body as any)
  assert.deepEqual(
    sent.map(({ thinking, output_config }) => [thinking?.type, output_config?.effort]),
    [
      ['enabled', undefined],
      ['adaptive', 'high'],
      ['adaptive', 'low'],
      ['disabled', undefined],
    ],
  )
  assert.deepEqual(
    openLearnedRefusals(data)
      .list()
      .map(({ parameter, value, isReplaced }) => [parameter, value, isReplaced]),
    [['thinking.type', '"enabled"', true]],
  )
})

test('a streamed call is adjusted once, before its first event, at the target that refused it, even after a fallback', async (t) => {
  const gateway = await testGateway(t, {
    providers: {
      alpha: json(refusal('`temperature` is deprecated for this model.'), 400),
      beta: json({ error: { message: 'busy' } }, 503),
    },
    config:
      'routes: { auto: { targets: [ { model: beta/m }, { model: alpha/m } ] } }\nresilience: { cooldown: 0s, retries: 0 }',
  })
  const said = await gateway.get('/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, stream: true }),
  })
  assert.equal(said.status, 400)
  assert.deepEqual(
    [gateway.upstream.beta!.ledger.length, gateway.upstream.alpha!.ledger.length],
    [1, 2],
    'one more request at the target that refused',
  )
})

test('learned refusals are forgotten after seven days, and a damaged refusals file counts as empty', (t) => {
  const directory = temporaryDirectory(t)
  let now = Date.parse('2026-11-25T12:00:00Z')
  const learned = openLearnedRefusals(directory, () => now)
  const refused = { provider: 'alpha', model: 'm', parameter: 'temperature', value: null }
  learned.add(refused)
  learned.add(refused)
  assert.equal(learned.list().length, 1)
  assert.deepEqual(learned.of('alpha', 'other'), [])
  now += 7 * 24 * 3_600_000 - 1
  assert.equal(openLearnedRefusals(directory, () => now).of('alpha', 'm').length, 1)
  now += 1
  assert.deepEqual(learned.of('alpha', 'm'), [])
})
