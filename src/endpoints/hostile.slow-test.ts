// Requests of an attacker, one in each row, as bytes on a socket. Each row checks the status, the error shape,
// that no provider is reached, and that other clients are served during and after the attack. bad-input.test.ts
// covers requests that are merely broken.
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { findKey } from '../terminal/keys.ts'
import { ask, type TestGateway, temporaryDirectory, testGateway } from '../test/test-gateway.ts'

const BODY = JSON.stringify(ask('auto'))
const POST = 'POST /v1/chat/completions HTTP/1.1\r\n'
const LENGTH = `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n`

interface Row {
  readonly name: string
  readonly bytes: string
  readonly status: number
  readonly code: string
}

const page = (headers: string): string => `${POST}${headers}\r\n${LENGTH}\r\n${BODY}`
const read = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

const ROWS: readonly Row[] = [
  ['DNS rebinding: the attacker’s name', page('host: evil.example'), 403, 'host_not_allowed'],
  ['DNS rebinding, with a port', page('host: evil.example:4949'), 403, 'host_not_allowed'],
  ['a name that begins like ours', page('host: localhost.evil.example'), 403, 'host_not_allowed'],
  ['a name that ends like ours', page('host: evil-localhost'), 403, 'host_not_allowed'],
  ['our name as a user', page('host: localhost@evil.example'), 403, 'host_not_allowed'],
  ['an address in another spelling', page('host: 2130706433'), 403, 'host_not_allowed'],
  ['an empty Host', page('host: '), 403, 'host_not_allowed'],
  [
    'a foreign Host in the request line',
    `POST http://evil.example/v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n`,
    403,
    'host_not_allowed',
  ],
  ['another site’s page', page('host: localhost\r\norigin: https://evil.example'), 403, 'host_not_allowed'],
  ['a sandboxed page', page('host: localhost\r\norigin: null'), 403, 'host_not_allowed'],
  ['a page from a file', page('host: localhost\r\norigin: file://'), 403, 'host_not_allowed'],
  ['an Origin that is none', page('host: localhost\r\norigin: localhost'), 403, 'host_not_allowed'],
  [
    'a page that reads',
    `GET /api/usage/request-logs HTTP/1.1\r\nhost: localhost\r\norigin: null\r\n\r\n`,
    403,
    'host_not_allowed',
  ],
  [
    'an image of another site’s page, which sends no Origin',
    `GET /api/usage/request-logs HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n\r\n`,
    403,
    'host_not_allowed',
  ],
  ['dots in an id', read('/api/usage/request-logs/..%2f..%2f..%2fetc%2fpasswd'), 404, 'not_found'],
  ['dots in a path', read('/api/usage/request-logs/../../../etc/passwd'), 404, 'not_found'],
  ['dots in a model', read('/v1/models/../../etc/passwd'), 404, 'model_not_found'],
  ['dots that leave the path', read('/v1/models/../..'), 404, 'model_not_found'],
  ['a zero byte in an id', read('/api/usage/request-logs/%00'), 404, 'not_found'],
  ['an id that is no UTF-8', read('/api/usage/request-logs/%ff%fe'), 404, 'not_found'],
  ['10,000 headers', `${POST}host: localhost\r\n${'a: b\r\n'.repeat(10_000)}\r\n`, 431, 'invalid_request'],
  [
    'a second request smuggled in a body',
    `${POST}host: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${read('/v1/models')}`,
    400,
    'invalid_request',
  ],
  ['a path of 15 kB', read(`/${'x'.repeat(15_000)}`), 404, 'not_found'],
].map(([name, bytes, status, code]) => ({ name, bytes, status, code }) as Row)

test('an attacker’s requests are refused in the usual error shape, reach no provider, and stop no other call (KEEP-06, PURE-07, FAIL-01, FAIL-06)', async (t) => {
  const gateway = await testGateway(t)
  for (const { name, bytes, status, code } of ROWS)
    await t.test(name, async () => {
      const socket = open(gateway)
      socket.write(bytes)
      const text = await firstAnswer(socket)
      assertRefused(text, status, code)
      assert.doesNotMatch(text, /root:/)
      socket.destroy()
    })
  assert.equal(gateway.received(), 0)
  assert.deepEqual((await gateway.get('/api/usage/request-logs')).json.data, [])
  await stillServes(gateway)
})

const MANY = 2 ** 20
/** Bodies within the byte limit. Parsing them would delay every other call for seconds. */
const INTRICATE: readonly (readonly [string, string])[] = [
  ['nested lists', `${'['.repeat(9 * MANY)}${']'.repeat(9 * MANY)}`],
  ['nested objects', `${'{"a":'.repeat(3 * MANY)}1${'}'.repeat(3 * MANY)}`],
  ['empty objects', `[${'{},'.repeat(6 * MANY)}{}]`],
  ['names', `{${Array.from({ length: MANY }, (_, n) => `"${n.toString(36)}":1`).join()}}`],
]

test('a body of a million values is refused with 413 before it is parsed; a body of long strings is accepted (PURE-07, FAIL-06)', async (t) => {
  const gateway = await testGateway(t)
  const holding = (value: string) =>
    `{"model":"auto","messages":[{"role":"user","content":"x"}],"x":${value}}`
  for (const [name, value] of INTRICATE) {
    const { status, json } = await gateway.chat(holding(value))
    assert.deepEqual([status, json.error.code], [413, 'body_too_large'], name)
    assert.match(json.error.message, /^The body contains more than 250000 JSON values /)
  }
  assert.equal(gateway.received(), 0)
  assert.deepEqual((await gateway.get('/api/usage/request-logs')).json.data, [])
  const texts = [`[{"\\,`.repeat(2 * MANY), `data:image/png;base64,${'QUJD'.repeat(MANY)}`, '\\']
  const values = [...texts, ...Array(200_000).fill('')]
  assert.equal((await gateway.chat(holding(JSON.stringify(values)))).status, 200)
  assert.deepEqual(gateway.upstream.alpha!.ledger[0]!.json.x, values)
})

const SLOW: readonly (readonly [string, string, string])[] = [
  ['who says nothing', '', ''],
  ['whose headers dribble', `${POST}host: localhost\r\n`, 'x: y\r\n'],
  ['whose one header dribbles', `${POST}host: localhost\r\nx: `, 'y'],
  [
    'whose body dribbles',
    `${POST}host: localhost\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n{`,
    ' ',
  ],
  ['whose chunks dribble', `${POST}host: localhost\r\ntransfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
]

for (const [name, first, then] of SLOW)
  test(`fifty clients ${name} are disconnected with 408, and other clients are served meanwhile (FAIL-01, FAIL-06)`, async (t) => {
    const gateway = await testGateway(t, { server: 'headers_timeout: 1s, request_timeout: 1500ms' })
    const cutOff = Array.from({ length: 50 }, async () => {
      const socket = open(gateway)
      socket.on('error', () => {}) // the client is disconnected while it writes
      socket.write(first)
      const dribble = setInterval(() => socket.write(then), 50)
      const answer = await firstAnswer(socket)
      clearInterval(dribble)
      assertRefused(answer, 408, 'request_timeout')
    })
    await stillServes(gateway)
    await Promise.all(cutOff)
    assert.equal(gateway.received(), 1, 'the one that was served')
    await stillServes(gateway)
  })

test('a slow client within the time limit is served, and its answer may take longer than the limit for requests (FAIL-06)', async (t) => {
  const gateway = await testGateway(t, {
    server: 'headers_timeout: 2s, request_timeout: 2s',
    providers: {
      alpha: (response) => {
        setTimeout(
          () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[{}]}'),
          3_500,
        )
      },
    },
  })
  const socket = open(gateway)
  socket.write(`${POST}host: localhost\r\n${LENGTH}\r\n`)
  for (const part of BODY.match(/.{1,20}/gs)!) socket.write(part)
  assert.match(await firstAnswer(socket), /^HTTP\/1\.1 200 /)
  socket.destroy()
})

test('a key file that other users can read or write is refused with a one-line error (KEEP-06, LINE-08)', (t) => {
  const file = join(temporaryDirectory(t), 'key')
  writeFileSync(file, 'wb_key-of-somebody\n', { mode: 0o600 })
  assert.deepEqual(findKey({}, file), { key: 'wb_key-of-somebody', problem: null })
  for (const mode of [0o644, 0o640, 0o604, 0o620, 0o602]) {
    chmodSync(file, mode)
    const { key, problem } = findKey({}, file)
    assert.equal(key, null)
    assert.equal(problem, `the key file ${file} is open to others; run chmod 600 on it`)
  }
})

const open = (gateway: TestGateway): Socket => connect(Number(new URL(gateway.url).port), '127.0.0.1')

/** Returns the first complete answer on a connection, headers and body. */
async function firstAnswer(socket: Socket): Promise<string> {
  let text = ''
  for await (const part of socket) {
    text += part
    const [head, body] = text.split('\r\n\r\n', 2)
    if (body !== undefined && body.length >= Number(/content-length: (\d+)/i.exec(head!)?.[1])) break
  }
  return text
}

function assertRefused(text: string, status: number, code: string): void {
  assert.match(text, new RegExp(`^HTTP/1.1 ${status} `))
  const { error, request_id } = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4).split('\r\n')[0]!)
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type'])
  assert.equal(error.code, code)
  assert.match(request_id, /^[0-9a-f-]{36}$/)
}

async function stillServes(gateway: TestGateway): Promise<void> {
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
}
