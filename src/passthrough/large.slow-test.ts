// A gateway in a separate process. A gigabyte in each direction needs little memory, and a kill in the middle
// of uploads leaves no call unrecorded.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { databaseFile } from '../store/sqlite/open.ts'
import { startServer } from '../test/test-cli.ts'
import { IS_FULL } from '../test/test-size.ts'

const MIB = 2 ** 20
const PIECE = Buffer.alloc(MIB, 'x')

/** Sends the same piece many times as a body, as fast as it is read. A client that leaves ends it. */
const repeat = (piece: Buffer | string, times: number, response: ServerResponse): Promise<void> =>
  pipeline(Readable.from(Array<Buffer | string>(times).fill(piece)), response).catch(() => {})

/**
 * Starts a provider that counts the received bytes. `down`: size of its answers, MiB. A client header holds
 * the call's id.
 */
async function startProvider(t: TestContext, down: number) {
  const begun: string[] = []
  let received = 0
  const server = createServer(async (request, response) => {
    begun.push(String(request.headers['idempotency-key']))
    try {
      for await (const piece of request as AsyncIterable<Buffer>) received += piece.length
    } catch {
      return // the gateway was killed
    }
    response.writeHead(200, { 'content-type': 'audio/wav' })
    await repeat(PIECE, down, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, begun, received: () => received }
}

async function serve(
  t: TestContext,
  directory: string,
  origin: string,
  more = `providers: { one: { dialect: openai, base_url: "${origin}/v1", key: $KEY } }
passthrough: [audio]`,
  requestTimeout = '10m',
) {
  const file = join(directory, 'waybill.yaml')
  writeFileSync(
    file,
    `server: { port: 0, request_timeout: ${requestTimeout} }
data: ${join(directory, 'data')}
${more}`,
  )
  return startServer(t, ['serve', '--config', file], { env: { KEY: 'sk-one-secret' } })
}

const temporary = (t: TestContext): string => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Sends `mib` MiB and returns the number of bytes in the answer. */
async function upload(url: string, mib: number, id: string, more: object = {}): Promise<number> {
  const sent = request(`${url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { 'idempotency-key': id, 'x-session-id': id, 'content-length': mib * MIB, ...more },
  })
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  answered.catch(() => {})
  sent.on('response', resolve).on('error', reject)
  sent.on('close', () => reject(new Error('closed')))
  for (let n = 0; n < mib; n++)
    if (!sent.write(PIECE))
      await Promise.race([new Promise((drained) => sent.once('drain', drained)), answered])
  sent.end()
  const response = await answered
  assert.equal(response.statusCode, 200)
  let bytes = 0
  for await (const piece of response) bytes += piece.length
  return bytes
}

/** Returns the memory of a process, MiB. */
const memory = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

/** A quick run sends a quarter, which is still many times the memory that is allowed. */
const PART = IS_FULL ? 1 : 1 / 4
const MIB_OF_A_GIGABYTE = (PART * 1_000_000_000) / MIB
const MIB_OF_TWO_GIGABYTES = PART * 2_048
/** Thousands of requests of a batch. */
const THOUSANDS = PART * 1_000
const MAX_MORE_MIB = 60

/** Returns the memory of a process before a piece of work and its maximum during the work, MiB. */
async function memoryOf(pid: number, work: () => Promise<unknown>) {
  const before = memory(pid)
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, memory(pid))
  }, 20)
  try {
    await work()
  } finally {
    clearInterval(watch)
  }
  return { before, most }
}

test(`a search for foreign ids in an upload of ${MIB_OF_TWO_GIGABYTES} MiB by a client with a key takes less than 60 MiB of extra memory`, {
  skip: process.platform !== 'linux' && 'memory is read from /proc',
}, async (t) => {
  const key = 'wb-key-of-the-test'
  const digest = createHash('sha256').update(key).digest('hex')
  const provider = await startProvider(t, 0)
  const { url, child } = await serve(
    t,
    temporary(t),
    provider.origin,
    `providers: { one: { dialect: openai, base_url: "${provider.origin}/v1", key: $KEY } }
passthrough: [audio]
keys: [ { name: team, digest: "sha256:${digest}" } ]`,
  )
  const own = { authorization: `Bearer ${key}` }
  await upload(url, 256, 'warm', own) // lets the heap grow to its bound, as any traffic does
  const { before, most } = await memoryOf(child.pid!, () => upload(url, MIB_OF_TWO_GIGABYTES, 'large', own))
  t.diagnostic(`${before.toFixed(0)} MiB before, at most ${most.toFixed(0)} MiB`)
  assert.equal(provider.received(), (256 + MIB_OF_TWO_GIGABYTES) * MIB)
  assert.ok(most - before < MAX_MORE_MIB, `${(most - before).toFixed(0)} MiB more`)
})

test(`the results of a batch of ${THOUSANDS},000 requests are priced as they pass through, in bounded memory`, {
  skip: process.platform !== 'linux' && 'memory is read from /proc',
}, async (t) => {
  const message = { model: 'claude-a', usage: { input_tokens: 3, output_tokens: 2 } }
  const lines = `${JSON.stringify({ custom_id: 'a', result: { type: 'succeeded', message } })}\n`.repeat(
    1_000,
  )
  const server = createServer(async (request, response) => {
    request.resume()
    if (request.method === 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end('{"id":"msgbatch_abcdef1","type":"message_batch"}')
    }
    response.writeHead(200, { 'content-type': 'application/x-jsonl' })
    await repeat(lines, THOUSANDS, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { url, child } = await serve(
    t,
    temporary(t),
    '',
    `providers: { one: { dialect: messages, base_url: "http://127.0.0.1:${(server.address() as AddressInfo).port}", key: $KEY } }
models: { one/claude-a: { price: { input: 1, output: 2, service_tier: { batch: 0.5 } } } }
passthrough: [batches]`,
  )
  await fetch(`${url}/v1/messages/batches`, { method: 'POST', body: '{"requests":[]}' })
  let bytes = 0
  const { before, most } = await memoryOf(child.pid!, async () => {
    const response = await fetch(`${url}/v1/messages/batches/msgbatch_abcdef1/results`)
    for await (const piece of response.body!) bytes += piece.length
  })
  t.diagnostic(`${before.toFixed(0)} MiB before, at most ${most.toFixed(0)} MiB`)
  assert.equal(bytes, lines.length * THOUSANDS)
  const { data } = (await (await fetch(`${url}/api/usage/request-logs`)).json()) as any
  const batch = data.find(({ method }: any) => method === 'POST')
  assert.deepEqual(
    [batch.state, batch.tokens.input, batch.tokens.output],
    ['completed', 3_000_000 * PART, 2_000_000 * PART],
  )
  assert.ok(Math.abs(batch.cost_usd - 3.5 * PART) < 1e-6, `$${batch.cost_usd}`)
  // Measured: 70 MiB, also with four times as many lines. These bytes are garbage from parsing and do not
  // grow.
  assert.ok(most - before < 2 * MAX_MORE_MIB, `${(most - before).toFixed(0)} MiB more`)
})

test(`the upload, batch and output for ${THOUSANDS},000 OpenAI requests pass through in bounded memory, and the output is priced`, {
  skip: process.platform !== 'linux' && 'memory is read from /proc',
}, async (t) => {
  const times = (line: object) => Buffer.from(`${JSON.stringify(line)}\n`.repeat(1_000))
  const asked = times({
    ...{ custom_id: 'a', method: 'POST', url: '/v1/chat/completions' },
    body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  })
  const usage = { prompt_tokens: 3, completion_tokens: 2 }
  const answered = times({ custom_id: 'a', response: { status_code: 200, body: { model: 'm', usage } } })
  let received = 0
  const server = createServer(async (request, response) => {
    for await (const piece of request as AsyncIterable<Buffer>)
      if (request.url === '/v1/files') received += piece.length
    if (!request.url!.endsWith('/content')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      const ended = {
        status: 'completed',
        request_counts: { completed: THOUSANDS * 1_000 },
        output_file_id: 'file-out-1',
      }
      const made = request.url === '/v1/files' ? { id: 'file-in-abcdef' } : { id: 'batch_abcdef', ...ended }
      return response.end(JSON.stringify(made))
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    await repeat(answered, THOUSANDS, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const key = 'wb-key-of-the-test'
  const { url, child } = await serve(
    t,
    temporary(t),
    '',
    `providers: { one: { dialect: openai, base_url: "http://127.0.0.1:${(server.address() as AddressInfo).port}/v1", key: $KEY } }
models: { one/m: { price: { input: 1, output: 2, service_tier: { batch: 0.5 } } } }
passthrough: [files, batches]
keys: [ { name: team, digest: "sha256:${createHash('sha256').update(key).digest('hex')}" } ]`,
  )
  const headers = { authorization: `Bearer ${key}` }
  const began = performance.now()
  let bytes = 0
  const { before, most } = await memoryOf(child.pid!, async () => {
    const head =
      '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    async function* form() {
      yield Buffer.from(head)
      for (let n = 0; n < THOUSANDS; n++) yield asked
      yield Buffer.from('\r\n--b--\r\n')
    }
    const type = { 'content-type': 'multipart/form-data; boundary=b' }
    const upload = { method: 'POST', headers: { ...headers, ...type }, body: form() as never, duplex: 'half' }
    const file = (await (await fetch(`${url}/v1/files`, upload as RequestInit)).json()) as any
    const body = JSON.stringify({ input_file_id: file.id, endpoint: '/v1/chat/completions' })
    const batch = (await (await fetch(`${url}/v1/batches`, { method: 'POST', headers, body })).json()) as any
    const ended = (await (await fetch(`${url}/v1/batches/${batch.id}`, { headers })).json()) as any
    const output = await fetch(`${url}/v1/files/${ended.output_file_id}/content`, { headers })
    for await (const piece of output.body!) bytes += piece.length
  })
  t.diagnostic(
    `${before.toFixed(0)} MiB before, at most ${most.toFixed(0)} MiB; ${((performance.now() - began) / 1_000).toFixed(1)} s`,
  )
  assert.ok(received > asked.length * THOUSANDS)
  assert.equal(bytes, answered.length * THOUSANDS)
  const { data } = (await (await fetch(`${url}/api/usage/request-logs`, { headers })).json()) as any
  const record = data.find(({ method, endpoint }: any) => method === 'POST' && endpoint === '/v1/batches')
  assert.deepEqual(
    [record.state, record.tokens.input, record.tokens.output],
    ['completed', 3_000_000 * PART, 2_000_000 * PART],
  )
  assert.ok(Math.abs(record.cost_usd - 3.5 * PART) < 1e-6, `$${record.cost_usd}`)
  assert.ok(most - before < 2 * MAX_MORE_MIB, `${(most - before).toFixed(0)} MiB more`)
})

test('an endless form is cut off at the request time limit, in bounded memory, and is recorded', {
  skip: process.platform !== 'linux' && 'memory is read from /proc',
}, async (t) => {
  const provider = await startProvider(t, 0)
  const { url, child } = await serve(
    t,
    temporary(t),
    provider.origin,
    `providers: { one: { dialect: openai, base_url: "${provider.origin}/v1", key: $KEY } }
passthrough: [audio]`,
    '10s',
  )
  const began = performance.now()
  const { before, most } = await memoryOf(child.pid!, async () => {
    const sent = request(`${url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b', 'idempotency-key': 'endless' },
    })
    let isOver = false
    const over = new Promise<void>((resolve) => {
      const end = () => {
        isOver = true
        resolve()
      }
      sent
        .on('response', (response) => response.resume())
        .on('error', end)
        .on('close', end)
    })
    sent.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n')
    while (!isOver) {
      if (!sent.write(PIECE)) await Promise.race([once(sent, 'drain').catch(() => {}), over])
      await sleep(1)
    }
    await over
  })
  const seconds = (performance.now() - began) / 1_000
  t.diagnostic(
    `${before.toFixed(0)} MiB before, at most ${most.toFixed(0)} MiB; cut after ${seconds.toFixed(1)} s and ${(provider.received() / MIB).toFixed(0)} MiB`,
  )
  assert.ok(provider.received() > 10 * MIB)
  assert.ok(most - before < 2 * MAX_MORE_MIB, `${(most - before).toFixed(0)} MiB more`)
  for (let tries = 0; ; tries++) {
    const { data } = (await (await fetch(`${url}/api/usage/request-logs`)).json()) as any
    if (data[0].completed_at === null && tries < 100) await sleep(50)
    else {
      assert.deepEqual([data.length, data[0].state, data[0].attempts], [1, 'aborted', 1])
      return
    }
  }
})

test(`uploading and downloading ${Math.ceil(MIB_OF_A_GIGABYTE)} MiB takes less than 60 MiB of extra memory (PASS-02)`, {
  skip: process.platform !== 'linux' && 'memory is read from /proc',
}, async (t) => {
  const size = Math.ceil(MIB_OF_A_GIGABYTE)
  const provider = await startProvider(t, size)
  const { url, child } = await serve(t, temporary(t), provider.origin)
  await upload(url, 8, 'warm').catch(() => 0)
  const before = memory(child.pid!)
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, memory(child.pid!))
  }, 20)
  const began = performance.now()
  const bytes = await upload(url, size, 'large')
  clearInterval(watch)
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  t.diagnostic(
    `${before.toFixed(0)} MiB before, at most ${most.toFixed(0)} MiB; ${seconds} s for both directions`,
  )
  assert.equal(bytes, size * MIB)
  assert.ok(provider.received() >= size * MIB)
  assert.ok(most - before < MAX_MORE_MIB, `${(most - before).toFixed(0)} MiB more`)
})

const KILLS = IS_FULL ? 6 : 2

test('after a kill, every upload that a provider had begun to receive is recorded with one attempt (PASS-01)', async (t) => {
  const directory = temporary(t)
  const provider = await startProvider(t, 0)
  for (let kill = 0; kill < KILLS; kill++) {
    const { url, child } = await serve(t, directory, provider.origin)
    const uploads = Array.from({ length: 12 }, (_, n) =>
      upload(url, 24, `${kill}-${n}`).catch(() => 'broken'),
    )
    const wanted = provider.begun.length + 3 + kill
    while (provider.begun.length < wanted) await sleep(2)
    child.kill('SIGKILL')
    await once(child, 'close')
    await Promise.all(uploads)
  }
  const { child } = await serve(t, directory, provider.origin) // closes the calls that were left open
  child.kill('SIGTERM')
  await once(child, 'close')
  const db = new Database(databaseFile(join(directory, 'data')), { readonly: true })
  t.after(() => db.close())
  const attempts = db
    .prepare<[], { id: string; outcome: string }>(
      'SELECT session_id AS id, outcome FROM call_attempts JOIN call_logs ON call_logs.id = call_id',
    )
    .all()
  const open = db.prepare('SELECT count(*) AS n FROM call_logs WHERE completed_at IS NULL').get() as {
    n: number
  }
  t.diagnostic(
    `${provider.begun.length} uploads reached the provider; ${attempts.length} attempts are on record`,
  )
  assert.ok(provider.begun.length >= (KILLS * (KILLS + 5)) / 2)
  for (const id of provider.begun) {
    const own = attempts.filter((attempt) => attempt.id === id && attempt.outcome !== 'not_sent')
    assert.equal(own.length, 1, `upload ${id} arrived, and ${own.length} attempts tell of it`)
  }
  assert.equal(open.n, 0)
})
