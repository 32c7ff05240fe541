// Mutated frames through each socket of the real program: from a client over a WebSocket, from a provider over a
// WebSocket, and events from a provider over HTTP, in every dialect and translation. A quarter is broken below the text,
// too: lengths, flags, chunks, cut connections. The gateway survives, ends every exchange in time, closes every record
// and has no fault. WAYBILL_FUZZ sets the number of frames for each socket. WAYBILL_FUZZ_SEED repeats the frames, but
// not their timing.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket, WebSocketServer } from 'ws'
import { message, response, streamOf } from '../dialects/responses/test-samples.ts'
import { callsFor, ALL as DIALECTS, type SampleCall } from '../dialects/test-samples.ts'
import { startServer } from './test-cli.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { Mutator } from './test-mutations.ts'
import { IS_FULL } from './test-size.ts'
import { until } from './test-until.ts'

const FRAMES = Number(process.env.WAYBILL_FUZZ ?? (IS_FULL ? 10_000 : 1_000))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? Date.now() % 2 ** 31)
const OPTIONS = { timeout: 3_600_000 }
/** Exchanges at once. */
const LANES = 8
/** Maximum time of an exchange, ms. The gateway gives up a silent provider after a second. */
const HANG_MS = 60_000

const STREAMS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  DIALECTS.map(([name, , samples]) => [name, samples.stream('m').split(/(?<=\n\n)/)]),
)
const OUTPUT = streamOf(
  { type: 'response.created', response: response('m', 'in_progress') },
  { type: 'response.output_item.done', output_index: 0, item: message('Grüße') },
  { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: '👋' },
  { type: 'response.completed', response: response('m', 'completed', { output: [message('Grüße')] }) },
).split(/(?<=\n\n)/)

/** Returns mutated events, mostly in their order. */
const eventsOf = (sample: readonly string[], mutator: Mutator): string[] =>
  sample.map((event) => mutator.mutate(mutator.below(10) === 0 ? mutator.pick(sample) : event))

/** Returns a text as a frame. The mask is zero. */
function frame(text: string | Buffer, isMasked: boolean, opcode = 1, isLast = true): Buffer {
  const bytes = Buffer.from(text)
  const isShort = bytes.length < 126
  const head = Buffer.alloc(isShort ? 2 : 10)
  head[0] = (isLast ? 0x80 : 0) | opcode
  head[1] = (isMasked ? 0x80 : 0) | (isShort ? bytes.length : 127)
  if (!isShort) head.writeBigUInt64BE(BigInt(bytes.length), 2)
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), bytes])
}

/** Returns a text as one or several frames. */
function framesOf(text: string, isMasked: boolean, mutator: Mutator): Buffer {
  if (mutator.below(8) > 0) return frame(text, isMasked)
  const parts = mutator.pieces(Buffer.from(text))
  const ping = frame('x', isMasked, 9)
  return Buffer.concat(
    parts.flatMap((part, at) => [
      frame(part, isMasked, at === 0 ? 1 : 0, at === parts.length - 1),
      ...(mutator.below(4) === 0 ? [ping] : []),
    ]),
  )
}

/** Breaks frames below their text. */
function broken(frames: Buffer, mutator: Mutator): Buffer {
  const bytes = Buffer.from(frames)
  const at = mutator.below(mutator.below(2) === 0 ? Math.min(14, bytes.length) : bytes.length)
  switch (mutator.below(4)) {
    case 0:
      return bytes.subarray(0, at)
    case 1:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([mutator.below(256)]), bytes.subarray(at)])
    default:
      bytes[at] = bytes[at]! ^ (1 << mutator.below(8))
      return bytes
  }
}

/** Ends of a provider's connection. */
type End = 'whole' | 'cut' | 'silent'
const endOf = (mutator: Mutator): End =>
  mutator.below(32) === 0 ? 'silent' : mutator.below(4) === 0 ? 'cut' : 'whole'

/** Answers with mutated events over HTTP. */
async function answerEvents(out: ServerResponse, dialect: string, seed: number): Promise<number> {
  const mutator = new Mutator(seed)
  const events = eventsOf(STREAMS[dialect]!, mutator)
  const pieces = mutator.pieces(Buffer.from(events.join('')))
  const end = endOf(mutator)
  if (mutator.below(4) === 0) {
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`)
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
    out.socket?.write(mutator.mutate(`${head}${chunks.join('')}0\r\n\r\n`), 'latin1')
    if (end !== 'silent') out.socket?.end()
    return events.length
  }
  out.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const piece of pieces) {
    out.write(piece)
    if (mutator.below(8) === 0) await sleep(1)
  }
  if (end === 'whole') out.end()
  else if (end === 'cut') out.destroy()
  return events.length
}

/** Answers with mutated messages over a WebSocket. */
function answerFrames(ws: WebSocket, seed: number): number {
  const mutator = new Mutator(seed)
  const { _socket: socket } = ws as unknown as { _socket: Socket }
  const events = eventsOf(mutator.below(2) === 0 ? OUTPUT : STREAMS.responses!, mutator)
  const isBroken = mutator.below(4) === 0
  for (const event of events) {
    const bytes = framesOf(event.slice(event.indexOf('{')), false, mutator)
    socket.write(isBroken ? broken(bytes, mutator) : bytes)
  }
  const end = endOf(mutator)
  if (end === 'whole') socket.write(frame(`{"type":"response.failed","response":{"id":"r"}}`, false))
  else if (end === 'cut') socket.destroy()
  return events.length
}

const seedIn = (text: string): number | null => Number(/seed=(\d+)/.exec(text)?.[1] ?? Number.NaN) || null
const MODES = ['chat', 'messages', 'responses', 'gemini']

/** Starts a provider for all dialects. A request with a seed gets mutated frames; another gets a whole answer. */
async function startProvider(t: TestContext) {
  const sent = { frames: 0 }
  const server = createServer(async (request, out) => {
    let text = ''
    for await (const piece of request) text += piece
    const dialect = MODES.find((name) => request.url!.includes(`/${name}/`))!
    const seed = seedIn(text)
    if (seed !== null) sent.frames += await answerEvents(out, dialect, seed)
    else
      out
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end((dialect === 'responses' ? OUTPUT : STREAMS[dialect]!).join(''))
  })
  server.keepAliveTimeout = 300_000
  const sockets = new WebSocketServer({ noServer: true })
  server.on('clientError', (_, socket) => socket.destroy())
  server.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (ws) => {
      ws.on('error', () => {})
      ws.on('message', (data) => {
        const seed = seedIn(String(data))
        if (seed !== null) sent.frames += answerFrames(ws, seed)
        else for (const event of OUTPUT) ws.send(event.slice(event.indexOf('{')).trim())
      })
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const ws of sockets.clients) ws.terminate()
    server.closeAllConnections()
    server.close()
  })
  return { sent, base: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Returns the first faults in a process log. */
const faultsIn = (log: string): string =>
  log
    .split('\n')
    .filter((line) => line.includes('internal error'))
    .slice(0, 3)
    .join('\n')

async function start(t: TestContext) {
  const { sent, base } = await startProvider(t)
  const data = temporaryDirectory(t)
  const file = join(data, 'waybill.yaml')
  const providers = MODES.map((name) => `${name}: { dialect: ${name}, base_url: "${base}/${name}/v1" }`)
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${data}/data
providers:
  ${providers.join('\n  ')}
  sockets: { dialect: responses, base_url: "${base}/sockets/v1", websocket: on }
resilience: { connect: 5s, idle: 1s, answer: 5s, stream_first_event: 1s, retries: 0, cooldown: 0s }`,
  )
  const { url, child, said } = await startServer(t, ['serve', '--config', file])
  const metric = async (name: string) => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1])
  }
  return {
    url,
    sent,
    /** Checks that the gateway lives, works, has closed every record, and holds nothing. */
    async check() {
      assert.equal(child.exitCode ?? child.signalCode, null, said.stderr + said.stdout.slice(-2_000))
      assert.equal((await fetch(`${url}/healthz`)).status, 200)
      const body = JSON.stringify({
        model: 'chat/m',
        stream: true,
        messages: [{ role: 'user', content: 'x' }],
      })
      const headers = { 'content-type': 'application/json' }
      const plain = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
      assert.match(await plain.text(), /\[DONE\]/)
      await until('every record is closed', async () => {
        const { data } = (await (await fetch(`${url}/api/usage/request-logs?limit=200`)).json()) as any
        return data.every((each: any) => each.completed_at !== null)
      })
      await until('nothing is held', async () => (await metric('waybill_memory_held_bytes')) < 2 ** 16)
      assert.equal(await metric('waybill_internal_errors_total'), 0, faultsIn(said.stdout))
    },
  }
}

/** Runs exchanges until enough frames were sent. A failure names the seed of its exchange. */
async function run(t: TestContext, frames: () => number, exchange: (seed: number) => Promise<unknown>) {
  process.stderr.write(`${t.name}: WAYBILL_FUZZ_SEED=${SEED} repeats it\n`) // seen even if it hangs
  let [next, slowest, hasFailed] = [SEED, 0, false]
  const begin = performance.now()
  const lane = async () => {
    while (frames() < FRAMES && !hasFailed) {
      const seed = next++ || next++
      const begun = performance.now()
      const late = sleep(HANG_MS, 'late', { ref: false })
      const how = await Promise.race([exchange(seed), late]).catch((cause) => {
        hasFailed = true
        throw new Error(`WAYBILL_FUZZ=1 WAYBILL_FUZZ_SEED=${seed}`, { cause })
      })
      hasFailed ||= how === 'late'
      assert.notEqual(how, 'late', `the exchange hangs: WAYBILL_FUZZ=1 WAYBILL_FUZZ_SEED=${seed}`)
      slowest = Math.max(slowest, performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  t.diagnostic(
    `${frames()} frames in ${next - SEED} exchanges, ${Math.round((performance.now() - begin) / 1_000)} s, slowest ${Math.round(slowest)} ms`,
  )
}

const create = (more: object) =>
  JSON.stringify({ type: 'response.create', model: 'responses/m', input: 'hello', ...more })
/** Messages of a client. */
const MESSAGES = [
  create({}),
  create({ store: false, stream_id: 'a', input: [message('hello')] }),
  create({ store: false, stream_id: 'b', previous_response_id: 'resp_1' }),
  create({ model: 'chat/m', generate: false, store: false, tools: [{ type: 'function', name: 'f' }] }),
  create({ model: 'sockets/m', metadata: { a: '1' }, reasoning: { effort: 'low' } }),
  '{"type":"response.cancel","stream_id":"a"}',
]
const LAST = 'last'

test('mutated frames of a client over a WebSocket', OPTIONS, async (t) => {
  const gateway = await start(t)
  let frames = 0
  await run(
    t,
    () => frames,
    async (seed) => {
      const mutator = new Mutator(seed)
      const ws = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`)
      const closed = new Promise((resolve) => ws.on('error', () => {}).on('close', resolve))
      await Promise.race([once(ws, 'open'), closed])
      const { _socket: socket } = ws as unknown as { _socket: Socket }
      const isBroken = mutator.below(4) === 0
      for (let left = 1 + mutator.below(16); left > 0 && ws.readyState === ws.OPEN; left--) {
        const bytes = framesOf(mutator.mutate(mutator.pick(MESSAGES)), true, mutator)
        for (const piece of mutator.below(4) === 0 ? mutator.pieces(bytes) : [bytes])
          socket.write(isBroken ? broken(piece, mutator) : piece)
        frames++
        if (mutator.below(8) === 0) await sleep(1)
      }
      const answered = new Promise<void>((resolve) =>
        ws.on('message', (data) => {
          const { stream_id, type } = JSON.parse(String(data))
          if (stream_id === LAST && /^(error|response\.(completed|incomplete|failed))$/.test(type)) resolve()
        }),
      )
      if (!isBroken) {
        ws.send(create({ stream_id: LAST }), () => {})
        await Promise.race([answered, closed])
      }
      ws.terminate()
    },
  )
  await gateway.check()
})

/** Sends a streamed request, and reads its answer to the end or until it is cut. */
async function send(url: string, { path, query, body }: SampleCall, seed: number, model: string) {
  const at = path.replace('MODEL', () => encodeURIComponent(model))
  const answer = fetch(`${url}${at}${query && `?${query.replace(/^\?/, '')}`}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: body.replace('"MODEL"', () => JSON.stringify(model)).replace('hi"', () => `hi seed=${seed}"`),
  })
  await answer.then((response) => response.text()).catch(() => {})
}

const CALLS = callsFor(() => 'MODEL').filter(
  ({ dialect, counts, body, query }) =>
    MODES.includes(dialect) && !counts && /"stream": ?true|sse/.test(body + query),
)

test('mutated events of a provider over HTTP', OPTIONS, async (t) => {
  const gateway = await start(t)
  await run(
    t,
    () => gateway.sent.frames,
    (seed) => {
      const mutator = new Mutator(seed)
      return send(gateway.url, mutator.pick(CALLS), seed, `${mutator.pick(MODES)}/m`)
    },
  )
  await gateway.check()
})

test('mutated frames of a provider over a WebSocket', OPTIONS, async (t) => {
  const gateway = await start(t)
  await run(
    t,
    () => gateway.sent.frames,
    (seed) => send(gateway.url, CALLS.find(({ dialect }) => dialect === 'responses')!, seed, 'sockets/m'),
  )
  await gateway.check()
})
