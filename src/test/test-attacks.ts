// Ways in which one key, a provider or the store could fill the memory of the gateway or keep its thread busy. Runs in
// a thread of its own, so that it does not delay the other key's client. Each attack ends after a given time.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { MIB } from './test-answers.ts'
import { startAttackProvider } from './test-attack-provider.ts'

/** Waits for an event of a socket, or for its end. */
const either = (socket: Socket, event: string): Promise<void> =>
  new Promise((done) => {
    const go = () => {
      socket.off(event, go).off('close', go)
      done()
    }
    socket.on(event, go).on('close', go)
    if (socket.destroyed) go()
  })

/** What an attack can do at a gateway, as the key ann. */
class Attacker {
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  isOver = false

  constructor(port: number) {
    this.#port = port
  }

  end(): void {
    this.isOver = true
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Opens a connection that reads nothing. */
  open(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', allowHalfOpen: true })
    socket.pause()
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    this.#sockets.add(socket)
    return socket
  }

  /** Sends bytes in pieces, as fast as they are taken. */
  async send(socket: Socket, ...parts: readonly (string | Buffer)[]): Promise<void> {
    for (const part of parts) {
      const bytes = Buffer.from(part)
      for (let at = 0; at < bytes.length && !socket.destroyed; at += MIB)
        if (!socket.write(bytes.subarray(at, at + MIB))) await either(socket, 'drain')
    }
  }

  /** Sends a request whose answer is not read. */
  request(
    method: string,
    path: string,
    body: string | Buffer = '',
    headers: readonly string[] = [],
  ): Promise<void> {
    return this.send(this.open(), head(method, path, Buffer.byteLength(body), headers), body)
  }

  /** Makes `count` requests whose answers are not read. */
  async requests(count: number, method: string, path: string, body: string | Buffer = ''): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.request(method, path, body)))
  }

  /** Makes a request and returns its answer. */
  async fetch(method: string, path: string, body?: string): Promise<any> {
    const response = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
      ...{ method, headers: { authorization: 'Bearer key-of-ann', 'content-type': 'application/json' } },
      ...(body !== undefined && { body }),
    })
    return response.json()
  }

  /** Opens a WebSocket that reads nothing. */
  async webSocket(): Promise<Socket> {
    const socket = this.open()
    socket.write(
      head('GET', '/v1/responses', 0, [
        ...['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'],
        'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
      ]),
    )
    await either(socket, 'readable')
    return socket
  }
}

function head(method: string, path: string, length: number, headers: readonly string[] = []): string {
  const own = length > 0 ? ['content-type: application/json', `content-length: ${length}`] : []
  const all = ['host: localhost', 'authorization: Bearer key-of-ann', ...own, ...headers]
  return `${method} ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`
}

/** Returns a text as a frame of a client. The mask is zero. */
function frame(text: string | Buffer, isLast = true, opcode = 1): Buffer {
  const bytes = Buffer.from(text)
  const start = Buffer.alloc(14)
  start[0] = (isLast ? 0x80 : 0) | opcode
  const short = bytes.length < 126
  start[1] = 0x80 | (short ? bytes.length : 127)
  if (!short) start.writeBigUInt64BE(BigInt(bytes.length), 2)
  return Buffer.concat([start.subarray(0, short ? 6 : 14), bytes])
}

const letters = (bytes: number): string => 'x'.repeat(bytes)
const times = <Result>(count: number, make: (n: number) => Result): Result[] =>
  Array.from({ length: count }, (_, n) => make(n))

const chat = (text: string, more: object = {}): string =>
  JSON.stringify({ model: 'chat/m', messages: [{ role: 'user', content: text }], ...more })
const responses = (model: string, input: string, more: object = {}): string =>
  JSON.stringify({ model: `${model}/m`, input, ...more })
const create = (input: string, more: object = {}): Buffer =>
  frame(JSON.stringify({ type: 'response.create', model: 'responses/m', input, ...more }))

/** Warms up a conversation of 15 MB and continues it in 16 lanes. */
async function lanes(it: Attacker): Promise<void> {
  const socket = await it.webSocket()
  let said = ''
  socket.on('data', (bytes) => (said += bytes.toString('latin1')))
  socket.resume()
  await it.send(socket, create(letters(15 * MIB), { generate: false, store: false }))
  while (!/resp_warm_\w+/.test(said) && !socket.destroyed) await sleep(20)
  const id = /resp_warm_\w+/.exec(said)?.[0]
  socket.pause()
  const go = (n: number) => create('go on', { previous_response_id: id, stream_id: `${n}`, store: false })
  await it.send(socket, ...times(16, go))
}

const waiting = async (it: Attacker, count: number) =>
  it.send(await it.webSocket(), ...times(count, () => create(letters(15 * MIB))))
const half = async (it: Attacker) => it.send(await it.webSocket(), frame(letters(19 * MIB), false))

/** Stores a response with an input of `size` bytes and returns its id. */
const stored = async (it: Attacker, size: number, more: object = {}): Promise<string> =>
  (await it.fetch('POST', '/v1/responses', responses('responses', letters(size), more))).id

async function continued(it: Attacker, count: number): Promise<void> {
  const id = await stored(it, 18 * MIB)
  await it.requests(count, 'POST', '/v1/responses', responses('chat', 'go on', { previous_response_id: id }))
}

const endless = (it: Attacker, path: string, body: string) => it.requests(20, 'POST', path, body)
const CHAT = '/v1/chat/completions'
const FILES = '/v1/files'
const SPEECH = '/v1/audio/speech'

export const ATTACKS: Readonly<Record<string, (it: Attacker) => Promise<unknown>>> = {
  '8 MB of refused messages on one WebSocket': async (it) =>
    it.send(await it.webSocket(), Buffer.alloc(8 * MIB, frame('1'))),
  'a conversation of 15 MB in 16 lanes of a WebSocket': lanes,
  'a conversation of 15 MB in 16 lanes of each of 12 WebSockets': (it) =>
    Promise.all(times(12, () => lanes(it))),
  '60 waiting messages of 15 MB on one WebSocket': (it) => waiting(it, 60),
  '60 waiting messages of 15 MB on four WebSockets': (it) => Promise.all(times(4, () => waiting(it, 15))),
  'half messages of 19 MB on 60 WebSockets': (it) => Promise.all(times(60, () => half(it))),
  'half messages of 19 MB on 300 WebSockets': (it) => Promise.all(times(300, () => half(it))),
  'fragments of one byte on 40 WebSockets': (it) =>
    Promise.all(
      times(40, async () => {
        const socket = await it.webSocket()
        const fragments = Buffer.alloc(MIB, frame('x', false, 0))
        await it.send(socket, frame('x', false), ...times(8, () => fragments))
      }),
    ),
  '1,000 WebSockets that say nothing': (it) => Promise.all(times(1_000, () => it.webSocket())),
  'a stored response of 18 MB, continued 60 times': (it) => continued(it, 60),
  'a stored response of 18 MB, continued 200 times': (it) => continued(it, 200),
  '300 unread lists of the input of a stored response': async (it) => {
    const id = await stored(it, 18 * MIB)
    await it.requests(300, 'GET', `/v1/responses/${id}/input_items`)
  },
  'a chain of four stored responses of 15 MB': async (it) => {
    let previous_response_id: string | undefined
    for (let n = 0; n < 4 && !it.isOver; n++)
      previous_response_id = await stored(it, 15 * MIB, { previous_response_id })
  },
  '30 responses of 15 MB that are stored at once': (it) =>
    it.requests(30, 'POST', '/v1/responses', responses('responses', letters(15 * MIB))),
  'four lists of 7 MB in chunks of one byte': (it) => it.requests(4, 'GET', `${FILES}?after=tiny`),
  '20 answers of 1 MB in chunks of one byte': (it) =>
    it.requests(20, 'POST', SPEECH, JSON.stringify({ model: 'chat/m', input: 'tiny-json' })),
  'ten events without an end in chunks of one byte': (it) =>
    it.requests(10, 'POST', SPEECH, JSON.stringify({ model: 'chat/m', input: 'tiny-event' })),
  '40 lists of 7 MB': (it) => it.requests(40, 'GET', FILES),
  '60 bodies of 19 MB that never end': (it) =>
    Promise.all(times(60, () => it.send(it.open(), head('POST', CHAT, 20 * MIB), letters(19 * MIB)))),
  '240 unread answers of 8 MB': (it) => it.requests(240, 'POST', CHAT, chat(`size=${8 * MIB} status=200`)),
  '60 unread translated answers of 8 MB': (it) =>
    it.requests(
      60,
      'POST',
      '/v1/messages',
      chat(`size=${8 * MIB} status=200`, { model: 'gemini/m', max_tokens: 9 }),
    ),
  'endless events in chat': (it) => endless(it, CHAT, chat('endless-event', { stream: true })),
  'endless events in messages': (it) =>
    endless(it, '/v1/messages', chat('endless-event', { model: 'messages/m', max_tokens: 9, stream: true })),
  'endless events in responses': (it) =>
    endless(it, '/v1/responses', responses('responses', 'endless-event', { stream: true })),
  'endless events in gemini': (it) =>
    endless(
      it,
      '/v1beta/models/gemini/m:streamGenerateContent?alt=sse',
      JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'endless-event' }] }] }),
    ),
  'endless events in a translation': (it) =>
    endless(it, '/v1/responses', responses('chat', 'endless-event', { stream: true })),
  '40 translated streams of 16 MB': (it) =>
    it.requests(
      40,
      'POST',
      '/v1/responses',
      responses('chat', `size=${16 * MIB} status=200`, { stream: true }),
    ),
  '20 answers of 30 MB that the provider keeps': async (it) => {
    const id = await stored(it, 10)
    await it.fetch('DELETE', `/v1/responses/${id}`) // from the store of the gateway
    await it.requests(20, 'GET', `/v1/responses/${id}`)
  },
  'unread lists, exports and live feeds': async (it) => {
    await Promise.all(times(200, () => it.fetch('POST', CHAT, chat('hello'))))
    const paths = ['/api/usage/request-logs?limit=200', '/api/usage/export', '/api/usage/live']
    const many = (path: string) => head('GET', path, 0).repeat(16)
    await Promise.all(times(90, (n) => it.send(it.open(), many(paths[n % 3]!))))
    while (!it.isOver) await it.fetch('POST', CHAT, chat('hello'))
  },
  '40 background calls of 10 MB': (it) =>
    it.requests(40, 'POST', '/v1/responses', responses('chat', letters(10 * MIB), { background: true })),
  'items of 24 MB from the WebSockets of a provider': (it) =>
    it.requests(20, 'POST', '/v1/responses', responses('sockets', 'hello', { stream: true })),
  '1,000 error bodies of 1 MB': (it) =>
    it.requests(1_000, 'POST', CHAT, chat(`size=${MIB - 100} status=400`)),
  '60 uploads of 19 MB that the provider does not read': (it) =>
    it.requests(60, 'POST', FILES, letters(19 * MIB)),
  '1,000 connections with 16 waiting requests of 15 kB': (it) =>
    Promise.all(
      times(1_000, () => {
        const waits = head('GET', '/healthz', 0, [`x-pad: ${letters(15_000)}`])
        return it.send(it.open(), head('POST', CHAT, 10), waits.repeat(16))
      }),
    ),
  '20 answers of 100 MB, compressed': (it) => it.requests(20, 'POST', CHAT, chat('gzip')),
}

if (!isMainThread && workerData === 'attacks') {
  const provider = await startAttackProvider()
  let attacker: Attacker | null = null
  parentPort!.on('message', async ({ name, port, ms }: { name: string | null; port: number; ms: number }) => {
    if (name === null) {
      parentPort!.postMessage(provider.inferences())
      provider.close()
      process.exit()
    }
    attacker = new Attacker(port)
    const attack = ATTACKS[name]!(attacker).catch((error) => {
      if (!attacker!.isOver) throw error
    })
    const end = sleep(ms)
    await Promise.race([Promise.all([attack, end]), sleep(2 * ms)])
    await end
    attacker.end()
    parentPort!.postMessage('over')
  })
  parentPort!.postMessage(provider.port)
}
