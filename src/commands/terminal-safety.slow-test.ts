// No command prints control codes from providers, clients, files or gateways.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'

/**
 * One character of each kind: C0, ESC sequences, DEL, C1, bidi, invisible, line and paragraph separators,
 * carriage return.
 */
const HOSTILE =
  'a\u001b[31mb\u0007c\u0008d\u007fe\u009bf\u0085g\u202eh\u2066i\u200bj\u2028k\u2029l\rm\u0000n\ufeffo'
const STEERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u

const waybill = (args: readonly string[], env: Record<string, string> = {}) => runCli(args, { env })

/** A gateway that answers every request with this body. */
async function hostile(t: TestContext, status: number, body: unknown): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** No argument of a process may contain a NUL. */
const withoutNull = (args: readonly string[]): string[] => args.map((arg) => arg.replaceAll('\u0000', ''))

/** Checks that the output contains only printable text and line feeds. */
function assertPlain(...streams: string[]): void {
  for (const text of streams) {
    const found = STEERS.exec(text.replaceAll('\n', ''))
    assert.equal(found, null, JSON.stringify(text))
  }
}

const call = {
  id: '01a200ee-4c97-7e14-8453-3dd0e569665c',
  created_at: '2026-11-21T07:00:00.000Z',
  completed_at: '2026-11-21T07:00:01.000Z',
  state: HOSTILE,
  requested_model: HOSTILE,
  resolved_provider: HOSTILE,
  resolved_model: HOSTILE,
  strategy: HOSTILE,
  session_id: HOSTILE,
  status: 200,
  error_code: HOSTILE,
  code: HOSTILE, // for a refused call, which this answer also represents
  message: HOSTILE,
  fallbacks: 1,
  latency_ms: 5,
  tokens: { input: 1, output: 2 },
  cost_usd: 0.1,
  [HOSTILE]: HOSTILE,
}

test('`waybill logs` removes control characters from a table, and escapes them in JSON without changing its meaning', async (t) => {
  const url = await hostile(t, 200, { object: 'list', data: [call], has_more: false, next_cursor: null })
  const table = await waybill(['logs', '--url', url])
  assert.equal(table.code, 0, table.stderr)
  assertPlain(table.stdout, table.stderr)
  const json = await waybill(['logs', '--url', url, '--json'])
  assertPlain(json.stdout)
  assert.deepEqual(JSON.parse(json.stdout), call)
})

test('`waybill logs` removes control characters from a gateway’s error messages', async (t) => {
  const url = await hostile(t, 400, { error: { message: HOSTILE, code: 'x' } })
  const { code, stdout, stderr } = await waybill(['logs', '--url', url])
  assert.equal(code, 1)
  assertPlain(stdout, stderr)
  assert.equal(stderr.trim().split('\n').length, 1, 'one line')
})

test("`waybill config check` and `waybill doctor` remove control characters from setting names, values and the file's path", async (t) => {
  const directory = join(temporaryDirectory(t), 'a\u001b[31mb\u202ec')
  mkdirSync(directory)
  const file = join(directory, 'w\u009b.yaml')
  const name = JSON.stringify(HOSTILE)
  const texts = [
    `${name}: 1\n`,
    `providers: { ${name}: 1 }\n`,
    `routes: { ${name}: { targets: [ { model: ${name} } ] } }\n`,
    `providers: { a: { dialect: ${name}, base_url: ${name}, key: ${name} } }\n`,
    `data: *\u009bx\n`,
    `data: !\u202ex y\n`,
    `{ "a${'\u202e'}": \u009b`,
  ]
  for (const text of sample(texts, 3)) {
    writeFileSync(file, text)
    const commands = [['config', 'check'], ['doctor'], ['routes'], ['serve', '--port', '0']]
    const ran = await Promise.all(commands.map((command) => waybill([...command, '-c', file])))
    for (const [n, { code, stdout, stderr }] of ran.entries()) {
      assert.ok(code === 1 || code === 2, `${commands[n]}: ${code} ${stdout}${stderr}`)
      assertPlain(stdout, stderr)
    }
  }
})

test('`waybill routes` removes control characters from route names and the gateway’s answers', async (t) => {
  const candidate = {
    provider: HOSTILE,
    model: HOSTILE,
    tier: HOSTILE,
    probability: 1,
    state: 'ready',
    reason: HOSTILE,
  }
  const url = await hostile(t, 200, {
    model: HOSTILE,
    route: HOSTILE,
    strategy: HOSTILE,
    tier: null,
    provider: HOSTILE,
    resolved_model: HOSTILE,
    deterministic: true,
    depends_on: [],
    candidates: [candidate],
  })
  const file = join(temporaryDirectory(t), 'w.yaml')
  writeFileSync(
    file,
    `providers: { a: { dialect: openai, base_url: "http://127.0.0.1:9/v1" } }\nroutes: { ${JSON.stringify(HOSTILE)}: { targets: [ { model: a/x } ] } }\n`,
  )
  for (const args of [[], ['--json'], [HOSTILE]]) {
    const { stdout, stderr } = await waybill(['routes', '-c', file, '--url', url, ...withoutNull(args)])
    assertPlain(stdout, stderr)
    const offline = await waybill(['routes', '-c', file, ...withoutNull(args)])
    assertPlain(offline.stdout, offline.stderr)
  }
})

test('control characters are removed from arguments that an error repeats', async () => {
  for (const args of [
    [HOSTILE],
    ['serve', `--${HOSTILE}`],
    ['logs', '--url', HOSTILE],
    ['logs', '--since', HOSTILE],
    ['conform', HOSTILE],
    ['key', 'new', HOSTILE],
    ['statusline', 'install', '--theme', HOSTILE],
    ['recordings', 'list', HOSTILE],
    ['serve', '--log-level', HOSTILE, '--replay'],
  ]) {
    const { code, stdout, stderr } = await waybill(withoutNull(args))
    assert.notEqual(code, 0, args.join(' '))
    assertPlain(stdout, stderr)
  }
})
