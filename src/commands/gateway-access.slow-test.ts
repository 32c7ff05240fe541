// Every command that connects to a gateway distinguishes a missing key from a wrong key, and a slow gateway
// from an absent gateway.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer as startHttp } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'

const KEY = 'wb_the-key-of-the-test'
const KEYS = `keys: [ { name: me, digest: "sha256:${createHash('sha256').update(KEY).digest('hex')}" } ]
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`

/** Creates a configuration file with the gateway's port and an empty data directory. */
function configAt(t: TestContext, url: string): string {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'waybill.yaml')
  const { port } = new URL(url)
  writeFileSync(
    file,
    `server: { port: ${port} }\ndata: ${directory}/data\nproviders: { alpha: { dialect: openai, base_url: "http://127.0.0.1:9/v1" } }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }\n`,
  )
  return file
}

/** Each command that connects to a gateway, and its exit code if the gateway refuses it. */
const COMMANDS: readonly { readonly words: readonly string[]; readonly code: number }[] = [
  { words: ['logs'], code: 1 },
  { words: ['logs', '--follow'], code: 1 },
  { words: ['routes'], code: 0 }, // continues with the configuration file
  { words: ['ui', '--print'], code: 1 },
  { words: ['run', 'true'], code: 1 },
  { words: ['doctor'], code: 1 },
  { words: ['statusline', 'doctor'], code: 1 },
]

const inCommand = (words: readonly string[], file: string): string[] =>
  words[0] === 'statusline' ? [...words] : [words[0]!, '-c', file, ...words.slice(1)]

test('a wrong key is reported as wrong, with its origin', async (t) => {
  const { url } = await testGateway(t, { config: KEYS })
  const file = configAt(t, url)
  const keyFile = join(temporaryDirectory(t), 'key')
  writeFileSync(keyFile, 'wb_of-another-gateway\n')
  chmodSync(keyFile, 0o600)
  for (const [n, { words, code }] of COMMANDS.entries()) {
    const [env, from] =
      n % 2 === 0
        ? [{ WAYBILL_KEY: 'wb_of-another-gateway' }, 'WAYBILL_KEY']
        : [{ WAYBILL_KEY_FILE: keyFile }, keyFile]
    const HOME = temporaryDirectory(t)
    const ended = await runCli(inCommand(words, file), { env: { HOME, WAYBILL_URL: url, ...env } })
    const said = ended.stdout + ended.stderr
    assert.equal(ended.code, code, `${words}: ${said}`)
    assert.match(said, new RegExp(`the gateway at ${url} does not accept the key from ${from}`), `${words}`)
    assert.doesNotMatch(said, /requires a key|of-another-gateway/)
  }
})

test('a missing key is reported as missing', async (t) => {
  const { url } = await testGateway(t, { config: KEYS })
  const file = configAt(t, url)
  for (const { words } of COMMANDS) {
    const ended = await runCli(inCommand(words, file), {
      env: { HOME: temporaryDirectory(t), WAYBILL_URL: url },
    })
    assert.match(
      ended.stdout + ended.stderr,
      /requires a key; set WAYBILL_KEY|reports its version only with a key; set WAYBILL_KEY/,
      `${words}`,
    )
    assert.doesNotMatch(ended.stdout + ended.stderr, /does not accept/)
  }
})

test("a wrong key is reported as wrong even if its file's name contains words from another error", async (t) => {
  const { url } = await testGateway(t, { config: KEYS })
  const keyFile = join(temporaryDirectory(t), 'requires; try again')
  writeFileSync(keyFile, 'wb_of-another-gateway\n', { mode: 0o600 })
  const file = configAt(t, url)
  const doctor = await runCli(['doctor', '-c', file, '--key-file', keyFile])
  assert.match(doctor.stdout, /^BAD {2}the gateway at \S+ does not accept the key from /m)
  assert.equal(doctor.code, 1)
  const routes = await runCli(['routes', '-c', file, '--key-file', keyFile])
  assert.match(routes.stderr, /requires; try again; it is not one of its keys\. This shows /)
})

test('`waybill doctor` reports a key file that cannot be used', async (t) => {
  const { url } = await testGateway(t, { config: KEYS })
  const keyFile = join(temporaryDirectory(t), 'key')
  writeFileSync(keyFile, KEY)
  chmodSync(keyFile, 0o644)
  const { code, stdout } = await runCli(['doctor', '-c', configAt(t, url), '--key-file', keyFile])
  assert.equal(code, 1)
  assert.match(stdout, /^BAD {2}the key file \S+ is open to others; run chmod 600 on it$/m)
})

/** Starts a server that passes each connection to `treat` after its first bytes. */
async function serverThat(t: TestContext, treat: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {}).once('data', () => treat(socket))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

const HEADERS = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"data":'

for (const [name, treat] of [
  ['never answers', () => {}],
  ['stops in the middle of its answer', (socket: Socket) => socket.write(HEADERS)],
] as const)
  test(`a gateway that ${name} is reported as too slow, not as absent or as a different server`, async (t) => {
    const url = await serverThat(t, treat)
    const file = configAt(t, url)
    await Promise.all(
      COMMANDS.filter(({ words }) => !words.includes('--follow')).map(async ({ words, code }) => {
        const ended = await runCli(inCommand(words, file), {
          env: { HOME: temporaryDirectory(t), WAYBILL_URL: url },
        })
        const said = ended.stdout + ended.stderr
        assert.match(said, new RegExp(`at ${url} did not answer in time`), `${words}`)
        assert.doesNotMatch(said, /no gateway answers|not a Waybill|something else answers|free/)
        assert.equal(ended.code, code, `${words}: ${said}`)
      }),
    )
  })

for (const [name, treat] of [
  ['closes the connection', (socket: Socket) => socket.destroy()],
  ['breaks off in the middle of its answer', (socket: Socket) => socket.end(HEADERS)],
] as const)
  test(`a server that ${name} is not reported as absent`, async (t) => {
    const url = await serverThat(t, treat)
    for (const words of [['logs'], ['ui', '--print'], ['run', 'true'], ['routes']]) {
      const { stderr } = await runCli(inCommand(words, configAt(t, url)), { env: { WAYBILL_URL: url } })
      assert.match(stderr, new RegExp(`^waybill: the server at ${url} broke off its answer`), `${words}`)
    }
  })

test('a command reads at most 64 MiB of an answer, compressed or not', async (t) => {
  const many = Buffer.alloc(2 ** 26 + 1, ' ')
  const zipped = gzipSync(many, { level: 1 })
  for (const isZipped of [true, false]) {
    const server = startHttp((_, response) => {
      response.setHeader('content-type', 'application/json')
      if (isZipped) response.setHeader('content-encoding', 'gzip')
      response.write(isZipped ? zipped : many)
    }).listen(0, '127.0.0.1')
    t.after(() => server.closeAllConnections())
    t.after(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { code, stderr } = await runCli(['logs', '--url', url], { env: { HOME: temporaryDirectory(t) } })
    assert.equal(code, 1)
    assert.match(stderr, /broke off its answer; is it a Waybill gateway\?/) // and not: did not answer in time
  }
})
