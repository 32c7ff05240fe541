// `waybill init --from`: files of other gateways become valid configurations. Settings that cannot be
// expressed are named, and no key is written. A gateway started with the result answers.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { answer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { SILENT } from '../core/process-log.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { configFrom, type FromFile, lineOf } from './init-from.ts'

const SECRET = 'sk-in-the-file-0123456789'

const LITELLM = `
model_list:
  - model_name: chat
    litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY }
  - model_name: pair
    litellm_params: { model: groq/openai/gpt-oss-20b, api_key: ${SECRET}, rpm: 30, temperature: 0.2 }
  - model_name: pair
    litellm_params: { model: claude-haiku-4-5, api_key: os.environ/ANTHROPIC_API_KEY, rpm: 10 }
  - model_name: local
    litellm_params: { model: ollama/qwen3, api_base: "http://localhost:11434", timeout: 5 }
  - model_name: vectors
    litellm_params: { model: openai/text-embedding-3-small, api_key: os.environ/OPENAI_API_KEY, input_cost_per_token: 0.00000002, output_cost_per_token: 0 }
    model_info: { mode: embedding }
  - model_name: azure-chat
    litellm_params: { model: azure/mine, api_base: "https://res.openai.azure.com/", api_key: os.environ/AZURE_API_KEY, api_version: "2024-06-01" }
  - model_name: aws
    litellm_params: { model: bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0, aws_region_name: eu-central-1 }
  - model_name: google
    litellm_params: { model: vertex_ai/gemini-2.5-flash, vertex_project: os.environ/PROJECT, vertex_location: europe-west1 }
  - model_name: speech
    litellm_params: { model: openai/tts-1, api_key: os.environ/OPENAI_API_KEY }
    model_info: { mode: audio_speech }
  - model_name: "groq/*"
    litellm_params: { model: "groq/*", api_key: os.environ/GROQ_API_KEY }
  - model_name: elsewhere
    litellm_params: { model: openai/m, api_base: os.environ/NOT_SET }
router_settings:
  routing_strategy: simple-shuffle
  cooldown_time: 60
  num_retries: 2
  fallbacks: [ { chat: [pair, absent] }, { pair: [local] } ]
  model_group_alias: { gpt-4: chat }
litellm_settings: { drop_params: true, request_timeout: 120, cache: true, cache_params: { type: redis, ttl: 600 }, success_callback: [langfuse] }
general_settings: { master_key: os.environ/MASTER, max_budget: 2, budget_duration: 1d, database_url: os.environ/DATABASE_URL }
`
const ROUTER = `{
  // comments and trailing commas are allowed in the file
  "Providers": [
    { "name": "deepseek", "api_base_url": "https://api.deepseek.com/chat/completions", "api_key": "${SECRET}", "models": ["deepseek-chat"], "transformer": { "use": ["deepseek", ["maxtoken", { "max_tokens": 8000 }]] } },
    { "name": "google ai", "api_base_url": "https://generativelanguage.googleapis.com/v1beta/models/", "api_key": "$GEMINI_API_KEY", "models": ["gemini-2.5-pro"], "transformer": { "use": ["gemini"] } },
    { "name": "claude", "api_base_url": "https://api.anthropic.com/v1/messages", "api_key": "$CLAUDE", "models": ["claude-sonnet-5"], "transformer": { "use": ["Anthropic"] } },
    { "name": "ollama", "api_base_url": "http://localhost:11434/v1/chat/completions", "api_key": "ollama", "models": ["qwen3"], },
  ],
  "Router": { "default": "deepseek,deepseek-chat", "background": "ollama,qwen3", "longContext": "google ai,gemini-2.5-pro", "think": "claude,claude-sonnet-5", "webSearch": "gone,model", "image": "gone,model" },
  "APIKEY": "${SECRET}", "HOST": "0.0.0.0", "PORT": 3456, "API_TIMEOUT_MS": "600000", "LOG": true, "CUSTOM_ROUTER_PATH": "/home/me/router.js",
}`
const channel = (more: object) => ({
  ...{
    id: 1,
    status: 1,
    type: 1,
    key: SECRET,
    name: 'first',
    base_url: '',
    models: 'gpt-5-mini',
    group: 'default',
  },
  ...{ model_mapping: '', priority: 0, weight: 0, balance: 3, used_quota: 7, response_time: 80 },
  ...more,
})
const ONE_API = JSON.stringify({
  success: true,
  data: [
    channel({ weight: 3 }),
    channel({
      id: 2,
      name: 'second',
      base_url: 'https://other.example',
      models: 'gpt-5-mini,big',
      weight: 1,
      model_mapping: '{"big":"big-2"}',
    }),
    channel({ id: 3, name: 'claude', type: 14, models: 'claude-sonnet-5', group: 'vip' }),
    channel({
      id: 4,
      name: 'backup',
      base_url: 'https://backup.example/v1',
      models: 'claude-sonnet-5',
      priority: 5,
    }),
    channel({ id: 5, name: 'off', status: 2, models: 'off' }),
    channel({ id: 6, name: 'spark', type: 18, models: 'spark', system_prompt: 'be nice' }),
  ],
})

const fileOf = (t: TestContext, text: string, name = 'config.yaml'): string => {
  const file = join(temporaryDirectory(t), name)
  writeFileSync(file, text)
  return file
}

/** Answers in the dialect that belongs to the path. */
const anyDialect: Script = (response, received) => {
  const { path } = received
  const send = (body: object) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  if (path.includes('/embeddings'))
    send({
      object: 'list',
      model: 'm',
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      usage: { prompt_tokens: 1, total_tokens: 1 },
    })
  else if (path.includes('/messages'))
    send({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    })
  else if (path.includes(':generateContent'))
    send({
      candidates: [
        { index: 0, content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: 'm',
    })
  else answer('hello')(response, received)
}

/** Starts the gateway with mock providers and calls every route. Returns the statuses other than 200. */
async function refused(
  t: TestContext,
  { text, variables, direct }: FromFile,
  key?: string,
): Promise<string[]> {
  const { routes, models = {}, providers } = parse(text)
  const mock = await startMockServer(anyDialect)
  t.after(() => mock.close())
  const env = Object.fromEntries(variables.map((name) => [name, 'any']))
  const placed = `data: ${JSON.stringify(temporaryDirectory(t))}\n${text}`
  const loaded = parseConfig(placed, 'waybill.yaml', { env })
  Object.assign(loaded.config.server, { port: 0, host: '127.0.0.1' })
  for (const provider of Object.values(loaded.config.providers)) {
    const { pathname } = new URL(provider.base_url)
    Object.assign(provider, {
      base_url: `${mock.baseUrl.replace(/\/v1$/, '')}${pathname.replace(/\/$/, '')}`,
    })
  }
  const gateway = await createGateway({ ...loaded, log: SILENT })
  t.after(() => gateway.close())
  const bad: string[] = []
  const called = [
    ...Object.entries<{ targets: { model: string }[] }>(routes ?? {}).map(([name, { targets }]) => [
      name,
      targets[0]!.model,
    ]),
    ...direct.map((id) => [id, id]),
  ] as [string, string][]
  for (const [name, model] of called) {
    if (providers[model.slice(0, model.indexOf('/'))].auth) continue // a cloud's sign-in, for which there is no mock here
    const { type } = models[model] ?? {}
    if (type === 'image') continue
    const isVector = type === 'embedding'
    const response = await fetch(`${gateway.url}/v1/${isVector ? 'embeddings' : 'chat/completions'}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(
        isVector
          ? { model: name, input: 'hello' }
          : { model: name, messages: [{ role: 'user', content: 'hello' }] },
      ),
    })
    const body = await response.text()
    if (response.status !== 200) bad.push(`${name}: ${response.status} ${body.slice(0, 200)}`)
  }
  t.diagnostic(`${called.length} models asked for, ${called.length - bad.length} not refused`)
  return bad
}

test('LiteLLM: deployments become providers and routes, with weights, fallbacks, timeouts, cache, budget and key', async (t) => {
  const file = fileOf(t, LITELLM)
  const made = configFrom(file, { MASTER: 'sk-master', PROJECT: 'my-project' })
  assert.equal(made.format, 'LiteLLM')
  const { providers, routes, models, resilience, cache, keys } = parse(made.text)
  assert.deepEqual(routes.chat, {
    on_refused: 'adjust',
    targets: [
      { model: 'openai/gpt-5-mini' },
      { model: 'groq/openai/gpt-oss-20b', request: { set: { temperature: 0.2 } } },
      { model: 'anthropic/claude-haiku-4-5' },
    ],
  })
  assert.deepEqual(routes.pair, {
    strategy: 'weighted',
    on_refused: 'adjust',
    targets: [
      { model: 'groq/openai/gpt-oss-20b', weight: 30, request: { set: { temperature: 0.2 } } },
      { model: 'anthropic/claude-haiku-4-5', weight: 10 },
      { model: 'ollama/qwen3', weight: 0 },
    ],
  })
  assert.deepEqual(routes['gpt-4'].targets[0], { model: 'openai/gpt-5-mini' })
  assert.deepEqual(providers.ollama, { dialect: 'chat', base_url: 'http://localhost:11434/v1' })
  assert.deepEqual(providers.azure, {
    dialect: ['chat', 'responses', 'embeddings'],
    base_url: 'https://res.openai.azure.com/openai/v1',
    key: '$AZURE_API_KEY',
  })
  assert.deepEqual([providers.bedrock.auth, providers.bedrock.platform], ['aws', 'bedrock'])
  assert.match(
    providers.vertex.base_url,
    /projects\/my-project\/locations\/europe-west1\/publishers\/google$/,
  )
  assert.deepEqual(models['openai/text-embedding-3-small'], {
    type: 'embedding',
    price: { input: 0.02, output: 0 },
  })
  assert.deepEqual(resilience, { answer: '120000ms', cooldown: '60000ms' })
  assert.deepEqual(cache, { enabled: true, ttl: '600s' })
  assert.deepEqual(keys, [
    {
      name: 'admin',
      role: 'admin',
      digest: `sha256:${createHash('sha256').update('sk-master').digest('hex')}`,
      budget: { usd: 2, per: 'day', unpriced: 'allow' },
    },
  ])
  const named = made.notes.map(({ where }) => where)
  for (const where of [
    'model_list[1] (pair): api_key',
    'model_list[1] (pair): temperature',
    'model_list[1] (pair): rpm',
    'model_list[3] (local): timeout',
    'model_list[8] (speech)',
    'model_list[9] (groq/*)',
    'model_list[10] (elsewhere)',
    'fallbacks: chat',
    'num_retries',
    'litellm_settings.cache_params',
    'litellm_settings.success_callback',
    'general_settings.database_url',
  ])
    assert.ok(named.includes(where), `${where} is named`)
  assert.deepEqual(await refused(t, made, 'sk-master'), [])
})

test('Claude Code Router: kinds of calls become rules; comments and trailing commas are accepted', async (t) => {
  const made = configFrom(fileOf(t, ROUTER, 'config.json'), {})
  assert.equal(made.format, 'Claude Code Router')
  const { providers, routes, defaults, server, keys, resilience } = parse(made.text)
  assert.deepEqual(routes.auto.rules, [
    { when: { input_tokens: { over: 60_000 } }, use: { target: 'google-ai/gemini-2.5-pro' } },
    { when: { purpose: 'background' }, use: { target: 'ollama/qwen3' } },
    {
      when: { effort: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] },
      use: { target: 'claude/claude-sonnet-5' },
    },
  ])
  assert.equal(routes.auto.targets[0].model, 'deepseek/deepseek-chat')
  assert.equal(defaults.messages, 'auto')
  assert.deepEqual(providers['google-ai'], {
    dialect: 'gemini',
    base_url: 'https://generativelanguage.googleapis.com',
    key: '$GEMINI_API_KEY',
  })
  assert.deepEqual(providers.claude, {
    dialect: 'messages',
    base_url: 'https://api.anthropic.com',
    key: '$CLAUDE',
  })
  assert.equal(providers.deepseek.key, '$DEEPSEEK_API_KEY')
  assert.deepEqual(
    [server, keys[0].role, resilience.answer],
    [{ port: 3456, host: '0.0.0.0' }, 'admin', '600000ms'],
  )
  const named = made.notes.map(({ where }) => where)
  for (const where of [
    'Router.image',
    'Router.webSearch',
    'CUSTOM_ROUTER_PATH',
    'Providers[0] (deepseek): transformer maxtoken',
    'Providers[0] (deepseek): api_key',
  ])
    assert.ok(named.includes(where), `${where} is named`)
  assert.deepEqual(await refused(t, made, SECRET), [])
})

test('one-api: a model’s channels become its targets, by priority and weight', async (t) => {
  const made = configFrom(fileOf(t, ONE_API, 'channels.json'), {})
  assert.equal(made.format, 'one-api')
  const { providers, routes } = parse(made.text)
  assert.deepEqual(routes['gpt-5-mini'], {
    strategy: 'weighted',
    targets: [
      { model: 'first/gpt-5-mini', weight: 3 },
      { model: 'second/gpt-5-mini', weight: 1 },
    ],
  })
  assert.deepEqual(routes.big, { targets: [{ model: 'second/big-2' }] })
  assert.deepEqual(routes['claude-sonnet-5'], {
    targets: [{ model: 'backup/claude-sonnet-5' }, { model: 'claude/claude-sonnet-5' }],
  })
  assert.deepEqual(providers.second, {
    dialect: 'chat',
    base_url: 'https://other.example/v1',
    key: '$SECOND_API_KEY',
  })
  assert.deepEqual(providers.claude.dialect, 'messages')
  assert.deepEqual(Object.keys(routes).toSorted(), ['big', 'claude-sonnet-5', 'gpt-5-mini'])
  const named = made.notes.map(({ where }) => where)
  for (const where of [
    'channel 3 (claude): group',
    'channel 5 (off)',
    'channel 6 (spark)',
    'channel 1 (first): key',
  ])
    assert.ok(named.includes(where), `${where} is named`)
  assert.deepEqual(await refused(t, made), [])
})

test('a full page of one-api channels causes a warning that more may exist, and several pages in one list are read together', (t) => {
  const page = (first: number, count: number) => ({
    ...{ success: true, message: '' },
    data: Array.from({ length: count }, (_, n) =>
      channel({ id: first + n, name: `c${first + n}`, models: `m${first + n}`, key: '' }),
    ),
  })
  const read = (json: unknown) => configFrom(fileOf(t, JSON.stringify(json), 'channels.json'), {})
  const saysMore = ({ notes }: FromFile) => notes.some(({ where }) => where === 'the list')
  const [full, both] = [read(page(1, 10)), read([page(1, 10), page(11, 3)])]
  assert.deepEqual([saysMore(full), saysMore(both)], [true, false])
  assert.equal(Object.keys(parse(both.text).routes).length, 13)
})

test('no key in an imported file is written or printed, and no name in the file can end a comment early', async (t) => {
  for (const [text, name] of [
    [LITELLM, 'a.yaml'],
    [ROUTER, 'b.json'],
    [ONE_API, 'c.json'],
  ] as const) {
    const written = join(temporaryDirectory(t), 'waybill.yaml')
    const { code, stdout, stderr } = await runCli(['init', written, '--from', fileOf(t, text, name)], {
      env: { MASTER: 'sk-master' },
    })
    assert.deepEqual([code, stderr], [0, ''])
    assert.doesNotMatch(readFileSync(written, 'utf8') + stdout, /sk-/)
    assert.match(stdout, /Carried over: \d+ providers?, \d+ routes?\./)
  }
  const hostile = {
    model_list: [
      { model_name: 'x\n\u001b[31mroutes: {}', litellm_params: { model: 'bedrock/x', 'y\nz': 1 } },
      { model_name: 'a', litellm_params: { model: 'openai/a' } },
    ],
  }
  const { text, notes } = configFrom(fileOf(t, JSON.stringify(hostile), 'h.json'), {})
  assert.ok(notes.length > 0)
  assert.deepEqual(Object.keys(parse(text).routes), ['a'])
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for control characters
  assert.doesNotMatch(text, /\u001b/)
})

test('a missing or empty file, or a file in an unknown format, causes a one-line error and exit code 2, and nothing is written', async (t) => {
  const written = join(temporaryDirectory(t), 'waybill.yaml')
  for (const [source, says] of [
    [fileOf(t, 'a: 1'), /is no file of a gateway that is known: LiteLLM, Claude Code Router, one-api\n$/],
    [fileOf(t, 'a: [1'), /cannot be read: /],
    [
      fileOf(t, 'model_list: [ { model_name: a, litellm_params: { model: bedrock/titan } } ]'),
      /nothing in .* could be carried over: model_list\[0\] \(a\): only Claude/,
    ],
    ['/no/such/file', /^waybill: cannot read \/no\/such\/file: /],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['init', written, '--from', source])
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, says)
    assert.equal(stderr.trimEnd().split('\n').length, 1)
    assert.equal(existsSync(written), false)
  }
})

const FOREIGN = process.env.WAYBILL_FOREIGN_CONFIGS

test('configuration files that other people have published become configurations with working routes', {
  skip: FOREIGN ? false : 'WAYBILL_FOREIGN_CONFIGS names no directory',
}, async (t) => {
  for (const name of readdirSync(FOREIGN!).toSorted())
    await t.test(name, async (t) => {
      let made: FromFile
      try {
        made = configFrom(join(FOREIGN!, name), {})
      } catch (error) {
        assert.match((error as Error).message, /^nothing in .* could be carried over: /)
        t.diagnostic((error as Error).message)
        return
      }
      const { keys = [] } = parse(made.text)
      t.diagnostic(
        `${made.format}: ${made.providers} providers, ${made.routes} routes, ${made.notes.length} notes`,
      )
      for (const note of made.notes) t.diagnostic(lineOf(note))
      const own = 'the-key-of-this-test'
      const digest = `sha256:${createHash('sha256').update(own).digest('hex')}`
      const text = keys.length > 0 ? made.text.replace(keys[0].digest, digest) : made.text
      assert.deepEqual(
        made.notes.filter(({ where }) => where === 'the written file'),
        [],
      )
      assert.deepEqual(await refused(t, { ...made, text }, keys.length > 0 ? own : undefined), [])
    })
})

const PASSWORD = 'pA55-of-the-operator'
/** Addresses with a credential, as people and other programs write them. */
const ADDRESSES = [
  `http://user:${PASSWORD}@host.example/v1`,
  `http://user:${PASSWORD}@host.example:8080/v1/chat/completions?x=1`,
  `HTTPS://${PASSWORD}@host.example/v1`,
  `https://:${PASSWORD}@host.example/v1#`,
  `https:\\\\user:${PASSWORD}@host.example/v1`,
  `https://user%40corp:${PASSWORD}@host.example/v1`,
  `https://user:12/${PASSWORD}@host.example/v1`,
  `https://user:12?${PASSWORD}@host.example/v1`,
  `https://user:12#${PASSWORD}@host.example/v1`,
  ...['key', 'api-key', 'api_key', 'apikey', 'token', 'sig', 'access_token', 'X-Amz-Signature', 'code'].map(
    (name) => `https://host.example/v1?api-version=1&${name}=${PASSWORD}`,
  ),
  `https://host.example/v1/chat/completions?${PASSWORD}`,
  `https://host.example/v1?a=1;key=${PASSWORD}`,
  `https://host.example/v1;key=${PASSWORD}`,
  `https://host.example/v1%3Fkey=${PASSWORD}`,
  `https://host.example/v1#access_token=${PASSWORD}`,
  `https://host.example/v1#/?key=${PASSWORD}`,
  `https://user:${encodeURIComponent(`${PASSWORD}/@`)}@host.example/v1`,
]
const FORMATS_WITH = {
  litellm: (address: string) => ({
    model_list: [
      { model_name: 'a', litellm_params: { model: 'openai/m', api_base: address } },
      { model_name: 'b', litellm_params: { model: 'azure/m', api_base: address, api_key: 'os.environ/K' } },
      { model_name: 'c', litellm_params: { model: 'anthropic/m', base_url: address } },
      { model_name: 'd', litellm_params: { model: 'ollama/m', api_base: 'os.environ/BASE' } },
    ],
  }),
  'claude-code-router': (address: string) => ({
    Providers: [
      { name: 'a', api_base_url: address, api_key: '$K', models: ['m'] },
      { name: 'b', api_base_url: '$BASE', models: ['m'], transformer: { use: ['gemini'] } },
      { name: 'c', api_base_url: 'https://other.example/v1', models: ['m'] },
    ],
    Router: { default: 'a,m', background: 'b,m', think: 'c,m' },
  }),
  'one-api': (address: string) => [
    channel({ base_url: address }),
    channel({ id: 2, type: 14, name: 'b', base_url: address, models: 'n' }),
  ],
}
for (const [format, fileWith] of Object.entries(FORMATS_WITH))
  test(`a credential in an address of a file of ${format} is never written, and a note says so`, (t) => {
    for (const address of ADDRESSES) {
      let all: string
      try {
        all = JSON.stringify(configFrom(fileOf(t, JSON.stringify(fileWith(address))), { BASE: address }))
      } catch (error) {
        all = (error as Error).message // without its credential, the address may be none
        assert.match(all, /^nothing in .* could be carried over: /)
      }
      assert.ok(!all.includes('pA55') && !all.includes('%40corp'), `${address}: ${all}`)
      assert.ok(all.includes('may hold a credential'), address)
    }
  })

test('an address without a credential is written as it is', (t) => {
  for (const address of [
    'http://localhost:11434/v1',
    'https://gw.example/a/@cf/v1',
    'https://[::1]:8080/v1',
  ]) {
    const made = configFrom(fileOf(t, JSON.stringify(FORMATS_WITH.litellm(address))), {})
    assert.ok(made.text.includes(`base_url: ${address}\n`), made.text)
    assert.ok(!made.notes.some(({ advice }) => advice.includes('may hold a credential')))
  }
})

test('a credential of the file is not written where it stands a second time', (t) => {
  const key = 'sk-Proj-0123456789'
  const file = {
    model_list: [
      {
        model_name: 'a',
        litellm_params: {
          ...{ model: 'openai/m', api_base: `https://host.example/${key}/v1`, api_key: key },
          ...{ stop: [`Bearer ${key}`], extra_headers: { 'x-team': key }, nested: { deep: { token: key } } },
        },
      },
      { model_name: `b-${encodeURIComponent(key)}`, litellm_params: { model: 'openai/n' } },
    ],
    general_settings: { master_key: `${key}-master`, database_url: `postgres://u:${key}@db/x` },
  }
  const made = configFrom(fileOf(t, JSON.stringify(file)), {})
  assert.ok(!JSON.stringify(made).includes('0123456789'), made.text)
  assert.ok(made.notes.some(({ advice }) => advice.includes('replaced by ***')))
})

/** Names that people give, and names that no configuration may have. */
const NAMES = [
  ...['deepseek', 'gemini', 'groq', 'groq2', 'groq-api', 'openai', 'vllm', 'auto', 'a/b', 'openai/', '/x'],
  ...['__proto__', 'constructor', 'ünï cödé', '*', '$X', '#', 'deep seek', 'true', '12', '-', 'ollama'],
]
const ADDRESS_FORMS = [
  ...['http://localhost:11434', 'https://h.example/v1/chat/completions', 'https://h.example/v1/rerank'],
  ...['localhost:8000', 'ftp://h.example', 'https://', 'https://h.example/v1/messages', 'nonsense'],
]

/** Returns the next of the values, in an order that repeats. */
function picker(seed: number) {
  let state = seed
  return <Value>(values: readonly Value[]): Value => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return values[(state >> 8) % values.length]!
  }
}

const NUMBERS = [0, -1, 0.5, 1e9, 1e30, '7', 'x', null, 3]
const odd = {
  litellm: (pick: ReturnType<typeof picker>) => ({
    model_list: Array.from({ length: 5 }, () => ({
      model_name: pick(NAMES),
      litellm_params: {
        model: pick([
          `${pick(NAMES)}/${pick(NAMES)}`,
          pick(NAMES),
          'bedrock/anthropic.claude',
          'vertex_ai/gemini',
        ]),
        api_key: pick(['os.environ/MY-KEY', 'os.environ/1KEY', 'os.environ/K', SECRET]),
        ...{ weight: pick(NUMBERS), rpm: pick(NUMBERS), order: pick(NUMBERS), temperature: pick(NUMBERS) },
        ...{
          input_cost_per_token: pick(NUMBERS),
          output_cost_per_token: pick(NUMBERS),
          aws_region_name: pick(NAMES),
        },
        ...pick([{}, { api_base: pick(ADDRESS_FORMS) }]),
      },
      model_info: pick([{}, { mode: pick(['embedding', 'image_generation', 'x']) }]),
    })),
    router_settings: {
      routing_strategy: pick(['simple-shuffle', 'least-busy', 'x']),
      ...{ cooldown_time: pick(NUMBERS), model_group_alias: { [pick(NAMES)]: pick(NAMES) } },
      fallbacks: [{ [pick(NAMES)]: [pick(NAMES), pick(NAMES)] }],
    },
    litellm_settings: {
      ...{ request_timeout: pick(NUMBERS), stream_timeout: pick(NUMBERS), cache: true },
      ...{ cache_params: { ttl: pick(NUMBERS) }, default_fallbacks: [pick(NAMES)] },
    },
    general_settings: { master_key: pick([SECRET, 'os.environ/NONE']), max_budget: pick(NUMBERS) },
  }),
  'claude-code-router': (pick: ReturnType<typeof picker>) => {
    const names = Array.from({ length: 4 }, () => pick(NAMES))
    const target = () => pick([`${pick(names)},${pick(NAMES)}`, `${pick(names)},`, pick(NAMES)])
    return {
      Providers: names.map((name) => ({
        ...{ name, api_base_url: pick(ADDRESS_FORMS), api_key: pick(['$1K', '$K', '$K-2', SECRET]) },
        transformer: { use: [pick(['gemini', 'Anthropic', 'x'])] },
      })),
      Router: {
        ...{ default: target(), background: target(), think: target(), longContext: target() },
        longContextThreshold: pick(NUMBERS),
      },
      ...{
        HOST: pick(['0.0.0.0', 'my host', '::1', 7]),
        PORT: pick(NUMBERS),
        APIKEY: pick([SECRET, '$NONE', '']),
      },
      API_TIMEOUT_MS: pick(NUMBERS),
    }
  },
  'one-api': (pick: ReturnType<typeof picker>) =>
    Array.from({ length: 5 }, (_, id) =>
      channel({
        ...{
          id,
          name: pick(NAMES),
          type: pick([1, 8, 14, 24, 30, 36]),
          base_url: pick(['', ...ADDRESS_FORMS]),
        },
        ...{ models: `${pick(NAMES)},${pick(NAMES)}`, weight: pick(NUMBERS), priority: pick(NUMBERS) },
        model_mapping: JSON.stringify({ [pick(NAMES)]: pick(NAMES) }),
      }),
    ),
}
for (const [format, fileWith] of Object.entries(odd))
  test(`no file of ${format} becomes a configuration that the gateway refuses`, (t) => {
    let made = 0
    for (let seed = 1; seed <= 150; seed++) {
      const given = JSON.stringify(fileWith(picker(seed)))
      let from: FromFile
      try {
        from = configFrom(fileOf(t, given), {})
      } catch (error) {
        assert.match(
          (error as Error).message,
          /^nothing in .* could be carried over: |cannot be a name/,
          given,
        )
        continue
      }
      const env = Object.fromEntries(from.variables.map((name) => [name, 'any']))
      const { config } = parseConfig(from.text, 'waybill.yaml', { env })
      assert.ok(config.keys.length > 0 || /^(127|::1|localhost)/.test(config.server.host), given)
      made++
    }
    assert.ok(made > 75, `${made} files were converted`)
  })

test('a route with the name of a provider is kept, and the provider gets a name that is free', (t) => {
  const models = (pairs: readonly (readonly [string, string])[]) =>
    JSON.stringify({
      model_list: pairs.map(([model_name, model]) => ({
        model_name,
        litellm_params: { model, api_key: 'os.environ/K' },
      })),
    })
  for (const [pairs, routes, providers] of [
    [[['deepseek', 'deepseek/chat']], ['deepseek'], ['deepseek-api']],
    [[['groq2', 'groq/m']], ['groq2'], ['groq']],
    [
      [
        ['groq', 'groq/m'],
        ['groq-api', 'mistral/m'],
      ],
      ['groq', 'groq-api'],
      ['mistral', 'groq-api-2'],
    ],
    [[['groq/fast', 'groq/m']], ['groq/fast'], ['groq-api']],
  ] as const) {
    const { text } = configFrom(fileOf(t, models(pairs)), {})
    const made = parse(text)
    assert.deepEqual([Object.keys(made.routes), Object.keys(made.providers)], [routes, providers])
  }
})

test('a written file that the gateway refuses is reported first, with its name, and the exit code is 1', async (t) => {
  const names = Array.from({ length: 160 }, (_, n) => `m${n}`)
  const source = fileOf(
    t,
    JSON.stringify({
      model_list: names.map((name) => ({ model_name: name, litellm_params: { model: `openai/${name}` } })),
      litellm_settings: { default_fallbacks: names },
    }),
  )
  const written = join(temporaryDirectory(t), 'o.yaml')
  const { code, stdout, stderr } = await runCli(['init', written, '--from', source])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^waybill: \S+o\.yaml was written, but the gateway refuses it; mend \S+o\.yaml: .*\n$/)
})
