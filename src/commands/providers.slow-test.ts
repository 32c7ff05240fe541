// Providers without knowledge of YAML: the real commands in an empty home, with small servers on loopback that behave like
// Ollama, LM Studio, a company's gateway and an Anthropic-compatible server.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { suite, type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { CLI, ENVIRONMENT, freePort, runCli, startCli, startServer } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'OK' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
}
const MESSAGE = {
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'OK' }] },
  ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 9, output_tokens: 2 } },
}

/** Starts a server that has these lists, needs this key, and answers calls. */
async function server(t: TestContext, lists: Readonly<Record<string, unknown>>, key?: string, port = 0) {
  const asked: string[] = []
  const isAllowed = ({ headers }: IncomingMessage) =>
    key === undefined || headers.authorization === `Bearer ${key}` || headers['x-api-key'] === key
  const http = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const calls = { '/v1/chat/completions': COMPLETION, '/v1/messages': MESSAGE }
    const answers: Readonly<Record<string, unknown>> = request.method === 'GET' ? lists : calls
    const isShow = request.method === 'POST' && request.url === '/api/show'
    const shown =
      isShow && (lists['/api/show'] as Record<string, object>)?.[JSON.parse(await text(request)).model]
    const found = shown || answers[request.url!]
    const status = isAllowed(request) ? (found ? 200 : 404) : 401
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}))
  }).listen(port, '127.0.0.1')
  await once(http, 'listening')
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  return { asked, address: `127.0.0.1:${(http.address() as AddressInfo).port}` }
}

const openAi = (ids: readonly string[], owner = 'library') => ({
  object: 'list',
  data: ids.map((id) => ({ id, object: 'model', created: 1, owned_by: owner })),
})
const OLLAMA = {
  '/api/tags': { models: [{ name: 'qwen3:8b' }, { name: 'nomic-embed-text:latest' }] },
  '/v1/models': openAi(['nomic-embed-text:latest', 'qwen3:8b']),
}
/** An answer of Ollama's /api/show. The second length is the one before an extension, and no window. */
const shown = (length: number, parameters?: string) => ({
  ...(parameters && { parameters }),
  details: { family: 'qwen3' },
  model_info: {
    'general.architecture': 'qwen3',
    'qwen3.context_length': length,
    'qwen3.rope.scaling.original_context_length': 7,
  },
})
const LM_STUDIO = {
  '/v1/models': openAi(['gemma', 'bge-small']),
  '/api/v0/models': {
    object: 'list',
    data: [
      { id: 'bge-small', type: 'embeddings', max_context_length: 512 },
      { id: 'gemma', type: 'llm', max_context_length: 131_072, loaded_context_length: 8_192 },
    ],
  },
}
const ANTHROPIC = {
  '/v1/models': {
    data: [{ id: 'claude-x', type: 'model', display_name: 'X' }],
    first_id: 'claude-x',
    has_more: false,
  },
}

const emptyHome = (t: TestContext, env: Readonly<Record<string, string>> = {}) => {
  const directory = temporaryDirectory(t)
  const options = { cwd: directory, env: { HOME: directory, ...env } }
  const typed = async (args: readonly string[], text: string) => {
    const { child, ended } = startCli(args, options)
    child.stdin.end(text)
    return ended
  }
  const config = () => readFileSync(join(directory, 'waybill.yaml'), 'utf8')
  return { directory, options, typed, config }
}
const NO_CALLS = (asked: readonly string[]) =>
  assert.deepEqual(
    asked.filter((each) => !/^GET |^POST \/api\/show$/.test(each)),
    [],
  )

suite('providers', () => {
  test('three commands lead from nothing to a call at a local model, which costs nothing', async (t) => {
    const ollama = await server(t, OLLAMA)
    const { directory, options, config } = emptyHome(t, { OLLAMA_HOST: ollama.address })
    const init = await runCli(['init', '--provider', 'ollama'], options)
    assert.deepEqual([init.code, init.stderr], [0, ''])
    assert.match(init.stdout, /✓ ollama: 2 models, qwen3:8b first\nWritten: waybill\.yaml/)
    NO_CALLS(ollama.asked)
    const written = parse(config())
    assert.deepEqual(written.providers.ollama, {
      dialect: ['chat', 'embeddings'],
      base_url: `http://${ollama.address}/v1`,
    })
    const price = { input: 0, output: 0 }
    assert.deepEqual(written.models, {
      'ollama/qwen3:8b': { price },
      'ollama/nomic-embed-text:latest': { type: 'embedding', price },
    })
    const gateway = await startServer(t, ['serve', '--port', '0'], options)
    const script = `fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'hi' }] }) }).then(async (r) => console.log(r.status, await r.text()))`
    const call = await runCli(['run', '--url', gateway.url, '--', process.execPath, '-e', script], options)
    assert.match(call.stdout, /^200 /, call.stderr)
    const { stdout } = await runCli(['export', '--url', gateway.url, '--format', 'json'], options)
    assert.deepEqual(
      JSON.parse(stdout).map((each: { cost_usd: number }) => each.cost_usd),
      [0],
    )
    assert.equal(existsSync(join(directory, 'keys.env')), false)
  })

  test('on a terminal, `waybill run` alone leads from nothing to a call at a local model', {
    skip: !existsSync('/usr/bin/script'),
  }, async (t) => {
    if (await fetch('http://127.0.0.1:4949/healthz').catch(() => null)) return t.skip('a gateway runs here')
    const ollama = await server(t, OLLAMA)
    const { directory, options } = emptyHome(t, { OLLAMA_HOST: ollama.address })
    const agent = `await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "auto", messages: [] }) }).then((r) => console.log("agent got", r.status))`
    const words = [process.execPath, CLI, 'run', '--', process.execPath, '--input-type=module', '-e', agent]
    const child = spawn(
      '/usr/bin/script',
      ['-qec', words.map((word) => `'${word}'`).join(' '), '/dev/null'],
      {
        ...{
          cwd: directory,
          env: { ...ENVIRONMENT, ...options.env, WAYBILL_PORT: String(await freePort()) },
        },
      },
    )
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (part) => {
      shown += part
      if (part.includes('> ')) child.stdin.write('\n')
    })
    assert.deepEqual(await once(child, 'close'), [0, null], shown)
    assert.match(
      shown,
      /Found here: ollama at .*Written: \S+\.config\/waybill\/waybill\.yaml.*agent got 200/s,
    )
    assert.deepEqual(
      ollama.asked.filter((each) => each.startsWith('POST /v1')),
      ['POST /v1/chat/completions'],
    )
    assert.equal(
      existsSync(join(directory, 'waybill.yaml')),
      false,
      'nothing is written where the agent works',
    )
  })

  const WINDOWS: Readonly<
    Record<string, readonly [more: object, window: number | undefined, said: RegExp | null]>
  > = {
    'in force, if it is loaded': [
      {
        '/api/ps': { models: [{ name: 'qwen3:8b', context_length: 65_536 }] },
        '/api/show': { 'qwen3:8b': shown(262_144, 'num_ctx 9000') },
      },
      65_536,
      null,
    ],
    'in force and short': [
      { '/api/ps': { models: [{ name: 'qwen3:8b', context_length: 4_096 }] } },
      4_096,
      /has a window of 4,096 tokens, which is short for a coding agent/,
    ],
    'of its Modelfile': [
      {
        '/api/ps': { models: [] },
        '/api/show': {
          'qwen3:8b': shown(262_144, 'stop "<x>"\nnum_ctx                        50000\ntop_k 20'),
        },
      },
      50_000,
      null,
    ],
    'of its Modelfile, but no longer than the model allows': [
      { '/api/show': { 'qwen3:8b': shown(40_960, 'num_ctx 64000') } },
      40_960,
      /has a window of 40,960 tokens, which is short for a coding agent/,
    ],
    'the longest, if nothing is set': [
      { '/api/show': { 'qwen3:8b': shown(40_960) } },
      40_960,
      /at most 40,960 tokens\. Ollama uses a shorter one by default, .*OLLAMA_CONTEXT_LENGTH=64000\n/,
    ],
    'unknown in an older Ollama': [
      { '/api/show': { 'qwen3:8b': { model_info: { 'qwen3.context_length': 'x' } } } },
      undefined,
      null,
    ],
  }
  for (const [title, [more, window, said]] of Object.entries(WINDOWS))
    test(`the window of a model of Ollama is ${title}`, async (t) => {
      const ollama = await server(t, { ...OLLAMA, ...more })
      const { options, config } = emptyHome(t, { OLLAMA_HOST: ollama.address })
      const { code, stdout, stderr } = await runCli(['init', '--provider', 'ollama'], options)
      assert.deepEqual([code, stderr], [0, ''])
      assert.equal(parse(config()).models['ollama/qwen3:8b'].context, window)
      if (said) assert.match(stdout, said)
      else assert.doesNotMatch(stdout, /window/)
      NO_CALLS(ollama.asked)
    })

  test('`init` writes the window that a server tells, and its rule for background calls is valid', async (t) => {
    const lmStudio = await server(t, LM_STUDIO)
    const vllm = await server(t, {
      '/v1/models': { object: 'list', data: [{ id: 'org/m', owned_by: 'vllm', max_model_len: 4_096 }] },
    })
    const llama = await server(t, {
      '/v1/models': {
        object: 'list',
        data: [{ id: 'g.gguf', owned_by: 'llamacpp', meta: { n_ctx_train: 2_048 } }],
      },
    })
    const { options, config, directory } = emptyHome(t)
    const words = [
      `studio=http://${lmStudio.address}/v1`,
      `v=http://${vllm.address}`,
      `l=http://${llama.address}/v1/`,
    ]
    const { code, stderr } = await runCli(['init', '--provider', words.join()], options)
    assert.deepEqual([code, stderr], [0, ''])
    const { models, providers } = parse(config())
    assert.equal(providers.v.base_url, `http://${vllm.address}/v1`)
    assert.equal(models['v/org/m'].context, 4_096)
    assert.equal(models['l/g.gguf'].context, 2_048)
    for (const { asked } of [lmStudio, vllm, llama]) NO_CALLS(asked)
    const ruled = join(directory, 'ruled.yaml')
    writeFileSync(
      ruled,
      config()
        .replace(/^( +)# (rules: .*)$/m, '$1$2')
        .replace(/^#( +- )/m, ' $1'),
    )
    assert.match(readFileSync(ruled, 'utf8'), /^ {4}rules: /m)
    assert.equal((await runCli(['config', 'check', '-c', ruled], options)).code, 0)
  })

  test('a local server on its usual port is found, and a program that is none is not', async (t) => {
    const ports = await Promise.all(
      [
        [1_234, LM_STUDIO],
        [8_000, { '/v1/models': openAi(['x'], 'someone') }],
      ].map(([port, lists]) =>
        server(t, lists as typeof LM_STUDIO, undefined, port as number).catch(() => null),
      ),
    )
    if (ports.includes(null)) return t.skip('a port is in use')
    const { options } = emptyHome(t, { OLLAMA_HOST: '127.0.0.1:9' })
    const { code, stderr } = await runCli(['init'], options)
    assert.equal(code, 2)
    assert.match(stderr, /no terminal for questions; give --provider, such as --provider lm-studio\n$/)
    const quiet = await runCli(['init', '--no-check'], options)
    assert.match(quiet.stderr, /such as --provider openai,groq/)
    const made = await runCli(['init', '--provider', 'lm-studio'], options)
    assert.match(made.stdout, /✓ lm-studio: 2 models, gemma first/)
    assert.equal(
      parse(readFileSync(join(options.cwd, 'waybill.yaml'), 'utf8')).models['lm-studio/gemma'].context,
      8_192,
    )
    for (const each of ports) NO_CALLS(each!.asked)
  })

  test('without the server, a local preset is refused with what to do, and with a model it is written unasked', async (t) => {
    const { options, config } = emptyHome(t, { OLLAMA_HOST: '127.0.0.1:9' })
    const refused = await runCli(['init', '--provider', 'ollama'], options)
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /ollama: without its list of models, no model is known; start it/)
    assert.equal(existsSync(join(options.cwd, 'waybill.yaml')), false)
    assert.equal((await runCli(['init', '--provider', 'ollama/qwen3:8b', '--no-check'], options)).code, 0)
    assert.deepEqual(parse(config()).routes.auto.targets, [{ model: 'ollama/qwen3:8b' }])
  })

  test('`provider add` keeps comments and the key, finds the dialect, and adds a target; list and test follow', async (t) => {
    const key = 'sk-of-the-company-0123'
    const [ollama, company, claude] = [
      await server(t, OLLAMA),
      await server(t, { '/v1/models': openAi(['big', 'small']) }, key),
      await server(t, ANTHROPIC, key),
    ]
    const { options, config, typed, directory } = emptyHome(t, { OLLAMA_HOST: ollama.address })
    await runCli(['init', '--provider', 'ollama'], options)
    const before = config()
    const added = await typed(
      [
        'provider',
        'add',
        `company=http://${company.address}`,
        '--key-env',
        'COMPANY_KEY',
        '--stdin',
        '--route',
        'auto',
      ],
      `${key}\n`,
    )
    assert.deepEqual([added.code, added.stderr], [0, ''])
    assert.match(
      added.stdout,
      /✓ company: 2 models\nCOMPANY_KEY is kept in keys\.env\.\nAdded to waybill\.yaml: company/,
    )
    const other = await typed(
      ['provider', 'add', `c=http://${claude.address}`, '--key-env', 'C', '--stdin', '--route', 'new'],
      key,
    )
    assert.equal(other.code, 0, other.stderr)
    const { providers, routes } = parse(config())
    assert.deepEqual(providers.c, { dialect: 'messages', base_url: `http://${claude.address}`, key: '$C' })
    assert.deepEqual(routes.auto.targets, [{ model: 'ollama/qwen3:8b' }, { model: 'company/big' }])
    assert.deepEqual(routes.new.targets, [{ model: 'c/claude-x' }])
    for (const line of before.split('\n')) assert.ok(config().split('\n').includes(line), line)
    assert.ok(!(config() + added.stdout + other.stdout).includes(key))
    const again = await typed(['provider', 'add', `c=http://${claude.address}`], '')
    assert.deepEqual([again.code, /has a provider c already/.test(again.stderr)], [2, true])

    const list = await runCli(['provider', 'list'], { ...options, env: { ...options.env, C: 'x' } })
    assert.match(
      list.stdout,
      /ollama .*none needed\ncompany .*COMPANY_KEY, in keys\.env\nc +messages .*C, in the environment\n$/,
    )
    const tested = await runCli(['provider', 'test'], options)
    assert.equal(tested.code, 0, tested.stdout + tested.stderr)
    for (const { asked } of [ollama, company, claude]) NO_CALLS(asked)
    // Without a running gateway, and then through it.
    const alone = await runCli(['provider', 'test', 'c', '--live'], options)
    assert.match(alone.stdout, /^✓ c: claude-x answered in \d+ ms, 9 \+ 2 tokens, at an unknown price\n$/)
    const free = await runCli(['provider', 'test', 'ollama', '--live'], options)
    assert.match(free.stdout, /9 \+ 2 tokens, \$0(\.0+)?\n$/)
    assert.equal(claude.asked.filter((each) => each === 'POST /v1/messages').length, 1)
    const gateway = await startServer(t, ['serve', '--port', '0'], options)
    const there = { ...options, env: { ...options.env, WAYBILL_PORT: new URL(gateway.url).port } }
    const through = await runCli(['provider', 'test', 'c', '--live'], there)
    assert.match(through.stdout, /^✓ c: claude-x answered/)
    const { stdout } = await runCli(['export', '--format', 'json'], there)
    assert.equal(JSON.parse(stdout).length, 3, 'all calls are on record')
    const bad = await runCli(['provider', 'test', 'company'], {
      ...options,
      env: { ...options.env, COMPANY_KEY: 'no' },
    })
    assert.deepEqual([bad.code, bad.stdout], [1, '✗ company: 401; it does not accept the key\n'])
    assert.ok(existsSync(join(directory, 'keys.env')))
  })

  test('a provider’s key can come from a command, and a wrong edit writes nothing', async (t) => {
    const { options, config } = emptyHome(t)
    await runCli(['init', '--provider', 'openai', '--no-check'], options)
    const before = config()
    const added = await runCli(
      ['provider', 'add', 'groq', '--command', 'pass show groq', '--no-check', '--route', 'auto/cheap'],
      options,
    )
    assert.equal(added.code, 0, added.stderr)
    assert.deepEqual(parse(config()).providers.groq.keys, [
      { name: 'main', command: ['pass', 'show', 'groq'] },
    ])
    const now = config()
    for (const args of [
      ['groqq'],
      ['x=https://user:pw@h.example'],
      ['mistral', '--dialect', 'telepathy'],
      ['mistral', '--route', 'openai/x', '--no-check'],
    ]) {
      const { code, stderr } = await runCli(['provider', 'add', ...args], options)
      assert.equal(code, 2, args.join(' '))
      assert.doesNotMatch(stderr, /user:pw/)
    }
    assert.equal(config(), now)
    assert.notEqual(now, before)
  })

  test('`init --keep` keeps the keys of the environment, so that a new terminal needs none', async (t) => {
    const { options, config, directory } = emptyHome(t)
    const shell = {
      ...options,
      env: { ...options.env, OPENAI_API_KEY: 'sk-of-the-shell', GROQ_API_KEY: 'gsk-1' },
    }
    const { stdout } = await runCli(['init', '--provider', 'openai', '--keep', '--no-check'], shell)
    assert.match(stdout, /OPENAI_API_KEY is kept in keys\.env\./)
    assert.match(readFileSync(join(directory, 'keys.env'), 'utf8'), /\nOPENAI_API_KEY=sk-of-the-shell\n$/)
    assert.ok(!(stdout + config()).includes('sk-of-the-shell'))
    assert.equal((await runCli(['config', 'check'], options)).code, 0)
  })
})
