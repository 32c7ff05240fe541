// Effects of one client on other clients. One key floods a gateway with a small heap over real sockets, a few
// seconds at a time, while another key sends calls and reads. The process must survive, and the other key
// must receive its answers.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { ask, temporaryDirectory } from './test-gateway.ts'
import { IS_FULL, judgeIdle } from './test-size.ts'

/** Heap limit of the gateway, MB. */
const HEAP = 256
/** The full run includes all floods, and longer floods; otherwise every third flood runs briefly. */
/** Duration of each flood, ms. */
const FLOOD_MS = IS_FULL ? 3_000 : 1_000
/** Maximum time for each answer to the other client, ms. It is far longer than on an idle machine. */
const ANSWER_MS = 60_000
/** Maximum time for each answer on an idle machine, ms. */
const IDLE_ANSWER_MS = 10_000
const MIB = 2 ** 20

const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })
const head = (line: string, ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, 'host: localhost', `authorization: ${as('ann').authorization}`, ...headers].join('\r\n')}\r\n\r\n`
const post = (length: number): string =>
  head('POST /v1/chat/completions', 'content-type: application/json', `content-length: ${length}`)
const LIST = head('GET /api/usage/request-logs?limit=200')

interface Flood {
  readonly name: string
  readonly sockets: number
  /** Sends the flood on a socket, which reads no answers. */
  send(socket: Socket): void | Promise<void>
}

const FLOODS: readonly Flood[] = [
  {
    name: 'lists, 300 asked for at once on each of 30 sockets, none ever read',
    sockets: 30,
    send: (socket) => void socket.write(LIST.repeat(300)),
  },
  {
    name: 'lists, asked for without end, none ever read',
    sockets: 10,
    async send(socket) {
      while (!socket.destroyed) {
        if (!socket.write(LIST.repeat(500))) await drained(socket)
        await sleep(1)
      }
    },
  },
  {
    name: 'small requests without end behind a call that has no answer',
    sockets: 10,
    async send(socket) {
      socket.write(post(SILENT.length) + SILENT)
      while (!socket.destroyed) {
        if (!socket.write(head('GET /healthz').repeat(1_000))) await drained(socket)
        await sleep(1)
      }
    },
  },
  {
    name: '60 bodies of 20 MiB that are never finished',
    sockets: 60,
    async send(socket) {
      socket.write(post(20 * MIB))
      for (let sent = 0; sent < 20 * MIB - 1 && !socket.destroyed; sent += MIB / 4)
        if (!socket.write(Buffer.alloc(MIB / 4 - 1, 0x20))) await drained(socket)
    },
  },
  {
    name: '600 calls that nobody answers, half a MiB each',
    sockets: 600,
    send(socket) {
      const body = JSON.stringify({ ...ask('auto'), user: 'silent', metadata: 'x'.repeat(MIB / 2) })
      socket.write(post(body.length) + body)
    },
  },
  {
    name: 'bodies in pieces of one byte',
    sockets: 40,
    async send(socket) {
      const chunked = head(
        'POST /v1/chat/completions',
        'content-type: application/json',
        'transfer-encoding: chunked',
      )
      socket.write(chunked)
      while (!socket.destroyed) {
        if (!socket.write('1\r\n \r\n'.repeat(10_000))) await drained(socket)
        await sleep(1)
      }
    },
  },
  {
    name: 'bodies in pieces of one byte behind a call that has no answer',
    sockets: 100,
    send(socket) {
      const chunked = head(
        'POST /v1/chat/completions',
        'content-type: application/json',
        'transfer-encoding: chunked',
      )
      socket.write(post(SILENT.length) + SILENT + chunked + '1\r\n \r\n'.repeat(100_000))
    },
  },
  {
    name: 'reads with bodies in pieces of one byte',
    sockets: 100,
    send: (socket) =>
      void socket.write(
        head('GET /api/usage/request-logs?limit=200', 'transfer-encoding: chunked') +
          '1\r\n \r\n'.repeat(100_000),
      ),
  },
  {
    name: 'lists, one on each of 500 sockets, none ever read',
    sockets: 500,
    send: (socket) => void socket.write(LIST),
  },
  {
    name: 'headers that never end',
    sockets: 1_000,
    send: (socket) => void socket.write(`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(15_000)}`),
  },
]

/** A call that the provider never answers. */
const SILENT = JSON.stringify(ask('auto', { user: 'silent' }))

test(`a gateway with a heap of ${HEAP} MB survives floods by one key, and answers another key meanwhile (FAIL-06)`, async (t) => {
  const gateway = await start(t)
  for (let calls = 0; calls < 200; calls++) assert.equal((await gateway.call('ann')).status, 200)

  for (const { name, sockets, send } of IS_FULL ? FLOODS : FLOODS.filter((_, index) => index % 3 === 0))
    await t.test(name, async (t) => {
      const open = Array.from({ length: sockets }, () => flooding(gateway.port))
      t.after(() => {
        for (const socket of open) socket.destroy()
      })
      for (const socket of open) void send(socket)
      const begin = performance.now()
      let slowest = 0
      let rounds = 0
      for (; performance.now() - begin < FLOOD_MS; rounds++) {
        for (const ask of [gateway.call, gateway.list]) {
          const at = performance.now()
          const { status, text } = await ask('bob')
          slowest = Math.max(slowest, performance.now() - at)
          assert.equal(gateway.exited(), null, 'the gateway died')
          assert.equal(status, 200, text)
        }
      }
      t.diagnostic(`${rounds} rounds`)
      judgeIdle(t, 'slowest answer, ms', slowest, IDLE_ANSWER_MS)
      for (const socket of open) socket.destroy()
      // The remains of the flood disappear soon, and then its own key is served again.
      for (const until = performance.now() + ANSWER_MS; (await gateway.call('ann')).status !== 200; )
        assert.ok(performance.now() < until, 'the key that flooded is not served again')
    })
  assert.equal(gateway.exited(), null)
})

async function start(t: TestContext) {
  const silentFor: Script = (response, received) => {
    if (received.json.user !== 'silent') answer()(response, received)
  }
  const provider = await startMockServer(silentFor)
  t.after(() => provider.close())
  const data = temporaryDirectory(t)
  const file = join(data, 'waybill.yaml')
  const key = (name: string) =>
    `{ name: ${name}, role: admin, digest: "sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}" }`
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${data}/data
providers: { alpha: { dialect: openai, base_url: "${provider.baseUrl}" } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ ${key('ann')}, ${key('bob')} ]`,
  )
  const child: ChildProcess = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP}`, 'src/cli.ts', 'serve', '--config', file],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let exit: string | null = null
  child.once('exit', (code, signal) => {
    exit = String(code ?? signal)
  })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr!.on('data', (chunk) => {
    said += chunk
  })
  child.stdout!.on('data', (chunk) => {
    if (said.length < MIB) said += chunk
  })
  let found: RegExpExecArray | null = null
  while (found === null) {
    assert.equal(exit, null, said)
    await sleep(20)
    found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)
  }
  const url = found[0]

  const get = async (path: string, init: RequestInit) => {
    const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(ANSWER_MS) })
    return { status: response.status, text: await response.text() }
  }
  return {
    port: Number(found[1]),
    exited: () => exit,
    list: (who: string) => get('/api/usage/request-logs?limit=20', { headers: as(who) }),
    call: (who: string) =>
      get('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...as(who) },
        body: JSON.stringify(ask('auto')),
      }),
  }
}

/** Opens a socket that reads nothing. */
function flooding(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  return socket
}

/** Also resolves if nothing drains for a while, because a socket that reads nothing may never drain. */
const drained = (socket: Socket): Promise<void> =>
  new Promise((done) => {
    const go = () => {
      clearTimeout(timer)
      socket.off('drain', go).off('close', go)
      done()
    }
    const timer = setTimeout(go, FLOOD_MS)
    socket.on('drain', go).on('close', go)
  })
