// `waybill run` with a fake agent: its environment and arguments, the printed settings, its exit code and
// signals.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLI, ENVIRONMENT, freePort } from '../test/test-cli.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { agentFor, launchOf } from './agent-launch.ts'
import { AGENTS, type LaunchModel } from './agent-table.ts'

const KEY = 'wb-a-key-of-tests'
const CONFIG =
  'routes: { code: { targets: [ { model: alpha/m } ] }, auto: { targets: [ { model: alpha/m } ] } }'

/**
 * Creates a program with this name that stores its arguments and environment, and then runs the given code.
 */
function fakeAgent(t: TestContext, name: string, then = 'exit 0'): string {
  const file = join(temporaryDirectory(t), name)
  writeFileSync(file, `#!/bin/sh\nenv\nfor arg in "$@"; do echo "arg: $arg"; done\n${then}\n`)
  chmodSync(file, 0o755)
  return file
}

function start(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [CLI, 'run', ...args], { env: { ...ENVIRONMENT, ...env } })
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (part) => (said.stdout += part))
  child.stderr.setEncoding('utf8').on('data', (part) => (said.stderr += part))
  return { child, said, closed: once(child, 'close') }
}

const keyed = (t: TestContext) =>
  testGateway(t, {
    config: `${CONFIG}\nkeys: [ { name: k, digest: "sha256:${createHash('sha256').update(KEY).digest('hex')}" } ]`,
  })

/** Returns the environment that the agent's program printed, line by line. */
const environment = (stdout: string): Record<string, string> =>
  Object.fromEntries([...stdout.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]))

test('the agent receives its environment and arguments, its exit code is passed on, and the output contains no key', async (t) => {
  const { url } = await keyed(t)
  const claude = fakeAgent(t, 'claude', 'cat; exit 7')
  const { child, said, closed } = start(
    ['--url', url, '--model', 'code', '--', claude, '-p', 'a b', '--model=x'],
    {
      WAYBILL_KEY: KEY,
      ANTHROPIC_API_KEY: 'of-another-place',
      WAYBILL_SESSION_ID: 'of-another-agent',
    },
  )
  child.stdin.end('what it is told\n')
  assert.deepEqual(await closed, [7, null], said.stderr)
  const env = environment(said.stdout)
  assert.deepEqual(
    [env.ANTHROPIC_BASE_URL, env.ANTHROPIC_AUTH_TOKEN, env.ANTHROPIC_MODEL, env.WAYBILL_URL],
    [url, KEY, 'code', url],
  )
  assert.deepEqual([env.ANTHROPIC_API_KEY, env.WAYBILL_SESSION_ID], [undefined, undefined])
  assert.match(said.stdout, /^arg: -p\narg: a b\narg: --model=x\nwhat it is told\n$/m)
  assert.match(said.stderr, /^waybill: Claude Code; it sends its own session id with every call\n/)
  assert.match(said.stderr, /^ {2}ANTHROPIC_AUTH_TOKEN=\*\*\*$/m)
  assert.ok(!said.stderr.includes(KEY))
})

test('with `--own-login`, Claude Code keeps its login, and the gateway’s key is sent in a separate header after the user’s headers', async (t) => {
  const { url } = await keyed(t)
  const claude = fakeAgent(t, 'claude')
  const { said, closed } = start(['--url', url, '--own-login', '--', claude], {
    WAYBILL_KEY: KEY,
    ANTHROPIC_AUTH_TOKEN: 'would-replace-the-login',
    ANTHROPIC_CUSTOM_HEADERS: 'X-Team: secret-of-the-user',
  })
  assert.deepEqual(await closed, [0, null], said.stderr)
  assert.match(
    said.stdout,
    new RegExp(`^ANTHROPIC_CUSTOM_HEADERS=X-Team: secret-of-the-user\\nX-Gateway-Key: ${KEY}$`, 'm'),
  )
  const env = environment(said.stdout)
  assert.deepEqual(
    [env.ANTHROPIC_BASE_URL, env.ANTHROPIC_AUTH_TOKEN, env.ANTHROPIC_API_KEY],
    [url, undefined, undefined],
  )
  assert.match(said.stderr, /^ {2}ANTHROPIC_CUSTOM_HEADERS=X-Gateway-Key: \*\*\*$/m)
  assert.ok(!said.stderr.includes(KEY) && !said.stderr.includes('secret-of-the-user'))
  const other = start(['--url', url, '--own-login', fakeAgent(t, 'codex')], { WAYBILL_KEY: KEY })
  assert.equal((await other.closed)[0], 2)
  assert.match(other.said.stderr, /--own-login works for claude; .*codex is none of them/)
})

test('an agent that sends no session is given a session for its calls and for the status line', async (t) => {
  const { url } = await testGateway(t, { config: CONFIG })
  const { said, closed } = start(['--url', url, '--quiet', fakeAgent(t, 'copilot')])
  assert.deepEqual(await closed, [0, null], said.stderr)
  const env = environment(said.stdout)
  assert.match(env.WAYBILL_SESSION_ID!, /^[0-9a-f-]{36}$/)
  assert.equal(env.COPILOT_PROVIDER_HEADERS, `X-Gateway-Session-Id: ${env.WAYBILL_SESSION_ID}`)
  assert.equal(env.COPILOT_MODEL, 'auto')
  assert.equal(said.stderr, '')
})

test('`--session` continues a session; an agent that cannot accept a session is not started', async (t) => {
  const { url } = await testGateway(t, { config: CONFIG })
  const first = start(['--url', url, '--session', 'mine-1', fakeAgent(t, 'gemini'), '--resume'])
  assert.deepEqual(await first.closed, [0, null], first.said.stderr)
  assert.equal(environment(first.said.stdout).GEMINI_CLI_CUSTOM_HEADERS, 'X-Gateway-Session-Id: mine-1')
  for (const [program, session, says] of [
    ['claude', 'mine-1', /^waybill: Claude Code sends a session id of its own, also when it resumes/],
    ['aider', 'mine-1', /aider cannot be told a session; --session works for copilot, gemini\n$/],
    ['gemini', 'two words', /--session takes up to 256 letters/],
    ['gemini', '', /--session takes up to 256 letters/],
    ['copilot', 'a\nX-Other: b', /--session takes up to 256 letters/],
  ] as const) {
    const { said, closed } = start(['--url', url, '--session', session, fakeAgent(t, program)])
    assert.deepEqual(await closed, [2, null], said.stderr)
    assert.match(said.stderr, says)
    assert.equal(said.stdout, '')
  }
})

test('a setting that cannot be passed in the environment goes into a file that is deleted afterwards', async (t) => {
  const { url } = await testGateway(t, { config: 'routes: { code: { targets: [ { model: alpha/m } ] } }' })
  const { said, closed } = start([
    '--url',
    url,
    fakeAgent(t, 'qwen', 'cat "$QWEN_CODE_SYSTEM_DEFAULTS_PATH"'),
  ])
  assert.deepEqual(await closed, [0, null], said.stderr)
  const { QWEN_CODE_SYSTEM_DEFAULTS_PATH: file, OPENAI_MODEL } = environment(said.stdout)
  assert.match(said.stdout, /"X-Gateway-Session-Id":"\$\{session_id\}"/)
  assert.equal(OPENAI_MODEL, 'code', 'where there is no `auto`, the first route')
  assert.ok(file && !existsSync(file))
})

test('signals reach the agent, and the exit code shows the signal that ended it', async (t) => {
  const { url } = await testGateway(t, { config: CONFIG })
  const claude = fakeAgent(
    t,
    'claude',
    `trap 'echo asked to end; kill -KILL $$' TERM\necho ready\nwhile :; do sleep 0.05; done`,
  )
  const { child, said, closed } = start(['--url', url, claude])
  while (!said.stdout.includes('ready\n')) await sleep(20)
  child.kill('SIGTERM')
  assert.deepEqual(await closed, [137, null], said.stderr)
  assert.match(said.stdout, /asked to end/)
})

test('if no gateway answers, `run` runs that of the configuration until the agent ends; a named one must answer', async (t) => {
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  const port = await freePort()
  writeFileSync(
    config,
    `server: { port: ${port} }\nproviders: { alpha: { dialect: chat, base_url: http://127.0.0.1:9/v1 } }\nroutes: { auto: { targets: [ { model: alpha/m } ] } }`,
  )
  const url = `http://127.0.0.1:${port}`
  const claude = fakeAgent(t, 'claude', `exec ${process.execPath} "$READ"`)
  const read = join(directory, 'read.mjs')
  writeFileSync(
    read,
    "console.log('ready', (await fetch(process.env.ANTHROPIC_BASE_URL + '/readyz')).status)",
  )
  const { said, closed } = start(['--config', config, claude], { READ: read })
  assert.deepEqual(await closed, [0, null], said.stderr)
  assert.match(said.stdout, /^ready 200$/m)
  assert.ok(
    said.stderr.startsWith(`waybill: no gateway answered, so one runs at ${url} until this agent ends;`),
  )
  await assert.rejects(fetch(url), 'it has ended')
  const named = start(['--config', config, '--url', url, claude])
  assert.deepEqual(await named.closed, [1, null])
  assert.match(named.said.stderr, /^waybill: no gateway answers at /)
  const unwritten = start(['--config', join(directory, 'none.yaml'), claude], { WAYBILL_PORT: String(port) })
  assert.deepEqual(await unwritten.closed, [2, null])
  assert.match(unwritten.said.stderr, /none\.yaml, no gateway, and no terminal for questions; .*waybill init/)
  const missing = start(['--config', config, 'no-such-agent'])
  assert.deepEqual(await missing.closed, [1, null])
  assert.match(missing.said.stderr, /^waybill: no-such-agent was not found; install it/)
  writeFileSync(config, 'routes: { auto: { targets: [] } }')
  const wrong = start(['--config', config, claude])
  assert.deepEqual(await wrong.closed, [2, null])
  assert.match(wrong.said.stderr, /waybill\.yaml:1:/)
})

test('a missing gateway, key or program causes a one-line error', async (t) => {
  const { url } = await keyed(t)
  const claude = fakeAgent(t, 'claude')
  for (const [args, code, says] of [
    [['--url', 'http://127.0.0.1:9', claude], 1, /^waybill: no gateway answers at .+; start it with/],
    [['--url', url, claude], 1, /^waybill: the gateway at .+ requires a key; set WAYBILL_KEY/],
    [['--url', url, '--', '/nowhere/claude'], 1, /\nwaybill: \/nowhere\/claude was not found; install it/],
    [['--url', url], 2, /^waybill: missing required argument 'program'/],
  ] as const) {
    const env: Record<string, string> = args[1] === url && args[2] !== claude ? { WAYBILL_KEY: KEY } : {}
    const { said, closed } = start(args, env)
    assert.deepEqual(await closed, [code, null], said.stderr)
    assert.match(said.stderr, says)
    assert.ok(!said.stdout.includes('arg:'))
  }
})

test('every entry in the agent table is complete, with and without a model', () => {
  const models = [
    { id: 'one', window: 1_050_000, output: 32_000 },
    { id: 'two', window: null, output: null },
  ]
  const [limits, unknown] = models as [LaunchModel, LaunchModel]
  const input = { url: 'http://h:1', key: null, session: 's', models, limits, env: {}, file: '/f' }
  for (const agent of AGENTS)
    for (const model of ['auto', null]) {
      const { set, args, fileText } = launchOf(agent, ['mine'], { ...input, model })
      const all = JSON.stringify([set, args, model !== null && fileText])
      assert.doesNotMatch(all, /\{(url|key|session|models?|window|output|prompt|file)\}/, agent.title)
      assert.equal(JSON.stringify([set, args]).includes('auto'), model !== null, agent.title)
      assert.equal(args.at(-1), 'mine')
      assert.equal('file' in agent, JSON.stringify(agent).includes('{file}'), agent.title)
    }
  const { set } = launchOf(agentFor('opencode'), [], { ...input, model: 'one' })
  const { provider } = JSON.parse(set.OPENCODE_CONFIG_CONTENT!)
  assert.deepEqual(Object.keys(provider.waybill.models), ['one', 'two'])
  const { attachment, modalities, limit } = provider.waybill.models.one
  assert.equal(attachment, true)
  assert.deepEqual(modalities.input, ['text', 'image'], 'it sends no image otherwise')
  assert.deepEqual(limit, { context: 1_050_000, output: 32_000 }, 'it compacts nothing otherwise')
  assert.deepEqual(provider.waybill.models.two.limit, { context: 128_000, output: 16_000 })
  for (const [limits, window] of [
    [models[0]!, ['-c', 'model_context_window=1050000']],
    [unknown, []],
  ] as const) {
    const { args } = launchOf(agentFor('codex'), [], { ...input, limits, model: 'one' })
    assert.deepEqual(args.slice(args.indexOf('model=one') + 1), window)
  }
  assert.equal(agentFor('/usr/local/bin/codex').title, 'Codex')
  assert.deepEqual(agentFor('python').programs, [])
})

test('every agent that has a setting for limits gets those of the smallest target, also of the default route; the user’s own win', async (t) => {
  const { url } = await testGateway(t, {
    config: `models: { alpha/large: { context: 400000, accepts: { output: 128000 } }, alpha/small: { context: 40000, accepts: { output: 9000 } }, alpha/alone: { context: 64000 } }
routes:
  auto: { targets: [ { model: alpha/large }, { model: alpha/small } ] }
  half: { targets: [ { model: alpha/large }, { model: alpha/unknown } ] }
  vague: { targets: [ { model: alpha/unknown } ] }
defaults: { messages: auto, responses: vague }`,
  })
  const told = async (program: string, args: readonly string[], env = {}, then = 'cat "$FILE"') => {
    const { said, closed } = start(['--url', url, ...args, fakeAgent(t, program, then)], env)
    assert.deepEqual(await closed, [0, null], said.stderr)
    return said.stdout
  }
  const claude = async (args: readonly string[], env = {}) => {
    const set = environment(await told('claude', args, env, ''))
    return [
      ...[set.ANTHROPIC_MODEL, set.CLAUDE_CODE_MAX_CONTEXT_TOKENS],
      ...[set.CLAUDE_CODE_AUTO_COMPACT_WINDOW, set.CLAUDE_CODE_MAX_OUTPUT_TOKENS],
    ]
  }
  assert.deepEqual(await claude(['--model', 'auto']), ['auto', '40000', undefined, '9000'])
  assert.deepEqual(await claude([]), ['auto', '40000', undefined, '9000'], 'the default route, by its name')
  assert.deepEqual(
    await claude(['--model', 'alpha/alone']),
    ['alpha/alone', '64000', undefined, '16000'],
    'no route',
  )
  assert.deepEqual(await claude(['--model', 'vague']), ['vague', undefined, undefined, undefined])
  assert.deepEqual(
    await claude(['--model', 'half']),
    ['half', '400000', '400000', '32000'],
    'of those that are known',
  )
  const own = { CLAUDE_CODE_MAX_CONTEXT_TOKENS: '7000' }
  assert.deepEqual(await claude(['--model', 'auto'], own), ['auto', '7000', undefined, '9000'])
  const copilot = environment(await told('copilot', [], {}, ''))
  assert.deepEqual(
    [copilot.COPILOT_PROVIDER_MAX_PROMPT_TOKENS, copilot.COPILOT_PROVIDER_MAX_OUTPUT_TOKENS],
    ['31000', '9000'],
  )
  assert.match(
    await told('qwen', [], {}, 'cat "$QWEN_CODE_SYSTEM_DEFAULTS_PATH"'),
    /"contextWindowSize":40000/,
  )
  assert.match(
    await told('aider', [], {}, 'cat "$AIDER_MODEL_METADATA_FILE"'),
    /"openai\/auto":\{.*"max_input_tokens":40000,"max_output_tokens":9000/,
  )
  assert.match(await told('codex', ['--model', 'auto'], {}, ''), /^arg: model_context_window=40000$/m)
  assert.doesNotMatch(await told('codex', [], {}, ''), /context_window/)
  assert.match(
    await told('opencode', [], {}, ''),
    /"auto":\{[^}]*\}[^}]*"limit":\{"context":40000,"output":9000\}/,
  )
  assert.match(
    await told('pi', [], {}, 'cat "$2"'),
    /"id":"auto"[^\]]*\][^\]]*"contextWindow":40000,"maxTokens":9000/,
  )
})

test('Gemini CLI’s question about the sign-in is announced, unless its settings have the answer', async (t) => {
  const { url } = await testGateway(t, { config: CONFIG })
  const home = temporaryDirectory(t)
  mkdirSync(join(home, '.gemini'))
  const said = async (settings: string | null) => {
    if (settings !== null) writeFileSync(join(home, '.gemini', 'settings.json'), settings)
    const { said, closed } = start(['--url', url, fakeAgent(t, 'gemini')], { HOME: home })
    assert.deepEqual(await closed, [0, null], said.stderr)
    return said.stderr
  }
  const chosen = (selectedType: string) => JSON.stringify({ security: { auth: { selectedType } } })
  assert.match(
    await said(null),
    /^waybill: Gemini CLI will ask how to authenticate: choose "Use Gemini API Key"/,
  )
  assert.match(await said('{}'), /^waybill: Gemini CLI will ask/)
  assert.match(await said('7'), /^waybill: Gemini CLI will ask/)
  assert.match(await said(chosen('oauth-personal')), /^waybill: Gemini CLI signs in another way/)
  assert.match(await said(chosen('gemini-api-key')), /^waybill: Gemini CLI; /)
})

test('at its end on a terminal, `run` says how to resume the session through the gateway', {
  skip: !existsSync('/usr/bin/script'),
}, async (t) => {
  const { url } = await testGateway(t, { config: CONFIG })
  const tail = async (program: string, ...args: string[]) => {
    const command = [process.execPath, CLI, 'run', '--url', url, ...args, '--', fakeAgent(t, program)]
    const child = spawn(
      '/usr/bin/script',
      ['-qec', command.map((word) => `'${word}'`).join(' '), '/dev/null'],
      {
        env: { ...ENVIRONMENT },
      },
    )
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (part) => (output += part))
    await once(child, 'close')
    return output
  }
  assert.match(
    await tail('claude', '--model', 'code'),
    /resume this session through the gateway: waybill run --model code -- \S+claude --resume ID\s*$/,
  )
  assert.match(
    await tail('copilot', '--session', 'mine'),
    /waybill run --session mine -- \S+copilot --resume ID/,
  )
  assert.doesNotMatch(await tail('aider'), /resume/)
})
