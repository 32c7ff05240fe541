// The plain way of a call and the general one do the same: each situation takes place at two gateways, of which one sends
// all calls on the general way, and the client's bytes, the record, the artifact, the log lines and the metrics are compared.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { after, before, suite, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readDeviations } from '../../mocks/deviations/read.ts'
import { answer, chunk, DONE, fail, type Script, stream, streamed } from '../../mocks/test-upstream.ts'
import { formsOf } from '../dialects/test-deviations.ts'
import { sleep } from '../shared/clock.ts'
import { manualClock } from '../shared/test-clock.ts'
import { ask, providerKey, type Setup, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { pause, until } from '../test/test-until.ts'
import { ClientCall } from './pipeline.ts'

interface Situation {
  readonly name: string
  readonly script: Script
  readonly body?: unknown
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The client leaves once its request has reached the provider, or so much of the answer the client. */
  readonly leaves?: 'early' | 'between'
  /** True if the call is not plain from its beginning. */
  readonly isGeneral?: boolean
  /** Passes the time before the situation. */
  readonly before?: () => Promise<void>
}

/** An answer as its client sees it. */
interface Seen {
  readonly status: number | null
  readonly headers: readonly string[]
  readonly bytes: string
  readonly isCut: boolean
}

const CHAT = '/v1/chat/completions'

/** Sends a request over a socket of its own. */
function send(
  url: string,
  { path = CHAT, body = ask('auto'), headers, leaves }: Situation,
  arrived: () => boolean,
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Promise<Seen>((resolve) => {
    const chunks: Buffer[] = []
    const end = (status: number | null, rawHeaders: string[], isCut: boolean) => {
      const bytes = Buffer.concat(chunks).toString('latin1')
      resolve({ status, headers: rawHeaders, bytes, isCut })
    }
    const sent = request(url + path, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    })
    sent.on('error', () => end(null, [], true))
    sent.on('response', (response) => {
      const over = (isCut: boolean) => end(response.statusCode!, response.rawHeaders, isCut)
      response.on('data', (chunk) => {
        chunks.push(chunk)
        if (leaves === 'between') sent.destroy()
      })
      response.on('error', () => over(true)).on('end', () => over(!response.complete))
    })
    sent.end(text)
    if (leaves === 'early') void until('the provider has the request', arrived).then(() => sent.destroy())
  })
}

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
/** Replaces what differs between two calls: ids, times, the rest of an hour in s, ports. */
const withoutTimes = (text: string): string =>
  text
    .replace(ID, 'ID')
    .replace(/chatcmpl-[0-9a-f]{32}/g, 'chatcmpl-ID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/"(\w*_ms|\w*latency\w*|\w*ttft\w*)":[\d.]+/g, '"$1":0')
    .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
    .replace(/127\.0\.0\.1:\d+/g, 'HOST')
    .replace(/\b3(?:600|5\d\d)\b/g, 'HOUR')
    .replace(/"available":true,"bytes":\d+/, '"available":true')
    .replace(/"date":"[^"]*"/g, '"date":"TIME"')

/** A limit of a day ends at a time that two calls see differently by a second. */
const isTime = (name: string, value: string): boolean =>
  name === 'Date' || (/^retry-after$/i.test(name) && Number(value) > 60)

const headersOf = (headers: readonly string[]): string[] =>
  headers.flatMap((name, at) => {
    const value = headers[at + 1]!
    return at % 2 > 0 ? [] : [`${name}: ${isTime(name, value) ? 'TIME' : withoutTimes(value)}`]
  })

const digestOf = (name: string): string =>
  `sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}`

/** Metrics that are counts, without times and the memory of the process. */
const countsIn = (metrics: string): string[] =>
  metrics
    .split('\n')
    .filter((line) => line.startsWith('waybill_') && !/seconds|_bytes|record_openings/.test(line))
    .concat(metrics.split('\n').filter((line) => /seconds_count/.test(line)))

interface Way {
  readonly gateway: TestGateway
  readonly lines: string[]
}

async function way(
  t: TestContext,
  setup: Parameters<typeof testGateway>[1],
  plainCalls: boolean,
): Promise<Way> {
  const lines: string[] = []
  const note = (level: string) => (fields: object, said: string) =>
    void lines.push(`${level} ${said} ${withoutTimes(JSON.stringify(fields))}`)
  const log = { error: note('error'), warn: note('warn'), info: note('info'), debug: note('debug') }
  return { gateway: await testGateway(t, { ...setup, options: { log, plainCalls } }), lines }
}

interface Comparing {
  readonly headers?: Record<string, string>
  /** False if it is not compared which calls begin on the general way. */
  readonly isJudged?: boolean
  /** Runs during each situation. */
  readonly meanwhile?: (gateways: readonly TestGateway[]) => Promise<void>
}

/** Returns everything that a situation leaves behind. */
async function traceOf({ gateway, lines }: Way, situation: Situation, headers = {}) {
  const { upstream, url } = gateway
  for (const mock of Object.values(upstream)) mock.ledger.length = 0
  for (const name of ['alpha', 'gamma', 'delta']) upstream[name]!.script = situation.script
  const seen = await send(url, situation, () => gateway.received() > 0)
  const listed = async () => {
    const { json } = await gateway.get('/api/usage/request-logs?limit=1', { headers })
    return json.data[0]
  }
  const wasOpened = gateway.received() > 0
  const record = wasOpened
    ? await until('the record is closed', async () => {
        const call = await listed()
        return call?.completed_at && gateway.record(call.id, headers)
      })
    : null
  const artifact =
    record && (await gateway.get(`/api/usage/request-logs/${record.id}/artifact`, { headers })).text
  return {
    seen: { ...seen, headers: headersOf(seen.headers), bytes: withoutTimes(seen.bytes) },
    sent: Object.entries(upstream).map(([name, { ledger }]) => [
      name,
      ledger.map(({ path, headers: { host: _, ...headers }, text }) => ({ path, headers, text })),
    ]),
    record: withoutTimes(JSON.stringify(record)),
    artifact: withoutTimes(artifact ?? '').replace(/"chunks":\[.*?\]/g, '"chunks":[]'),
    lines: lines.splice(0),
  }
}

const SETUP = {
  providers: { alpha: answer(), beta: answer('from beta'), gamma: answer(), delta: answer() },
  dialects: { gamma: ['messages'], delta: ['chat', 'messages'] },
  config: `resilience: { answer: 1m, idle: 1m, cooldown: 0s }
routes:
  auto: { targets: [ { model: alpha/model-a, tier: balanced } ] }
  two: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] }
  claude: { targets: [ { model: gamma/model-c } ] }
  both: { targets: [ { model: delta/model-d } ] }
models: { alpha/model-a: { price: { input: 1, output: 2 } } }`,
}

const text =
  (bytes: string | Buffer, headers: Record<string, string> = {}, status = 200): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(bytes)
const whole = (more: object = {}): string =>
  JSON.stringify({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'model-a' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 },
    ...more,
  })
const pieces =
  (bytes: string, count: number): Script =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const size = Math.ceil(bytes.length / count)
    for (let at = 0; at < bytes.length; at += size) {
      response.write(bytes.slice(at, at + size))
      await sleep(2)
    }
    response.end()
  }
const long = (length: number) =>
  whole({
    choices: [
      { index: 0, message: { role: 'assistant', content: 'x'.repeat(length) }, finish_reason: 'stop' },
    ],
  })
const planned: Script = (response, received) => {
  response.setHeader('x-codex-primary-used-percent', '9')
  return streamed('Hello')(response, received)
}
const silent: Script = () => {}
const streamAsk = (more: object = {}) => ask('auto', { stream: true, ...more })

const SITUATIONS: readonly Situation[] = [
  { name: 'a whole answer', script: answer() },
  { name: 'a model of the configuration', script: answer(), body: ask('alpha/model-a') },
  {
    name: 'a model behind other members',
    script: answer(),
    body: { messages: [], temperature: 1, model: 'auto' },
  },
  {
    name: 'a model behind text that is not ASCII',
    script: answer(),
    body: { messages: ['Grüße 👋'], model: 'auto' },
  },
  { name: 'white space', script: answer(), body: ' {\n "model" : "auto" , "messages" : [ ] }\n' },
  {
    name: 'a name with escapes',
    isGeneral: true,
    script: answer(),
    body: '{"mod\\u0065l":"auto","messages":[]}',
  },
  { name: 'a model with an escape', script: answer(), body: '{"model":"aut\\u006f","messages":[]}' },
  {
    name: 'a nested model',
    script: answer(),
    body: ask('auto', { tools: [{ model: 'auto' }], metadata: { model: 'x' } }),
  },
  { name: 'two models', script: answer(), body: '{"model":"auto","messages":[],"model":"two"}' },
  { name: 'an unknown model', isGeneral: true, script: answer(), body: ask('nowhere') },
  {
    name: 'a direct model that is not configured',
    isGeneral: true,
    script: answer(),
    body: ask('alpha/other'),
  },
  { name: 'no JSON', script: answer(), body: '{"model":"auto",' },
  {
    name: 'a session and an agent',
    script: answer(),
    headers: { 'x-session-id': 's 1', 'x-claude-code-agent-id': 'a', 'user-agent': 'claude-cli/2.1' },
  },
  {
    name: 'a session on two targets',
    isGeneral: true,
    script: answer(),
    body: ask('two'),
    headers: { 'x-session-id': 's2' },
  },
  { name: 'two targets', script: answer(), body: ask('two') },
  { name: 'a provider of two dialects', script: answer(), body: ask('both') },
  {
    name: 'a provider of two dialects and tools',
    script: answer(),
    body: ask('both', { tools: [{ type: 'function', function: { name: 'f' } }] }),
  },
  { name: 'a fallback', script: fail(500), body: ask('two') },
  { name: 'a fallback after a lost connection', script: (response) => response.destroy(), body: ask('two') },
  { name: 'a lost connection', script: (response) => response.destroy() },
  {
    name: 'an answer that is cut',
    script: (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 }).write('{"id":')
      void sleep(20).then(() => response.destroy())
    },
  },
  ...[400, 401, 402, 403, 404, 422, 429, 500, 503].map((status) => ({
    name: `an error ${status}`,
    script: fail(status),
  })),
  {
    name: 'a model that the provider does not know',
    script: fail(404, {}, { code: 'model_not_found', message: 'The model `model-a` does not exist' }),
  },
  {
    name: 'a request that is too long',
    script: fail(400, {}, { code: 'context_length_exceeded' }),
    body: ask('two'),
  },
  { name: 'a redirect', script: text('{}', { location: '/x' }, 302) },
  { name: 'no content', script: text('', {}, 204) },
  { name: 'status 201', script: text(whole(), {}, 201) },
  { name: 'an empty answer', script: text('') },
  { name: 'text', script: text('Hello', { 'content-type': 'text/plain' }) },
  { name: 'JSON as text', script: text(whole(), { 'content-type': 'text/plain' }) },
  { name: 'JSON in a list', script: text('[]') },
  { name: 'JSON that is cut', script: text(whole().slice(0, -3)) },
  { name: 'JSON of another kind', script: text('{"hello":1}') },
  { name: 'white space around', script: text(`\n ${whole()}\n`) },
  { name: 'a byte order mark', script: text(`\ufeff${whole()}`) },
  { name: 'an end mark', script: text(`${whole()}\n\ndata: [DONE]\n\n`) },
  { name: 'compressed', script: text(gzipSync(whole()), { 'content-encoding': 'gzip' }) },
  { name: 'an error inside a 200', script: text('{"error":{"message":"no","code":"broken"}}') },
  {
    name: 'an error inside a 200 with two targets',
    script: text('{"error":{"message":"no","code":503}}'),
    body: ask('two'),
  },
  {
    name: 'text that is not ASCII',
    script: text(
      whole({
        choices: [{ index: 0, message: { role: 'assistant', content: 'Grüße 👋' }, finish_reason: 'stop' }],
      }),
    ),
  },
  { name: 'bytes that are not UTF-8', script: text(Buffer.from(whole({ note: '\xff\xfe' }), 'latin1')) },
  { name: 'the key of the provider', script: text(whole({ note: providerKey('alpha') })) },
  {
    name: 'the key of the provider in a header',
    script: text(whole(), { 'x-request-id': providerKey('alpha') }),
  },
  {
    name: 'headers of the provider',
    script: text(whole(), {
      'x-request-id': 'r1',
      'x-ratelimit-limit-requests': '9',
      server: 'x',
      'set-cookie': 'a=b',
      'x-odd': '\xe9',
    }),
  },
  { name: 'an empty request id', script: text(whole(), { 'x-request-id': '' }) },
  {
    name: 'long headers',
    script: text(whole(), { 'x-ratelimit-long': 'x'.repeat(8_500), 'x-ratelimit-more': '1' }),
  },
  {
    name: 'limits of a plan',
    script: text(whole(), { 'x-codex-primary-used-percent': '9', 'x-codex-primary-window-minutes': '300' }),
  },
  { name: 'another model', script: text(whole({ model: 'other-9 ü\n' })) },
  { name: 'no model', script: text(whole({ model: undefined })) },
  { name: 'no usage', script: text(whole({ usage: undefined })) },
  {
    name: 'a strange usage',
    script: text(whole({ usage: { prompt_tokens: -1, completion_tokens: 'x', surprise: { deep: 3 } } })),
  },
  { name: 'a tier', script: text(whole({ service_tier: 'flex' })) },
  {
    name: 'a price of the provider',
    script: text(whole({ usage: { prompt_tokens: 1, completion_tokens: 1, cost: 0.5 } })),
  },
  {
    name: 'an unusual end',
    script: text(
      whole({
        choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'content_filter' }],
      }),
    ),
  },
  { name: 'events for a whole answer', script: streamed('Hello', ' there') },
  ...[2, 4, 5, 60].map((count) => ({ name: `${count} pieces`, script: pieces(whole(), count) })),
  ...[10_000, 16_300, 40_000, 100_000, 400_000].map((length) => ({
    name: `a long answer of ${length}`,
    script: text(long(length)),
  })),
  {
    name: 'a long request',
    script: answer(),
    body: ask('auto', { messages: [{ role: 'user', content: 'word "or" '.repeat(60_000) }] }),
  },
  {
    name: 'limits of the output',
    script: answer(),
    body: ask('auto', { max_tokens: 5, max_completion_tokens: 6 }),
  },
  {
    name: 'reasoning of another family',
    isGeneral: true,
    script: answer(),
    body: ask('auto', {
      messages: [
        {
          role: 'assistant',
          content: 'a',
          reasoning_details: [{ type: 'reasoning.text', signature: 'wb1:x:eA==' }],
        },
      ],
    }),
  },
  { name: 'a client that leaves early', script: silent, leaves: 'early' },
  { name: 'a client that leaves before its stream', script: silent, body: streamAsk(), leaves: 'early' },
  {
    name: 'a client that leaves a stream',
    script: stream(chunk({ content: 'a' }), 300, chunk({ content: 'b' }), DONE),
    body: streamAsk(),
    leaves: 'between',
  },
  { name: 'a stream', script: streamed('Hello', ' there'), body: streamAsk() },
  {
    name: 'a stream of a session',
    script: streamed('Hello'),
    body: streamAsk(),
    headers: { 'x-session-id': 's 1', 'user-agent': 'opencode/1.0' },
  },
  { name: 'a stream of two targets', script: streamed('Hello'), body: ask('two', { stream: true }) },
  { name: 'a stream with limits of a plan', script: planned, body: streamAsk() },
  {
    name: 'a stream with usage',
    script: streamed('Hello'),
    body: streamAsk({ stream_options: { include_usage: true } }),
  },
  {
    name: 'a stream with other options',
    isGeneral: true,
    script: streamed('Hello'),
    body: streamAsk({ stream_options: { x: 1 } }),
  },
  {
    name: 'a stream behind white space',
    script: streamed('Hello'),
    body: `${JSON.stringify(streamAsk())}  \n`,
  },
  {
    name: 'a stream that is cut',
    script: stream(chunk({ content: 'a' }), (response) => response.destroy()),
    body: streamAsk(),
  },
  { name: 'a stream without events', script: stream(), body: streamAsk() },
  { name: 'a whole answer for a stream', script: text(whole()), body: streamAsk() },
  { name: 'a stream that is refused', script: fail(429), body: streamAsk() },
  { name: 'a connection lost before a stream', script: (response) => response.destroy(), body: streamAsk() },
  { name: 'an error for a stream', script: fail(500), body: ask('two', { stream: true }) },
  { name: 'an error in a stream', script: stream('data: {"error":{"message":"no"}}\n\n'), body: streamAsk() },
  {
    name: 'a secret in a stream',
    script: stream(chunk({ content: providerKey('alpha') }), DONE),
    body: streamAsk(),
  },
]

/** Providers that give no answer in time, or only a part of it. */
const LATE: readonly Situation[] = [
  { name: 'a fallback after a silent provider', script: silent, body: ask('two') },
  { name: 'a silent provider', script: silent },
  { name: 'a silent stream', script: silent, body: streamAsk() },
  { name: 'a fallback after a silent stream', script: silent, body: ask('two', { stream: true }) },
  {
    name: 'a stream that stops',
    script: (response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'a' })),
    body: streamAsk(),
  },
  {
    name: 'an answer that stops',
    script: (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).write('{"id":'),
  },
]

/** Each deviation of real providers, as a whole answer and as a stream. */
const DEVIATIONS: readonly Situation[] = readDeviations()
  .filter(({ dialect }) => dialect === 'chat' || dialect === 'messages')
  .flatMap((each) =>
    formsOf(each).map(([form, bytes]) => ({
      name: `${each.dialect} ${each.id}, ${form}`,
      script: (form === 'stream' ? stream(bytes) : text(bytes, {}, each.status)) as Script,
      path: each.dialect === 'chat' ? CHAT : '/v1/messages',
      body: {
        ...ask(each.dialect === 'chat' ? 'auto' : 'claude', form === 'stream' ? { stream: true } : {}),
        ...(each.dialect === 'messages' && { max_tokens: 9 }),
      },
    })),
  )

suite('the plain way of a call does what the general one does', () => {
  /** Calls of the plain gateway that began on the general way. */
  const began: ClientCall[] = []
  const { begin } = ClientCall.prototype
  before(() => {
    ClientCall.prototype.begin = function (...given) {
      if (this.context.plans) began.push(this)
      begin.apply(this, given)
    }
  })
  after(() => {
    ClientCall.prototype.begin = begin
  })
  const compare = async (
    t: TestContext,
    setup: Setup,
    situations: readonly Situation[],
    { headers = {}, isJudged = true, meanwhile }: Comparing = {},
  ) => {
    const [plain, general] = [await way(t, setup, true), await way(t, setup, false)]
    const generally: string[] = []
    for (const each of situations) {
      const situation = { ...each, headers: { ...headers, ...each.headers } }
      await each.before?.()
      const traces = Promise.all([traceOf(plain, situation, headers), traceOf(general, situation, headers)])
      await meanwhile?.([plain.gateway, general.gateway])
      const [found, expected] = await traces
      if (began.length > 0) generally.push(each.name)
      began.length = 0
      for (const [part, there] of Object.entries(expected))
        assert.deepEqual(found[part as keyof typeof found], there, `${each.name}: ${part}`)
    }
    const others = situations.flatMap(({ name, isGeneral }) => (isGeneral ? [name] : []))
    if (isJudged) assert.deepEqual(generally, others, 'all other calls begin on the plain way')
    const metricsOf = async ({ gateway }: Way) => countsIn((await gateway.get('/metrics', { headers })).text)
    assert.deepEqual(await metricsOf(plain), await metricsOf(general))
  }

  test('in each situation', (t) => compare(t, SETUP, SITUATIONS))

  test('with each deviation of a provider', (t) =>
    compare(t, SETUP, sample(DEVIATIONS, 3), { isJudged: false }))

  test('with keys, of which some have a rate or a budget', async (t) => {
    const keys = ['boss', 'ann', 'bob', 'eve'].map((name) => ({ name, digest: digestOf(name) }))
    const more = ['role: admin', '', 'rate: { requests: 9, per: 1h }', 'budget: { usd: 0.0002, per: day }']
    const config = `${SETUP.config}\nkeys:\n${keys
      .map(({ name, digest }, at) => `  - { name: ${name}, digest: "${digest}", ${more[at]} }\n`)
      .join('')}`
    const file = ask('auto', { messages: [{ role: 'user', content: 'Read file-abcdefgh12345678' }] })
    const situations = keys.flatMap(({ name }) =>
      [
        ...SITUATIONS.slice(0, 5),
        { name: 'a file', script: answer(), body: file },
        ...SITUATIONS.slice(0, 5),
      ].map((each) => ({
        ...each,
        name: `${each.name}, ${name}`,
        headers: { authorization: `Bearer key-of-${name}` },
      })),
    )
    await compare(t, { ...SETUP, config }, situations, {
      headers: { authorization: 'Bearer key-of-boss' },
      isJudged: false, // a spent budget refuses calls
    })
  })

  test('with a key that has a budget', (t) => {
    const key = `{ name: ann, digest: "${digestOf('ann')}", budget: [{ usd: 9, per: day }, { usd: 1, per: session }] }`
    const boss = `{ name: boss, role: admin, digest: "${digestOf('boss')}" }`
    const priced = SETUP.config.replace(
      'models: {',
      'models: { beta/model-b: { price: { input: 3, output: 4 } },',
    )
    const partly = 'partly: { targets: [ { model: alpha/model-a }, { model: alpha/model-x } ] }'
    const config = `${priced.replace('routes:', `routes:\n  ${partly}`)}\nkeys: [${boss}, ${key}]`
    const named = ask('auto', { models: ['alpha/model-b'] })
    const situations = [
      ...SITUATIONS.filter(({ script, isGeneral }) => script !== silent && !isGeneral).slice(0, 30),
      { name: 'other models without a price', script: answer(), body: named },
      { name: 'a target without a price', script: answer(), body: ask('partly'), isGeneral: true },
    ]
    return compare(
      t,
      { ...SETUP, config },
      situations.map((each) => ({
        ...each,
        headers: { authorization: 'Bearer key-of-ann', ...each.headers },
      })),
      { headers: { authorization: 'Bearer key-of-boss' } },
    )
  })

  test('while a target is in cooldown, and afterwards', (t) => {
    const manual = manualClock()
    const config = SETUP.config.replace('cooldown: 0s', 'cooldown: 1h')
    const two = (name: string, script: Script) => ({ name, script, body: ask('two') })
    const situations = [
      two('a failure', fail(500)),
      { ...two('cooling', answer()), isGeneral: true, before: () => manual.advance(1_000) },
      { ...two('ready', answer()), before: () => manual.advance(3_600_000) },
    ]
    return compare(t, { ...SETUP, config, clock: manual }, situations)
  })

  test('while a provider does not answer', (t) => {
    const manual = manualClock()
    const meanwhile = async (gateways: readonly TestGateway[]) => {
      await until('the providers have the requests', () => gateways.every(({ received }) => received() > 0))
      await pause(100) // the beginnings of the answers are read
      await manual.advance(60_000)
    }
    return compare(t, { ...SETUP, clock: manual }, LATE, { meanwhile })
  })

  test('with bodies in the artifact', (t) => {
    const config = `${SETUP.config}\nartifacts: { bodies: true }`
    return compare(t, { ...SETUP, config }, SITUATIONS.slice(0, 20))
  })
})
