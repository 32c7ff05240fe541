// `waybill record`, then `waybill serve --replay`, as a user runs them. Uses child processes, real files, and
// a provider that is stopped before anything is replayed. Over 250 lines, because most tests record first,
// with the same helpers.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { ownRecordings } from '../../mocks/recording/format.ts'
import { createMockProviders } from '../../mocks/server/create.ts'
import {
  answer,
  chunk,
  DONE,
  fail,
  type Script,
  startMockServer,
  stream,
  usageChunk,
} from '../../mocks/test-upstream.ts'
import { runCli, startServer } from '../test/test-cli.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'

/** Starts a gateway in a separate process. `args` are the command and its options. */
async function started(t: TestContext, ...args: string[]) {
  return startedWith(t, {}, ...args)
}

/** Starts the gateway with additional environment variables. */
async function startedWith(t: TestContext, env: Record<string, string>, ...args: string[]) {
  const surroundings = { KEY: 'sk-of-the-operator', WAYBILL_PORT: '0', ...env }
  const { child, url, said } = await startServer(t, args, { env: surroundings })
  const output = () => said.stdout + said.stderr
  return {
    url,
    output,
    /** Waits for the text, because a child's output arrives in pieces. */
    async said(text: RegExp) {
      await until(`${text} is printed`, () => text.test(output()))
    },
    async chat(model: string, more = {}) {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(ask(model, more)),
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

/** Creates a folder with a configuration, and starts a provider at `path` with the answers of `script`. */
async function providerAt(t: TestContext, name: string, path: string, script: Script = answer()) {
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  const out = join(directory, 'kept')
  const provider = await startMockServer(script)
  t.after(() => provider.close())
  const { origin } = new URL(provider.baseUrl)
  writeFileSync(
    config,
    `providers: { ${name}: { dialect: openai, base_url: "${origin}${path}", key: $KEY } }\n` +
      `routes: { auto: { targets: [ { model: ${name}/model-a } ] } }\n`,
  )
  return { config, out, provider }
}

const streamedAnswer = stream(
  chunk({ role: 'assistant', content: 'four' }),
  chunk({ content: 'ten words' }, { finish_reason: 'stop' }),
  usageChunk(),
  DONE,
)

const PLACES = [
  ['together', '/v1'],
  ['vllm', ''],
  ['house-models', '/team/openai/v1/'],
  ['openai', '/v1'],
  ['gemini', '/v1beta/openai'],
] as const

for (const [name, path] of sample(PLACES, 3))
  test(`recordings of ${name} at "${path}" are replayed, both whole and streamed`, async (t) => {
    const { config, out, provider } = await providerAt(t, name, path, answer('four words of it'))
    const recording = await started(t, 'record', '--provider', name, '-c', config, '--out', out)
    const models = ['auto', `${name}/model-b`]
    for (const model of models) assert.equal((await recording.chat(model)).status, 200)
    provider.script = streamedAnswer
    assert.equal((await recording.chat('auto', { stream: true })).status, 200)
    await recording.stop()
    assert.match(recording.output(), /^3 recorded/m)
    await provider.close()

    const replay = await started(t, 'serve', '--replay', out, '-c', config)
    for (const model of models) {
      const { status, text } = await replay.chat(model)
      assert.equal(status, 200, text)
      assert.equal(JSON.parse(text).choices[0].message.content, 'xxxx xxxxx xx xx')
    }
    const { text } = await replay.chat('auto', { stream: true })
    assert.match(text, /"content":"xxxx".*"content":"xxx xxxxx".*\[DONE\]/s)
    await replay.stop()
  })

test('with `--keep-answers`, calls in any order receive the answers to their own texts, and the replay needs the key (REC-06)', async (t) => {
  const capitals: Script = (response, received) =>
    answer(received.text.includes('Italy') ? 'Rome.' : 'Paris.')(response, received)
  const { config, out, provider } = await providerAt(t, 'together', '/v1', capitals)
  const args = ['record', '--provider', 'together', '-c', config, '--out', out, '--keep-answers']
  const recording = await started(t, ...args)
  const asked = (place: string) => ({ messages: [{ role: 'user', content: `The capital of ${place}?` }] })
  for (const place of ['France', 'Italy']) await recording.chat('auto', asked(place))
  await recording.stop()
  assert.match(
    recording.output(),
    /with their answers; requests as digests; keys, ids and hosts are redacted/,
  )
  await provider.close()

  const replay = await started(t, 'serve', '--replay', out, '-c', config)
  for (const [place, capital] of [
    ['Italy', 'Rome.'],
    ['France', 'Paris.'],
    ['Italy', 'Rome.'],
  ] as const)
    assert.equal(
      JSON.parse((await replay.chat('auto', asked(place))).text).choices[0].message.content,
      capital,
    )
  assert.match((await replay.chat('auto', asked('Peru'))).text, /it differs in part 1, the user text/)
  const politely = {
    messages: [{ role: 'system', content: 'Be polite.' }, ...asked('Italy').messages],
  }
  assert.equal((await replay.chat('auto', politely)).status, 400, 'similar is not the same')
  await replay.stop()
  const similar = await started(t, 'serve', '--replay', out, '--similar', '-c', config)
  assert.match((await similar.chat('auto', politely)).text, /Rome\./)
  assert.equal((await similar.chat('auto', asked('Peru'))).status, 400)
  await similar.stop()

  rmSync(join(out, '.waybill/digest-key'))
  const { code, stderr } = await runCli(['mock', '--recordings', out, '--port', '0', '--control-port', '0'])
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^waybill: these recordings are found by keyed digests, and their key is missing: [^\n]+\n$/,
  )
  const own = await runCli([...args.slice(0, 6), ownRecordings, '--keep-answers'], {
    env: { KEY: 'sk-of-the-operator' },
  })
  assert.equal(own.code, 1)
  assert.match(own.stderr, /^waybill: [^\n]+ belongs to the package, which is published/)
})

test('a call without a recording causes an error that names the nearest recording and the command; answers are invented only on demand (REC-02)', async (t) => {
  const { config, out, provider } = await providerAt(t, 'together', '/v1')
  const recording = await started(t, 'record', '--provider', 'together', '-c', config, '--out', out)
  await recording.chat('auto')
  await recording.stop()

  const replay = await started(t, 'serve', '--replay', out, '-c', config)
  const misses = [
    ['together/another', {}, 'model "another" (recorded: "model-a")'],
    ['auto', { stream: true }, 'stream true (recorded: false)'],
    [
      'auto',
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      'scenario "tools" (recorded: "plain")',
    ],
  ] as const
  for (const [model, more, differs] of misses) {
    const { status, text, headers } = await replay.chat(model, more)
    assert.equal(status, 400, text)
    const { error } = JSON.parse(text)
    assert.equal(error.code, 'no_recording')
    assert.ok(error.message.includes('together/chat-completions-model-a-plain'), error.message)
    assert.ok(error.message.includes(differs), error.message)
    assert.ok(error.message.includes(`waybill record --provider together --out ${out}`), error.message)
    assert.ok(error.message.includes('--invent'), error.message)
    assert.equal(headers.get('x-gateway-attempts'), '1')
  }
  assert.equal((await replay.chat('auto')).status, 200, 'a miss puts no target out of use')
  await replay.stop()

  const inventing = await started(t, 'serve', '--replay', out, '--invent', '-c', config)
  for (const [model, more] of misses) {
    const { status, text } = await inventing.chat(model, more)
    assert.equal(status, 200, text)
  }
  assert.equal(provider.ledger.length, 1, 'replay reached the provider')
  await inventing.stop()
})

test('a recorded refusal is replayed unchanged, although it is an error', async (t) => {
  const { config, out, provider } = await providerAt(t, 'together', '/v1')
  const recording = await started(t, 'record', '--provider', 'together', '-c', config, '--out', out)
  provider.script = fail(422)
  assert.equal((await recording.chat('together/broken')).status, 422)
  provider.script = fail(400)
  const tools = [{ type: 'function', function: { name: 'f' } }]
  assert.equal((await recording.chat('together/other', { stream: true, tools })).status, 400)
  await recording.stop()
  const replay = await started(t, 'serve', '--replay', out, '-c', config)
  assert.equal((await replay.chat('together/broken')).status, 422)
  const { status, text } = await replay.chat('together/other', { stream: true, tools })
  assert.equal(status, 400)
  assert.doesNotMatch(text, /no_recording/)
  await replay.stop()
})

test('a scenario that was recorded under a name can be requested by that name, for any model', async (t) => {
  const { config, out } = await providerAt(t, 'together', '/v1', answer('greeting'))
  const args = ['--provider', 'together', '-c', config, '--out', out, '--scenario', 'greeting']
  const recording = await started(t, 'record', ...args)
  await recording.chat('auto')
  await recording.stop()
  const replay = await started(t, 'serve', '--replay', out, '-c', config)
  const { status, text } = await replay.chat('together/scenario-greeting')
  assert.equal(status, 200, text)
  assert.match(text, /"content":"xxxxxxxx"/)
  await replay.stop()
})

test('on startup, a replay lists providers without recordings, and describes its answers', async (t) => {
  const { config } = await providerAt(t, 'together', '/v1')
  const replay = await started(t, 'serve', '--replay', '-c', config)
  for (const said of [/\d+ authored/, /no recordings of together/, /waybill record --provider together/])
    await replay.said(said)
  const { status, text } = await replay.chat('auto')
  assert.equal(status, 400)
  assert.match(text, /waybill record --provider together --out recordings/)
  await replay.stop()
})

const tool = (name: string, properties: Record<string, object>) => ({
  name,
  schema: { type: 'object', properties, required: Object.keys(properties) },
})
const TEXT = { type: 'string' }
const chatTools = (...tools: ReturnType<typeof tool>[]) =>
  tools.map(({ name, schema }) => ({ type: 'function', function: { name, parameters: schema } }))
const user = (content: string) => ({ role: 'user', content })
const called = {
  role: 'assistant',
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'ls', arguments: '{}' } }],
}
const FIRST = /First I list the files/
/** Calls of coding agents to the package's own recordings, and what each answer must have. */
const AGENT_CALLS: Readonly<Record<string, readonly [string, object, readonly RegExp[]]>> = {
  'a tool that lists': [
    'chat/completions',
    {
      tools: chatTools(tool('write', { path: TEXT }), tool('ls', { path: TEXT })),
      messages: [user('Read.')],
    },
    [FIRST, /"name":"ls"/, /\{\\"path\\":\\".\\"\}/],
  ],
  'a tool that runs commands': [
    'messages',
    {
      max_tokens: 99,
      tools: [tool('Bash', { command: TEXT, description: TEXT })].map(({ name, schema }) => ({
        name,
        input_schema: schema,
      })),
      messages: [user('Read.')],
    },
    [FIRST, /"name":"Bash"/, /"command":"ls"/],
  ],
  'a command as a list': [
    'responses',
    {
      tools: [tool('shell', { command: { type: 'array', items: TEXT } })].map(({ name, schema }) => ({
        type: 'function',
        name,
        parameters: schema,
      })),
      input: 'Read.',
    },
    [FIRST, /"name":"shell"/, /\[\\"ls\\"\]/],
  ],
  'only tools that change something': [
    'chat/completions',
    { tools: chatTools(tool('write', { path: TEXT })), messages: [user('Read.')] },
    [/nothing was spent/, /"finish_reason":"stop"/],
  ],
  'the result of a tool': [
    'chat/completions',
    {
      tools: chatTools(tool('ls', { path: TEXT })),
      messages: [user('Read.'), called, { role: 'tool', tool_call_id: 'c', content: 'a.txt' }],
    },
    [/nothing was spent/],
  ],
  'a title': [
    'chat/completions',
    { messages: [user('Write a title for: Read.')] },
    [/"content":"A first look at Waybill"/],
  ],
  'a title as JSON': [
    'chat/completions',
    {
      messages: [user('Name it.')],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 't', schema: tool('', { title: TEXT }).schema },
      },
    },
    [/\{\\"title\\":\\"A first look at Waybill\\"\}/],
  ],
  'the tool of the recordings': [
    'chat/completions',
    { tools: chatTools(tool('get_weather', { city: TEXT })), messages: [user('Vienna?')] },
    [/"name":\s*"get_weather"/],
  ],
}

test('a coding agent gets answers in English with its own tools from the recordings of the package (REC-02)', async (t) => {
  const data = temporaryDirectory(t)
  const args = ['serve', '--replay', '--port', '0', '-c', 'examples/waybill.yaml']
  const { url } = await startServer(t, args, { env: { WAYBILL_DATA: data } })
  for (const [name, [path, more, expected]] of Object.entries(AGENT_CALLS))
    for (const stream of [false, true]) {
      const response = await fetch(`${url}/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'auto', stream, ...more }),
      })
      const text = await response.text()
      assert.equal(response.status, 200, `${name}: ${text}`)
      if (!stream) for (const words of expected) assert.match(text, words, name)
      assert.doesNotMatch(text, /Grüße/, name)
    }
})

test('a replay has its own database, spends no budget, and marks every call as replayed (REC-05)', async (t) => {
  const directory = temporaryDirectory(t)
  const provider = await startMockServer(answer())
  t.after(() => provider.close())
  const config = join(directory, 'waybill.yaml')
  const digest = createHash('sha256').update('wb-of-the-laptop').digest('hex')
  writeFileSync(
    config,
    `providers: { alpha: { dialect: openai, base_url: "${provider.baseUrl}", key: $KEY } }\n` +
      'models: { alpha/model-a: { price: { input: 100, output: 100 } } }\n' +
      'routes: { auto: { targets: [ { model: alpha/model-a } ] } }\n' +
      `keys: [ { name: laptop, role: admin, digest: "sha256:${digest}", budget: { usd: 0.001 } } ]\n`,
  )
  const authorization = { authorization: 'Bearer wb-of-the-laptop' }
  const chat = (url: string) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: JSON.stringify(ask('auto')),
    })
  const read = async (url: string, path: string): Promise<any> =>
    (await fetch(url + path, { headers: authorization })).json()
  /** Returns the calls on record, once all of them have ended. */
  const closed = async (url: string): Promise<any[]> => {
    for (;;) {
      const { data } = await read(url, '/api/usage/request-logs')
      if (data.every((each: any) => each.completed_at !== null)) return data
      await sleep(10)
    }
  }

  const replay = await started(t, 'serve', '--replay', '--invent', '-c', config)
  for (let i = 0; i < 4; i++) {
    const response = await chat(replay.url)
    assert.equal(response.status, 200, await response.text())
    assert.equal(response.headers.get('x-gateway-replay'), 'true')
  }
  assert.equal((await read(replay.url, '/readyz')).replay, true)
  const list = await closed(replay.url)
  assert.deepEqual(
    list.map((each: any) => each.replayed),
    [true, true, true, true],
  )
  assert.ok(list[0].cost_usd > 0.001, 'what it would have cost')
  assert.ok(existsSync(join(directory, 'data/replay/waybill.db')))
  assert.ok(!existsSync(join(directory, 'data/waybill.db')))

  // The replay is still running, because the two gateways share nothing.
  const live = await started(t, 'serve', '-c', config)
  const first = await chat(live.url)
  assert.equal(first.status, 200, await first.text())
  assert.equal(first.headers.get('x-gateway-replay'), null)
  assert.equal((await read(live.url, '/readyz')).replay, false)
  const data = await closed(live.url)
  assert.deepEqual(
    data.map((each: any) => each.replayed),
    [false],
  )
  const second = await chat(live.url)
  assert.equal(second.status, 429)
  assert.match(await second.text(), /has spent \$0\.0027 of its \$0\.001/, 'digits that say why')
  await live.stop()
  await replay.stop()
})

/** An answer as OpenAI's client reads it, with texts replaced by their lengths, which redaction preserves. */
async function asked(url: string) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Where to?' }]
  const tools = [{ type: 'function' as const, function: { name: 'get_weather' } }]
  const whole = await client.chat.completions.create({ model: 'auto', messages })
  const calls = await client.chat.completions.create({ model: 'auto', messages, tools })
  const pieces: (number | null)[] = []
  const options = { stream: true, stream_options: { include_usage: true } } as const
  let usage: unknown = null
  for await (const each of await client.chat.completions.create({ model: 'auto', messages, ...options })) {
    pieces.push(each.choices[0]?.delta.content?.length ?? null)
    usage = each.usage ?? usage
  }
  const failed: unknown = await client.chat.completions
    .create({ model: 'alpha/scenario-404', messages })
    .catch((error: unknown) => error)
  assert.ok(failed instanceof OpenAI.NotFoundError, String(failed))
  return {
    whole: [
      whole.model,
      whole.choices[0]?.message.content?.length,
      whole.choices[0]?.finish_reason,
      whole.usage,
    ],
    calls: calls.choices[0]?.message.tool_calls?.map((call) => [
      call.type,
      call.type === 'function' && typeof JSON.parse(call.function.arguments),
    ]),
    stream: [pieces, usage],
    failed: [failed.status, failed.code, failed.type],
  }
}

test('the official client receives from the replay what the provider sent, except the words', async (t) => {
  const mock = await createMockProviders()
  t.after(() => mock.close())
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  const out = join(directory, 'kept')
  const base = mock.baseUrl('openai')
  writeFileSync(
    config,
    `providers: { alpha: { dialect: openai, base_url: "${base}", key: $MOCK_KEY } }\n` +
      'routes: { auto: { targets: [ { model: alpha/gpt-5-mini } ] } }\n',
  )
  const env = { MOCK_KEY: mock.key('openai') }
  const recording = await startedWith(t, env, 'record', '--provider', 'alpha', '-c', config, '--out', out)
  const live = await asked(recording.url)
  await recording.stop()
  const before = mock.entries().length
  const replay = await started(t, 'serve', '--replay', out, '-c', config)
  assert.deepEqual(await asked(replay.url), live)
  assert.equal(mock.entries().length, before, 'replay reached the provider')
  await replay.stop()
})

test('a replay also covers a provider that is added to the configuration during the replay', async (t) => {
  const { config, out, provider } = await providerAt(t, 'together', '/v1', answer('four'))
  const recording = await started(t, 'record', '--provider', 'together', '-c', config, '--out', out)
  await recording.chat('auto')
  await recording.stop()
  await provider.close()
  const text = readFileSync(config, 'utf8')
  writeFileSync(config, 'providers: { other: { dialect: openai, base_url: "https://models.test/v1" } }\n')
  const replay = await started(t, 'serve', '--replay', out, '-c', config)
  assert.equal((await replay.chat('auto')).status, 404)
  writeFileSync(config, text)
  const answered = await until('the configuration is read again', async () => {
    const each = await replay.chat('auto')
    return each.status !== 404 && each
  })
  assert.equal(answered.status, 200, answered.text)
  assert.match(answered.text, /"content":"xxxx"/)
  await replay.stop()
})

for (const option of ['--invent', '--similar'])
  test(`${option} without \`--replay\` is a one-line error`, async (t) => {
    const { config } = await providerAt(t, 'together', '/v1')
    const { code, stderr } = await runCli(['serve', option, '-c', config], {
      env: { KEY: 'x', WAYBILL_PORT: '0' },
    })
    assert.equal(code, 2)
    assert.match(stderr, new RegExp(`^waybill: ${option} needs --replay; [^\\n]+\\n$`))
  })
