// `waybill conform` and `waybill judge` as a user runs them: a process, two streams and an exit code. A target that
// misbehaves never passes, and the output ends in a sentence, never in a stack trace. Over 250 lines, because all
// cases share the helpers that create targets and start the command.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { runCli, startCli } from '../test/test-cli.ts'
import { sample } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'

const path = (from: string): string => fileURLToPath(new URL(from, import.meta.url))
const TARGETS = path('../../conformance/targets')
const root = mkdtempSync(join(tmpdir(), 'waybill-conform-test-'))
after(() => rmSync(root, { recursive: true, force: true }))

async function waybill(...args: string[]) {
  const { code, stdout: out, stderr: err } = await runCli(args)
  return { code, out, err }
}

let files = 0
function write(text: string): string {
  const file = join(root, `${++files}.yaml`)
  writeFileSync(file, text)
  return file
}

/** Writes a target file with this start command as JSON, which is valid YAML. */
const targetFile = (start: object, more: object = {}): string =>
  write(
    JSON.stringify({
      name: 'a-gateway',
      start,
      ready: { path: '/v1/models', timeout_ms: 1_500 },
      providers: { openai: {} },
      models: { direct: [{ id: 'gpt-5-mini', provider: 'openai', model: 'gpt-5-mini' }] },
      ...more,
    }),
  )

/** A program that answers every read; `onCall` is its code for a POST request. */
const program = (onCall: string) => ({
  command: [
    '{{node}}',
    '-e',
    `require('http').createServer((q, r) => { if (q.method === 'POST') { ${onCall} } else r.end('{}') }).listen({{port}}, '127.0.0.1')`,
  ],
})

/** A program that forwards calls to the mock; `first` is code that runs before for any request. */
const relay = (first: string) => ({
  command: [
    '{{node}}',
    '-e',
    `const { request } = require('http')
    require('http').createServer((q, r) => {
      ${first}
      if (q.method !== 'POST') return r.end('{}')
      const headers = { ...q.headers, authorization: 'Bearer {{mock.openai.key}}' }
      q.pipe(request('{{mock.openai.root}}' + q.url, { method: 'POST', headers }, (answer) => {
        r.writeHead(answer.statusCode, answer.headers)
        answer.pipe(r)
      }))
    }).listen({{port}}, '127.0.0.1')`,
  ],
})

/** Starts a server in this process, and returns its address. */
async function serve(t: TestContext, onConnection: (socket: Socket) => void): Promise<{ url: string }> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    onConnection(socket)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function assertSentence(err: string): void {
  assert.match(err, /^waybill: .+\n$/s)
  assert.doesNotMatch(err, /\n\s+at /)
}

describe('a target in trouble is exit code 3 and a sentence', { concurrency: 4 }, () => {
  const CASES: readonly [what: string, (t: TestContext) => Promise<object> | object, says: RegExp][] = [
    ['nothing listens', () => ({ url: 'http://127.0.0.1:1' }), /a-gateway is not ready .+ECONNREFUSED/s],
    ['it accepts and says nothing', (t) => serve(t, () => {}), /a-gateway is not ready/],
    ['it speaks no HTTP', (t) => serve(t, (socket) => socket.end('what?\r\n')), /a-gateway is not ready/],
    [
      'there is no such program',
      () => ({ command: ['no-such-program-here'] }),
      /cannot run no-such-program-here/,
    ],
    [
      'it ends at once',
      () => ({ command: ['{{node}}', '-e', 'console.error("no licence"); process.exit(1)'] }),
      /ended before it was ready\. It printed: no licence/,
    ],
    [
      'it ends with words that steer a terminal',
      () => ({
        command: [
          '{{node}}',
          '-e',
          String.raw`console.error("\u001b[31m\u0007::warning::x\n::error::y"); process.exit(1)`,
        ],
      }),
      /ended before it was ready\. It printed: (?!.*[^\P{Cc}\n])(?!.*::[a-z])/su,
    ],
    [
      'it dies of the first call',
      () => program('process.exit(1)'),
      /the mock did not see the call, so no second/,
    ],
    [
      'it answers the first call with garbage',
      () => program('q.socket.end("!!")'),
      /the mock did not see the call/,
    ],
    ['it never answers the first call', () => program(''), /the mock did not see the call.+no end within/s],
  ]
  for (const [what, begin, says] of sample(CASES, 3))
    test(what, async (t) => {
      const { code, out, err } = await waybill('conform', targetFile(await begin(t)))
      assert.match(err, says)
      assertSentence(err)
      assert.equal(code, 3)
      assert.doesNotMatch(out, /conformant/)
    })

  test('a refused setup request is reported, whether its address is a path below base_url or a full URL', async () => {
    for (const [path, arrives] of [
      ['/setup', '/below/setup'],
      ['http://127.0.0.1:{{port}}/setup?now', '/setup?now'],
      ['http://LOCALHOST:{{port}}/setup', '/setup'],
      ['http://127.0.0.1:0{{port}}', '/'],
    ]) {
      const more = { base_url: 'http://127.0.0.1:{{port}}/below', setup: [{ path }] }
      const file = targetFile(program('r.statusCode = 418; r.end(q.url)'), more)
      const { code, err } = await waybill('conform', file)
      assert.ok(err.endsWith(`: 418: ${arrives}\n`), err)
      assertSentence(err)
      assert.equal(code, 3)
    }
  })

  test("values from the body and headers of one setup request's answer are passed on, and a missing value is named", async () => {
    const gateway = program(
      "r.setHeader('set-cookie', ['session=abc; Path=/; HttpOnly', 'b=c']); if (q.url !== '/in') r.statusCode = 418; r.end(JSON.stringify({ a: 1, of: q.headers.cookie }))",
    )
    const signIn = { path: '/in', keep: { a: '/a' }, keep_headers: { session: 'Set-Cookie' } }
    for (const [setup, says] of [
      [
        [signIn, { path: '/{{a}}', headers: { cookie: '{{session}}' } }],
        /POST \/1: 418: \{"a":1,"of":"session=\[secret:session\]"\}/,
      ],
      [[{ ...signIn, keep: { a: '/b' } }], /POST \/in: nothing at \/b: \{"a":1\}/],
      [[{ ...signIn, keep_headers: { a: 'location' } }], /POST \/in: nothing at location: /],
    ] as const) {
      const { code, err } = await waybill('conform', targetFile(gateway, { setup }))
      assert.match(err, says)
      assertSentence(err)
      assert.equal(code, 3)
    }
  })

  test('an address that is invalid once its placeholders are filled in is an error', async () => {
    for (const more of [
      { setup: [{ path: '{{env.NO_COLOR}}/setup' }] },
      { base_url: 'http://a:{{port}}0' },
    ]) {
      const { code, err } = await waybill('conform', targetFile(program(''), more))
      assert.match(err, /(1\/setup|http:\/\/a:\d+) is not an address/)
      assertSentence(err)
      assert.equal(code, 3)
    }
  })

  test('a key so short that it would match ordinary words is refused (KEEP-01)', async () => {
    // The only variable set here besides PATH has a value of one digit.
    const file = targetFile({ url: 'http://127.0.0.1:1' }, { key_env: 'NO_COLOR' })
    const { code, err } = await waybill('conform', file)
    assert.match(err, /the key in NO_COLOR has fewer than 8 characters/)
    assertSentence(err)
    assert.equal(code, 3)
  })

  test('an error is reported if another program listens on the mock’s port', async (t) => {
    const { url } = await serve(t, () => {})
    const { port } = new URL(url)
    const { code, err } = await waybill('conform', url, '--model', 'x', '--mock-port', port)
    assert.match(err, new RegExp(`the mock cannot start: .+ port ${port}: the port is already in use`))
    assertSentence(err)
    assert.equal(code, 3)
  })

  test('if a gateway dies during the run after an ordinary request, the output says when, and a report is written', async () => {
    const report = join(root, 'died')
    const file = targetFile(relay(`if (q.url === '/gone') process.exit(1)`), {
      capabilities: { catalog: '/v1/models', read_paths: ['/gone'], probe_interval_ms: 0 },
    })
    const args = ['--only', 'FAIL-02', 'PURE-01', 'TELL-05', '--report', report]
    const { code, out, err } = await waybill('conform', file, ...args)
    assert.match(err, /^3 checks, about \d+ s\n$/)
    assert.match(out, /error: a-gateway has been gone since PURE-01: it ended/)
    assert.equal(code, 3)
    assert.ok(existsSync(join(report, 'index.html')))
    assert.match(readFileSync(join(report, 'junit.xml'), 'utf8'), /<error message="a-gateway has been gone/)
  })

  test('if a run does not start, an earlier run in the report directory does not count as its result', async () => {
    const report = mkdtempSync(join(root, 'earlier-'))
    for (const name of ['results.json', 'run.json', 'mine.txt']) writeFileSync(join(report, name), '{}')
    const { code } = await waybill('conform', targetFile({ url: 'http://127.0.0.1:1' }), '--report', report)
    assert.equal(code, 3)
    assert.deepEqual(readdirSync(report), ['mine.txt'])
  })

  test('if the process that started the run ends first, the run still finishes and leaves no process behind', async () => {
    const pidFile = join(root, 'pid-below')
    const [, ...args] = relay(
      `require('fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid))`,
    ).command
    const above = ['sh', '-c', '"$0" "$@" & sleep 3; exit 1', '{{node}}', ...args]
    const file = targetFile({ command: above }, { capabilities: { probe_interval_ms: 2_000 } })
    const { code, out } = await waybill('conform', file, '--only', 'PURE-02', '--quick')
    assert.match(out, /error: a-gateway has been gone since PURE-02: it ended/)
    assert.equal(code, 3)
    assert.ok(!isAlive(Number(readFileSync(pidFile, 'utf8'))))
  })

  test('an interrupted run also ends the target', async () => {
    const pidFile = join(root, 'pid')
    const call = `require('fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid))`
    const { child, ended } = startCli(['conform', targetFile(program(call))])
    while (!existsSync(pidFile) || readFileSync(pidFile, 'utf8') === '') await sleep(20)
    const pid = Number(readFileSync(pidFile, 'utf8'))
    child.kill('SIGINT')
    const { code, stderr: err } = await ended
    assertSentence(err)
    assert.equal(code, 130)
    await until('the gateway has ended', () => !isAlive(pid))
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a crash after a hostile request is a failure; the target is restarted and the run continues (FAIL-06, SUITE-01)', async () => {
  const report = join(root, 'crashed')
  const text = readFileSync(join(TARGETS, 'waybill.source.yaml'), 'utf8')
    .replace('extends: waybill.yaml', `extends: ${join(TARGETS, 'waybill.yaml')}`)
    .replace('src/cli.ts', 'conformance/selftest/start.ts')
    .replace(/- serve\n\s+- --config\n\s+- waybill.yaml/, '- crashes')
  const args = ['--only', 'ROUTE-01,FAIL-06', 'CAT-01', 'CAT-03', '--report', report]
  const { code, out, err } = await waybill('conform', write(text), ...args)
  assert.match(err, /^4 checks, about \d+ s\n$/)
  assert.match(out, /not conformant: 1 failed: FAIL-06/)
  assert.match(
    out,
    /✗ FAIL-06[^✓]+a proper call afterwards: expected 200, seen ECONNREFUSED[^✓]+gone:\s+it\s+ended/,
  )
  for (const id of ['ROUTE-01', 'CAT-01', 'CAT-03']) assert.match(out, new RegExp(`✓ ${id}`))
  assert.equal(code, 1)
  const { inferences } = JSON.parse(readFileSync(join(report, 'results.json'), 'utf8'))
  assert.equal(inferences.accounted, inferences.total)
})

describe('a wrong call is exit code 2 and a sentence', { concurrency: 4 }, () => {
  const url = { url: 'http://127.0.0.1:1' }
  const CASES: readonly [what: string, args: () => string[], says: RegExp][] = [
    ['a file that is not there', () => ['no-such-target.yaml'], /no-such-target\.yaml: no such file/],
    ['a file that is no YAML', () => [write('name: [')], /\.yaml:1:8 file: is indented differently/],
    ['a file that says nothing', () => [write('')], /\.yaml:1:1 file: is empty/],
    [
      'a setting that does not exist',
      () => [targetFile(url, { colour: 'red' })],
      /:1:\d+ colour: no such setting/,
    ],
    ['a gateway without an address', () => [targetFile({ url: '127.0.0.1:1' })], /expected an address/],
    [
      'a setup request without an address',
      () => [targetFile(url, { setup: [{ path: 'api/setup' }] })],
      /setup\.0\.path: expected a path that begins with \//,
    ],
    ['a base that is not there', () => [write('extends: nowhere.yaml')], /nowhere\.yaml: no such file/],
    ['an address without a model', () => ['http://127.0.0.1:1'], /--model/],
    ['no address', () => ['http://', '--model', 'x'], /http:\/\/ is not an address/],
    ['no port', () => ['http://127.0.0.1:1', '--model', 'x', '--mock-port', 'a'], /--mock-port/],
    [
      'a profile that does not exist',
      () => [targetFile(url), '--profile', 'gold'],
      /core, observable, waybill/,
    ],
    [
      'a requirement that does not exist',
      () => [targetFile(url), '--only', 'PURE-01,PURE-99'],
      /no such requirement: PURE-99/,
    ],
    ['a report that cannot be written', () => [targetFile(url), '--report', write('')], /--report/],
    ['a baseline that is not there', () => [targetFile(url), '--baseline', 'nowhere'], /nowhere/],
  ]
  for (const [what, args, says] of sample(CASES, 4))
    test(what, async () => {
      const { code, out, err } = await waybill('conform', ...args())
      assert.match(err, says)
      assertSentence(err)
      assert.equal(code, 2)
      assert.equal(out, '')
    })
})

describe('a baseline', () => {
  const report = join(root, 'failed')
  const judge = (baseline: string) => waybill('judge', report, '--baseline', write(baseline))

  before(async () => {
    const file = write(`extends: ${TARGETS}/waybill.yaml\nstart: { inproc: selftest/start#advertises }\n`)
    const { code, out } = await waybill('conform', file, '--only', 'TELL-05', 'CAT-01', '--report', report)
    assert.match(out, /not conformant: 1 failed: TELL-05/)
    assert.equal(code, 1)
  })

  test('a baseline excuses a known failure', async () => {
    const { code, out } = await judge('[{ id: TELL-05, reason: being worked on }]')
    assert.match(out, /excused by the baseline: TELL-05/)
    assert.equal(code, 0)
  })
  test('a baseline can excuse one finding for a requirement without excusing another', async () => {
    const { code, out } = await judge('[{ id: TELL-05/content-is-untouched, reason: known }]')
    assert.match(out, /excused by the baseline: TELL-05\/content-is-untouched/)
    assert.equal(code, 0)
    const other = await judge('[{ id: TELL-05/another-finding, reason: known }]')
    assert.equal(other.code, 1)
  })
  test('a comparison with an earlier run lists improvements and regressions', async () => {
    const now = join(root, 'now')
    const { code, out, err } = await waybill(
      ...['conform', join(TARGETS, 'waybill.inproc.yaml'), '--only', 'TELL-05', 'CAT-01'],
      ...['--compare', report, '--report', now],
    )
    assert.equal(code, 0)
    assert.match(err, /^2 checks, about \d+ s\n$/)
    assert.match(out, /^Since the run of .+: better: TELL-05 \(fail, now pass\); worse: nothing$/m)
    for (const file of ['comment.md', 'summary.md', 'index.html'])
      assert.match(readFileSync(join(now, file), 'utf8'), /TELL-05.{0,20} .{0,5}fail, now pass/, file)
    const back = await waybill('judge', report, '--compare', now)
    assert.match(back.out, /better: nothing; worse: TELL-05 \(pass, now fail\)$/m)
    assert.equal(back.code, 1)
  })
  test('a baseline is stale once the requirement that it excuses passes', async () => {
    const { code, err } = await judge('[{ id: TELL-05, reason: known }, { id: CAT-01, reason: known }]')
    assert.match(err, /stale: CAT-01/)
    assert.equal(code, 4)
  })
  test('a baseline excuses nothing after its last day', async () => {
    const { code } = await judge('[{ id: TELL-05, reason: known, expires: 2020-01-01 }]')
    assert.equal(code, 1)
  })
  test('a baseline that names something unknown, or gives no reason, is a usage error', async () => {
    for (const [baseline, says] of [
      ['[{ id: PURE-99, reason: known }]', /no such requirement: PURE-99/],
      ['[{ id: TELL-05 }]', /reason/],
    ] as const) {
      const { code, err } = await judge(baseline)
      assert.match(err, says)
      assertSentence(err)
      assert.equal(code, 2)
    }
  })
  test('judging a directory without a run is a usage error', async () => {
    const { code, err } = await waybill('judge', join(root, 'nowhere'))
    assertSentence(err)
    assert.equal(code, 2)
  })
})
