// A provider that answers as a hostile or very odd one could: huge, endless, compressed, in chunks of one byte, or not
// at all. The text of a request says how. Counts the inferences.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { WebSocketServer } from 'ws'
import { drained } from '../../mocks/test-upstream.ts'
import { MIB, STREAMS, WHOLE } from './test-answers.ts'

const filled = new Map<string, Buffer>()

/** Returns a text with `size` letters in its gap. Equal ones are made once. */
function fill(text: string, size: number): Buffer {
  const name = `${size} ${text}`
  const made = filled.get(name) ?? Buffer.from(text.replace('@', () => 'x'.repeat(size)))
  filled.set(name, made)
  return made
}

/** Returns bytes as HTTP chunks of one byte each. */
function inChunks(bytes: Buffer): Buffer {
  const chunks = Buffer.alloc(6 * bytes.length, '1\r\n \r\n')
  for (let at = 0; at < bytes.length; at++) chunks[6 * at + 3] = bytes[at]!
  return chunks
}

/** Returns a list of files with a length of about `size` bytes. */
const fileList = (size: number): string =>
  JSON.stringify({
    object: 'list',
    data: Array.from({ length: size / 128 }, (_, n) => ({
      ...{ id: `file-${n}`, object: 'file', purpose: 'batch', filename: 'x'.repeat(40) },
    })),
    has_more: false,
  })

/** Sends pieces until the client has left. */
async function endless(response: ServerResponse, piece: Buffer): Promise<void> {
  while (!response.destroyed) if (!response.write(piece)) await drained(response)
}

/** Sends an answer in chunks of one byte. */
function tiny({ socket }: ServerResponse, type: string, bytes: Buffer): void {
  socket!.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`)
  socket!.write(inChunks(bytes))
  socket!.write('0\r\n\r\n')
}

const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'

const kindOf = (url: string): string =>
  ['embeddings', 'images', 'messages', 'responses', 'chat'].find((name) => url.includes(name)) ?? 'gemini'

async function answer(request: IncomingMessage, response: ServerResponse, count: () => void): Promise<void> {
  const url = request.url!
  if (request.method === 'POST' && url.startsWith('/v1/files')) return // reads nothing
  let text = ''
  for await (const piece of request) if (text.length < 2 * MIB) text += piece
  if (url.startsWith('/v1/files')) {
    if (url.includes('tiny')) tiny(response, JSON_TYPE, Buffer.from(fileList(7 * MIB)))
    else response.writeHead(200, { 'content-type': JSON_TYPE }).end(fileList(7 * MIB))
    return
  }
  const kind = kindOf(url)
  if (request.method === 'DELETE') {
    response.writeHead(200, { 'content-type': JSON_TYPE }).end('{"deleted":true}')
    return
  }
  if (request.method === 'GET') {
    const kept = { ...WHOLE.responses, id: url.split('/').at(-1) }
    response.writeHead(200, { 'content-type': JSON_TYPE }).end(fill(JSON.stringify(kept), 30 * MIB))
    return
  }
  count()
  const [, size = '1', status = '200'] = /size=(\d+) status=(\d+)/.exec(text) ?? []
  const [begin, piece, end] = STREAMS[kind] ?? STREAMS.chat!
  if (text.includes('tiny-json')) tiny(response, JSON_TYPE, Buffer.from(`{"x":"${'x'.repeat(MIB)}"}`))
  else if (text.includes('tiny-event'))
    tiny(response, EVENTS, Buffer.from(`data: {"x":"${'x'.repeat(4 * MIB)}`))
  else if (text.includes('endless-event')) {
    response.writeHead(200, { 'content-type': EVENTS })
    response.write(`${begin}data: {"x":"`)
    await endless(response, Buffer.alloc(MIB / 16, 'x'))
  } else if (text.includes('gzip')) {
    response.writeHead(200, { 'content-type': JSON_TYPE, 'content-encoding': 'gzip' })
    response.end(zipped())
  } else if (!/"stream":true|alt=sse/.test(text + url)) {
    const failed = Number(status) >= 400
    const id = `resp_${Math.random().toString(36).slice(2)}`
    const made = failed
      ? WHOLE.error
      : kind === 'responses'
        ? { ...WHOLE.responses, store: true }
        : WHOLE[kind]
    const bytes = fill(JSON.stringify(made), Number(size))
    response.writeHead(Number(status), { 'content-type': JSON_TYPE })
    response.end(
      kind === 'responses' ? Buffer.from(String(bytes).replace('"id":"c"', `"id":"${id}"`)) : bytes,
    )
  } else {
    response.writeHead(200, { 'content-type': EVENTS })
    response.write(begin)
    for (let sent = 0; sent < Number(size) && !response.destroyed; sent += MIB / 16)
      if (!response.write(fill(piece, Math.min(Number(size), MIB / 16)))) await drained(response)
    response.end(end)
  }
}

let compressed: Buffer | null = null
/** Returns an answer of 100 MiB, compressed to some hundred KiB. */
const zipped = (): Buffer =>
  (compressed ??= gzipSync(fill(JSON.stringify(WHOLE.chat), 100 * MIB), { level: 1 }))

interface AttackProvider {
  readonly port: number
  /** Inferences so far. */
  inferences(): number
  close(): void
}

export async function startAttackProvider(): Promise<AttackProvider> {
  let inferences = 0
  const count = () => void inferences++
  const server = createServer((request, response) => {
    answer(request, response, count).catch(() => response.destroy())
  })
  server.keepAliveTimeout = 300_000 // longer than the gateway keeps an idle connection
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    sockets.handleUpgrade(request, socket, head, (ws) => {
      ws.on('error', () => {})
      ws.on('message', () => {
        count()
        const item = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: '@' }] }
        ws.send('{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}')
        for (let n = 0; n < 4; n++)
          ws.send(
            fill(
              JSON.stringify({ type: 'response.output_item.done', output_index: n, item }),
              24 * MIB,
            ).toString(),
          )
      })
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    inferences: () => inferences,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
