// Providers that send large answers in chunks of one byte, to a gateway with a heap of 192 MB. Each byte takes the
// memory of a byte, wherever the gateway keeps an answer until its end. And many large lists at the same time.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { judgeIdle, sample } from '../test/test-size.ts'
import { longestTurn } from '../test/test-turn-meter.ts'

const MIB = 2 ** 20
const HEAP = 192
/** Maximum processor time of a turn of the event loop, ms. */
const MOST_TURN_MS = 1_000
const METER = new URL('../test/test-turn-meter.ts', import.meta.url).href

/** Returns bytes in HTTP chunks of one byte. */
function inChunks(bytes: Buffer): Buffer {
  const chunks = Buffer.alloc(bytes.length * 6, '1\r\nx\r\n')
  for (let at = 0; at < bytes.length; at++) chunks[at * 6 + 3] = bytes[at]!
  return chunks
}

interface Answer {
  readonly type: string
  readonly begin: string
  readonly end: string
}

/** Starts a provider. The path of a request chooses the answer. `size`: bytes between its begin and its end. */
async function startProvider(t: TestContext, answers: Readonly<Record<string, Answer>>, size: number) {
  const piece = inChunks(Buffer.alloc(2 ** 16, 'x'))
  const drained = (socket: Socket) =>
    new Promise<void>((done) => {
      const go = () => {
        socket.off('drain', go).off('close', go)
        done()
      }
      socket.on('drain', go).on('close', go)
    })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', async (request) => {
      const path = /^\w+ (\S+) /.exec(String(request))?.[1]
      if (path === undefined) return
      const { type, begin, end } = answers[path]!
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`)
      socket.write(inChunks(Buffer.from(begin)))
      for (let sent = 0; sent < (end === '' ? 0 : size) && !socket.destroyed; sent += 2 ** 16)
        if (!socket.write(piece)) await drained(socket)
      socket.write(inChunks(Buffer.from(end)))
      socket.write('0\r\n\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startGateway(t: TestContext, origin: string, heap = HEAP, more = '') {
  const data = temporaryDirectory(t)
  const file = join(data, 'waybill.yaml')
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${data}/data
providers:
  one: { dialect: openai, base_url: "${origin}/v1", key: $KEY }
  two: { dialect: messages, base_url: "${origin}", key: $KEY }
passthrough: [audio, files, batches]
unknown_objects: refuse
${more}`,
  )
  const args = [`--max-old-space-size=${heap}`, '--import', METER, 'src/cli.ts', 'serve', '--config', file]
  const turns = join(data, 'turns')
  const env = { ...process.env, KEY: 'sk-of-the-operator', TURN_METER: turns }
  const child = spawn(process.execPath, args, { env })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', (part) => (said += part))
  for (;;) {
    const found = /listens on (http:[^\s",]+)/.exec(said)
    if (found) return { url: found[1]!, turns }
    assert.equal(child.exitCode, null, said)
    await sleep(20)
  }
}

/** Calls `/healthz` again and again. Returns a function that ends this and returns the longest wait, ms. */
function watchHealth(url: string): () => Promise<number> {
  let longest = 0
  let isOver = false
  const watch = (async () => {
    while (!isOver) {
      const begin = performance.now()
      await (await fetch(`${url}/healthz`)).text()
      longest = Math.max(longest, performance.now() - begin)
      await sleep(50)
    }
  })()
  return async () => {
    isOver = true
    await watch
    return longest
  }
}

const json = { 'content-type': 'application/json' }
const post = (body: object): RequestInit => ({ method: 'POST', headers: json, body: JSON.stringify(body) })
const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'
const message = { role: 'user', content: 'hello' }
const batch = { type: JSON_TYPE, begin: '{"id":"msgbatch_abcdef1"}', end: '' }

/** Answers by the provider's path, the client's path and request, the bytes of an answer, and the number of calls. */
const CASES: readonly (readonly [string, string, Answer, string, RequestInit, number, number])[] = [
  [
    'a list of files',
    '/v1/files',
    { type: JSON_TYPE, begin: '{"data":[],"x":"', end: '"}' },
    '/v1/files',
    {},
    7,
    4,
  ],
  [
    'the text of a recording',
    '/v1/audio/speech',
    { type: JSON_TYPE, begin: '{"x":"', end: '"}' },
    '/v1/audio/speech',
    post({}),
    1,
    20,
  ],
  [
    'an event without an end',
    '/v1/audio/speech',
    { type: EVENTS, begin: 'data: {"x":[', end: ' ' },
    '/v1/audio/speech',
    post({}),
    1,
    10,
  ],
  [
    'a line of results',
    '/v1/messages/batches/msgbatch_abcdef1/results',
    { type: JSON_TYPE, begin: '{"x":"', end: '"}' },
    '/v1/messages/batches/msgbatch_abcdef1/results',
    {},
    7,
    4,
  ],
  [
    'a whole answer',
    '/v1/chat/completions',
    {
      type: JSON_TYPE,
      begin: '{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"',
      end: '"}}]}',
    },
    '/v1/chat/completions',
    post({ model: 'one/m', messages: [message] }),
    7,
    4,
  ],
  [
    'an event of a stream',
    '/v1/chat/completions',
    {
      type: EVENTS,
      begin: 'data: {"choices":[{"index":0,"delta":{"content":"',
      end: '"}}]}\n\ndata: [DONE]\n\n',
    },
    '/v1/chat/completions',
    post({ model: 'one/m', stream: true, messages: [message] }),
    7,
    4,
  ],
]

for (const [name, at, answer, path, init, mib, calls] of sample(CASES, 4))
  test(`${name} in chunks of one byte takes what it weighs`, async (t) => {
    const origin = await startProvider(t, { [at]: answer, '/v1/messages/batches': batch }, mib * MIB)
    const { url } = await startGateway(t, origin)
    if (path.includes('msgbatch'))
      await (await fetch(`${url}/v1/messages/batches`, post({ requests: [] }))).text()
    const waits = watchHealth(url)
    const began = performance.now()
    const statuses = await Promise.all(
      Array.from({ length: calls }, async () => {
        const response = await fetch(url + path, init)
        let bytes = 0
        for await (const piece of response.body!) bytes += piece.length
        return [response.status, bytes >= mib * MIB]
      }),
    )
    const longest = await waits()
    t.diagnostic(
      `${((performance.now() - began) / 1_000).toFixed(1)} s, /healthz at most ${longest.toFixed(0)} ms`,
    )
    assert.deepEqual(statuses, Array(calls).fill([200, true]))
  })

test('forty lists of seven megabytes at the same time are all answered, and other calls wait for one step at most', async (t) => {
  const object = (n: number) => ({
    ...{
      object: 'file',
      id: `file-${String(n).padStart(22, '0')}`,
      bytes: 120_000,
      created_at: 1_764_000_000,
    },
    ...{ filename: 'requests-of-the-night.jsonl', purpose: 'batch', status: 'processed' },
  })
  const list = JSON.stringify({ object: 'list', data: Array.from({ length: 42_000 }, (_, n) => object(n)) })
  t.diagnostic(`${(list.length / MIB).toFixed(1)} MiB`)
  const server = createHttpServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' }).end(list)
  }).listen(0, '127.0.0.1')
  server.keepAliveTimeout = 300_000 // longer than the gateway keeps an idle connection
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const key = 'a-key-of-the-test'
  const digest = createHash('sha256').update(key).digest('hex')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { url, turns } = await startGateway(
    t,
    origin,
    1_024,
    `keys: [ { name: team, digest: "sha256:${digest}" } ]`,
  )
  const headers = { authorization: `Bearer ${key}` }
  await (await fetch(`${url}/v1/files`, { headers })).text() // the turns before belong to the start
  const { size } = statSync(turns)
  const waits = watchHealth(url)
  const began = performance.now()
  const answers = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const response = await fetch(`${url}/v1/files`, { headers })
      const { data, error } = (await response.json()) as any
      return [response.status, data?.length ?? error.message]
    }),
  )
  const longest = await waits()
  t.diagnostic(
    `${((performance.now() - began) / 1_000).toFixed(1)} s, /healthz at most ${longest.toFixed(0)} ms`,
  )
  assert.deepEqual(answers, Array(40).fill([200, 0]))
  judgeIdle(t, '/healthz waits, ms', longest, MOST_TURN_MS)
  const turn = longestTurn(turns, size)
  t.diagnostic(`longest turn ${turn.toFixed(0)} ms`)
  assert.ok(turn < MOST_TURN_MS, `${turn.toFixed(0)} ms of processor time`)
})
