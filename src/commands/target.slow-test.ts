// `waybill target check` and `waybill target init` as a user runs them, with a small gateway other than
// Waybill.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, describe, test } from 'node:test'
import { parse } from 'yaml'
import { readTarget } from '../../conformance/target/read.ts'
import { runCli } from '../test/test-cli.ts'
import { sample } from '../test/test-size.ts'

const root = mkdtempSync(join(tmpdir(), 'waybill-target-command-'))
after(() => rmSync(root, { recursive: true, force: true }))

async function waybill(...args: string[]) {
  const { code, stdout: out, stderr: err } = await runCli(['target', ...args])
  return { code, out, err }
}

/** Relays calls, names itself in a header, and writes a log in its own format. */
const GATEWAY = join(root, 'gateway.cjs')
writeFileSync(
  GATEWAY,
  `const { createServer, request } = require('node:http')
const rows = []
createServer((q, r) => {
  if (q.method === 'GET') return r.end(JSON.stringify(q.url === '/log' ? { result: { rows } } : { object: 'list', data: [] }))
  if (q.headers['x-team'] !== (process.env.TEAM || undefined)) return r.writeHead(400).end('{"error":{"message":"no team"}}')
  let body = ''
  q.on('data', (piece) => (body += piece)).on('end', () => {
    const { model, stream } = JSON.parse(body)
    if (stream && process.env.BROKEN) return r.writeHead(500).end('{"error":{"message":"streams are broken today"}}')
    const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.KEY }
    request(process.env.UPSTREAM + '/chat/completions', { method: 'POST', headers }, (answer) => {
      if (stream) return answer.pipe(r.writeHead(answer.statusCode, answer.headers))
      let text = ''
      answer.on('data', (piece) => (text += piece)).on('end', () => {
        const id = 'call-' + (rows.length + 1)
        const usage = JSON.parse(text).usage
        rows.unshift({ call_id: id, asked: model, went: { provider: 'openai', model }, tokens: [usage.prompt_tokens], in: usage.prompt_tokens, out: usage.completion_tokens })
        r.writeHead(answer.statusCode, { 'content-type': 'application/json', 'x-call': id, 'x-model': model })
        r.end(text)
      })
    }).end(body)
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
`,
)
const START = `UPSTREAM={{mock.openai.base_url}} KEY={{mock.openai.key}} {{node}} ${GATEWAY} {{port}}`

test('`waybill target init` tests the answers, finds the fields in the log, and writes a file that `target check` accepts', async () => {
  const file = join(root, 'mine.yaml')
  const { code, out, err } = await waybill(
    ...['init', file, '--start', START.replace(GATEWAY, relative('.', GATEWAY)), '--call', 'gpt-5-mini'],
    ...['--headers', 'model=x-model,request_id=x-call', '--log', '/log'],
  )
  assert.equal(err, '')
  assert.equal(code, 0)
  assert.match(out, /✓ a call for "gpt-5-mini" reached the mock as openai\/gpt-5-mini/)
  assert.match(out, /✓ the log: records at "\/result\/rows"/)
  const text = readFileSync(file, 'utf8')
  const [first = ''] = text.split('\n')
  assert.match(first, /^# yaml-language-server: \$schema=.*docs\/target\.schema\.json$/)
  assert.ok(existsSync(join(root, first.split('$schema=')[1]!)))
  const { name, observability, models } = parse(text)
  assert.equal(name, 'gateway')
  assert.equal(parse(text).start.command[1], GATEWAY, 'what lies here is named by its whole path')
  assert.deepEqual(observability.log, {
    path: '/log',
    list: '/result/rows',
    fields: {
      id: '/call_id',
      requested_model: '/asked',
      provider: '/went/provider',
      model: '/went/model',
      input_tokens: '/in',
      output_tokens: '/out',
    },
  })
  assert.deepEqual(models.direct, [{ id: 'gpt-5-mini', provider: 'openai', model: 'gpt-5-mini' }])
  assert.ok(readTarget(file))

  const checked = await waybill('check', file)
  assert.equal(checked.err, '')
  assert.equal(checked.code, 0)
  assert.match(checked.out, /✓ header x-call \(request_id\) is "call-1"/)
  assert.match(checked.out, /✓ the log, GET \/log: 1 records; in the first one all fields are there/)
  assert.match(checked.out, /\d+ of \d+ requirements apply:\n.* LOG-01 LOG-02 /)
  assert.match(checked.out, /\n {2}observability\.log\.attempts: LOG-07\n/)
  assert.match(checked.out, /\nNext: waybill conform \S+mine\.yaml --profile observable --report report\n$/)
})

test('`waybill target init` also tries a streamed call and shows its answer', async () => {
  const file = join(root, 'streams.yaml')
  const good = await waybill(
    'init',
    file,
    '--start',
    START,
    '--call',
    'gpt-5-mini',
    '--read',
    '/models,/v1/models',
  )
  assert.match(good.out, /✓ a streamed call: 200, \d+ characters of text, 1 \[DONE\]/)
  const broken = await waybill(
    'init',
    join(root, 'broken.yaml'),
    '--start',
    `BROKEN=1 ${START}`,
    '--call',
    'gpt-5-mini',
  )
  assert.match(broken.out, /✗ a streamed call was answered with 500 .*streams are broken today/)
  const checked = await waybill('check', join(root, 'broken.yaml'))
  assert.equal(checked.code, 1)
  assert.match(checked.out, /✗ a streamed call was answered with 500 .*streams are broken today/)
})

test('`waybill target init` finds the dialect of a gateway that does not serve chat, and declares no path that is not there', async () => {
  const gateway = join(root, 'messages.mjs')
  writeFileSync(
    gateway,
    `import { createServer } from 'node:http'
    import { text } from 'node:stream/consumers'
    createServer(async (q, r) => {
      if (q.url === '/health') return r.end('{}')
      if (q.url !== '/v1/messages') return r.writeHead(404).end('{}')
      const { model, messages } = JSON.parse(await text(q))
      const headers = { authorization: 'Bearer ' + process.env.KEY, 'content-type': 'application/json' }
      const body = JSON.stringify({ model, messages: messages.map(({ role, content }) => ({ role, content: typeof content === 'string' ? content : content[0].text })) })
      const answer = await (await fetch(process.env.UPSTREAM + '/chat/completions', { method: 'POST', headers, body })).json()
      const usage = { input_tokens: 1, output_tokens: 1 }
      r.writeHead(200, { 'content-type': 'application/json' })
      r.end(JSON.stringify({ id: 'msg_1', type: 'message', role: 'assistant', model, content: [{ type: 'text', text: answer.choices[0].message.content }], stop_reason: 'end_turn', stop_sequence: null, usage }))
    }).listen(Number(process.argv[2]), '127.0.0.1')`,
  )
  const file = join(root, 'messages.yaml')
  const start = `UPSTREAM={{mock.openai.base_url}} KEY={{mock.openai.key}} {{node}} ${gateway} {{port}}`
  const { out } = await waybill('init', file, '--start', start, '--call', 'gpt-5-mini', '--ready', '/health')
  assert.match(out, /✓ a call for "gpt-5-mini" reached the mock/)
  assert.match(out, /✗ GET \/v1\/models: 404\n/)
  assert.match(out, / {4}\/v1\/models is not there, so the file does not name it\n/)
  assert.match(out, /✓ it serves messages, and not chat/)
  const { dialects, capabilities } = readTarget(file)
  assert.deepEqual(dialects, { chat: false, messages: { counts: false } })
  assert.deepEqual([capabilities.catalog, capabilities.read_paths], [undefined, []])
})

test('`waybill target init` accepts a name, request headers and a readiness path', async () => {
  const file = join(root, 'headers.yaml')
  const { code, out } = await waybill(
    ...['init', file, '--start', `TEAM=blue ${START}`, '--call', 'gpt-5-mini', '--name', 'My gateway'],
    ...['--header', 'x-team: blue', 'x-other: a: b', '--ready', '/health', '--read', '/v1/models'],
  )
  assert.equal(code, 0, out)
  const { name, headers, ready, capabilities } = parse(readFileSync(file, 'utf8'))
  assert.deepEqual(
    { name, headers, ready },
    { name: 'My gateway', headers: { 'x-team': 'blue', 'x-other': 'a: b' }, ready: { path: '/health' } },
  )
  assert.deepEqual(capabilities.read_paths, ['/v1/models'])
  assert.equal((await waybill('check', file)).code, 0)
  const wrong = await waybill(
    'init',
    join(root, 'none.yaml'),
    '--start',
    START,
    '--call',
    'm',
    '--header',
    'blue',
  )
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /--header: write NAME: VALUE/)
})

test('if the gateway differs from the file, `waybill target check` reports where, and exits with 1', async () => {
  const file = join(root, 'wrong.yaml')
  const [upstream, key, ...command] = START.split(' ')
  writeFileSync(
    file,
    JSON.stringify({
      name: 'mine',
      start: { command },
      env: { UPSTREAM: upstream!.slice(9), KEY: key!.slice(4) },
      providers: { openai: {} },
      models: { call: 'gpt-5-mini' },
      observability: {
        headers: { model: 'x-call', provider: 'x-provider' },
        log: { path: '/log', list: '/data', fields: { id: '/id' } },
      },
      capabilities: { read_paths: ['/v1/models'] },
    }),
  )
  const { code, out } = await waybill('check', file, '--profile', 'core')
  assert.equal(code, 1)
  assert.match(out, /✗ header x-provider \(provider\) is missing/)
  assert.match(out, /✗ header x-call \(model\) is "call-1"/)
  assert.match(out, /✗ the log, GET \/log: 200, no list at "\/data"/)
  assert.match(out, /✓ GET \/v1\/models: 200/)
  assert.match(out, /\n {2}models\.logical: ROUTE-01/)
})

describe('each error is one sentence', { concurrency: 2 }, () => {
  const nobody = join(root, 'nobody.yaml')
  writeFileSync(
    nobody,
    'name: x\nstart: { url: http://127.0.0.1:1 }\nready: { path: /, timeout_ms: 500 }\nproviders: { openai: {} }\nmodels: { call: m }\n',
  )
  const withPassword = join(root, 'password.yaml')
  writeFileSync(
    withPassword,
    'name: x\nstart: { url: http://u:pA55@127.0.0.1:1 }\nready: { path: /, timeout_ms: 500 }\nproviders: { openai: {} }\nmodels: { call: m }\n',
  )
  const CASES: readonly [what: string, args: readonly string[], code: number, says: RegExp][] = [
    ['a file that is not there', ['check', join(root, 'nowhere.yaml')], 2, /nowhere\.yaml: no such file/],
    ['a profile that does not exist', ['check', 'x', '--profile', 'gold'], 2, /core, observable/],
    [
      'a mock on every address, of which nobody knows the name',
      ['check', nobody, '--mock-host', '0.0.0.0'],
      2,
      /^waybill: --mock-name: is missing/,
    ],
    [
      'a mock that others may reach, on an address that this machine does not have',
      ['check', nobody, '--mock-host', '192.0.2.1'],
      3,
      /^waybill: warning: the mock listens on 192\.0\.2\.1, so other machines .*\nwaybill: the mock cannot start: /,
    ],
    [
      'a mock on another address of this machine',
      ['check', nobody, '--mock-host', '127.0.0.1', '--mock-name', 'localhost', '--mock-tls'],
      3,
      /^waybill: x is not ready .*ECONNREFUSED/,
    ],
    ['no answers and no terminal', ['init', join(root, 'a.yaml')], 2, /give --start and --call$/m],
    [
      'an address with a password in a target file',
      ['check', withPassword],
      3,
      /^waybill: target file of x: its address must not contain a user(?!.*pA55)/,
    ],
    ['a file that is there already', ['init', GATEWAY], 2, /already exists/],
    [
      'a key in a variable that is not set',
      ['init', join(root, 'k.yaml'), '--start', 'x', '--call', 'm', '--key-env', 'NOT_SET'],
      2,
      /--key-env: the environment variable NOT_SET is not set/,
    ],
    ...[
      ['--start', 'http://user:pA55-of-mine@127.0.0.1:1'],
      ['--start', 'http://127.0.0.1:1/v1?key=pA55-of-mine'],
      ['--start', 'API_KEY=pA55-of-mine gateway'],
      ['--start', 'gateway --api-key pA55-of-mine'],
      ['--start', 'gateway --token=pA55-of-mine'],
      ['--start', 'gateway', '--header', 'authorization: Bearer pA55-of-mine'],
    ].map((options): [string, string[], number, RegExp] => [
      `a credential in ${options.join(' ')}`,
      ['init', join(root, 'c.yaml'), ...options, '--call', 'm'],
      2,
      /^waybill: (?!.*pA55).*(name the variable of the key with --key-env|the name of a variable of your environment)$/m,
    ]),
    [
      'headers that are none',
      ['init', join(root, 'b.yaml'), '--start', 'x', '--call', 'm', '--headers', 'modl=x'],
      2,
      /--headers: write NAME=HEADER/,
    ],
  ]
  for (const [what, args, expected, says] of sample(CASES, 4))
    test(what, async () => {
      const { code, err } = await waybill(...args)
      assert.match(err, says)
      assert.doesNotMatch(err, /\n {4}at /)
      assert.equal(code, expected)
    })
})

test('`waybill target init` writes the file of a command that does nothing, quoted as for a shell', async () => {
  const file = join(root, 'unreachable.yaml')
  const start = `A='[{"b": 1}]' C=["d"] {{node}} -e 'let e = 0' ""`
  const { code, err } = await waybill('init', file, '--start', start, '--call', 'm')
  assert.match(err, /ended before it was ready/)
  assert.equal(code, 3)
  const target = readTarget(file)
  assert.deepEqual(target.start, { command: ['{{node}}', '-e', 'let e = 0', ''] })
  assert.deepEqual(target.env, { A: '[{"b": 1}]', C: '["d"]' })
})

/** Reads its upstream from a configuration file, and relays chat and messages. */
const CONFIGURED = join(root, 'configured.cjs')
writeFileSync(
  CONFIGURED,
  `const { createServer, request } = require('node:http')
const { chat, messages, key, other } = JSON.parse(require('node:fs').readFileSync(process.argv[2], 'utf8'))
createServer((q, r) => {
  if (q.method === 'GET') return r.end(JSON.stringify({ object: 'list', data: [{ id: 'gpt-5-mini' }] }))
  const isMessages = q.url === '/v1/messages'
  if (!isMessages && q.url !== '/v1/chat/completions') return r.writeHead(404).end('{"error":{"message":"no"}}')
  const credential = isMessages ? { 'x-api-key': other, 'anthropic-version': '2023-06-01' } : { authorization: 'Bearer ' + key }
  const to = request(isMessages ? messages + '/messages' : chat + '/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json', ...credential } }, (answer) => answer.pipe(r.writeHead(answer.statusCode, answer.headers)))
  q.pipe(to)
}).listen(Number(process.argv[3]), '127.0.0.1')
`,
)
const CONFIG =
  '{"chat":"{{mock.openai.base_url}}","key":"{{mock.openai.key}}","messages":"{{mock.anthropic.base_url}}","other":"{{mock.anthropic.key}}"}'

test('`waybill target init --file` writes the configuration of the gateway, finds its dialects, and `target check` counts the calls of a run', async () => {
  const file = join(root, 'configured.yaml')
  const { code, out, err } = await waybill(
    ...['init', file, '--start', `{{node}} ${CONFIGURED} conf/gateway.json {{port}}`, '--call', 'gpt-5-mini'],
    ...['--file', `conf/gateway.json=${CONFIG}`],
  )
  assert.equal(err, '')
  assert.equal(code, 0, out)
  assert.match(out, /✓ it also serves messages\n/)
  assert.doesNotMatch(out, /also serves (responses|gemini)/)
  const target = readTarget(file)
  assert.equal(target.files['conf/gateway.json'], CONFIG)
  assert.deepEqual(Object.keys(target.dialects), ['messages'])
  const checked = await waybill('check', file)
  assert.match(checked.out, /A run makes about \d+ calls, and takes about \d+ (s|min)\./)
})

test('`waybill target init --file` reads a file, and refuses a place elsewhere and a credential', async () => {
  const own = join(root, 'own.json')
  writeFileSync(own, CONFIG)
  const init = (name: string, ...file: string[]) =>
    waybill(
      'init',
      join(root, name),
      '--start',
      `{{node}} ${CONFIGURED} gateway.json {{port}}`,
      '--call',
      'gpt-5-mini',
      '--file',
      ...file,
    )
  const read = await init('read.yaml', `gateway.json=@${own}`)
  assert.equal(read.code, 0, read.err)
  for (const [file, message] of [
    ['../gateway.json={}', /in the directory of the gateway/],
    ['/etc/gateway.json={}', /in the directory of the gateway/],
    ['gateway.json', /write NAME=TEXT/],
    [`gateway.json=@${join(root, 'none.json')}`, /--file: ENOENT/],
    ['gateway.json={"api_key":"sk-live-0123456789"}', /gateway\.json: api_key: .* holds no credential/],
    ['gateway.yaml=token: abcdefghijkl', /holds no credential/],
  ] as const) {
    const { code, err } = await init('refused.yaml', file)
    assert.equal(code, 2, file)
    assert.match(err, message)
  }
  for (const text of [
    'max_tokens: 10000000',
    'api_key: os.environ/OPENAI_API_KEY',
    'key: $MY_SECRET_KEY',
    'key: {{env.MY_KEY}}',
  ]) {
    const { err } = await init(`fine-${text.length}.yaml`, `other.yaml=${text}`, `gateway.json=${CONFIG}`)
    assert.doesNotMatch(err, /credential/, text)
  }
})
