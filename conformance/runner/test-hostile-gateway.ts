// Gateway for bounds.slow-test.ts: forwards its first calls, and then is hostile in the way that its first
// argument names.
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'

/** Calls that are forwarded before the hostile behaviour. */
const FRIENDLY = 8

const JSON_TYPE = { 'content-type': 'application/json' }
const SSE_TYPE = { 'content-type': 'text/event-stream' }

/** Writes response headers, and then the same piece until the client leaves. */
const endless =
  (headers: Record<string, string>, first: string, piece: string) =>
  (response: ServerResponse): void => {
    response.writeHead(200, headers)
    const write = (): void => {
      let room = true
      while (room && !response.destroyed) room = response.write(piece)
    }
    response.on('drain', write)
    response.write(first)
    write()
  }

const chunk = {
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'x'.repeat(4_000) } }],
}

/** Sends this many MiB of zeros, compressed with gzip once or twice. */
const bomb = (megabytes: number, twice: boolean) => (response: ServerResponse) => {
  const once = gzipSync(Buffer.alloc(megabytes * 2 ** 20))
  response.writeHead(200, { ...JSON_TYPE, 'content-encoding': twice ? 'gzip, gzip' : 'gzip' })
  response.end(twice ? gzipSync(once) : once)
}

/** Hostile behaviours by name. */
export const HOSTILITIES = {
  'streams without end': endless(SSE_TYPE, '', `data: ${JSON.stringify(chunk)}\n\n`),
  'sends tiny events without end': endless(SSE_TYPE, '', 'data: 1\n\n'.repeat(1_000)),
  'sends JSON without end': endless(JSON_TYPE, '{"id":"', 'x'.repeat(16_000)),
  'lists models without end': endless(
    JSON_TYPE,
    '{"object":"list","data":[',
    '{"id":"a-model","object":"model"},'.repeat(200),
  ),
  'sends a bomb': bomb(512, false),
  'sends a bomb in a bomb': bomb(512, true),
  'nests brackets': (response) => {
    response.writeHead(200, JSON_TYPE).end('['.repeat(8 * 2 ** 20))
  },
  'sends headers without end': ({ socket }) => {
    const write = (): void => {
      let room = true
      while (room && !socket!.destroyed) room = socket!.write(`x-filler: ${'x'.repeat(4_000)}\r\n`)
    }
    socket!.on('drain', write).on('error', () => {})
    socket!.write('HTTP/1.1 200 OK\r\n')
    write()
  },
  'sends interim answers without end': ({ socket }) => {
    const write = (): void => {
      let room = true
      while (room && !socket!.destroyed)
        room = socket!.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(200))
    }
    socket!.on('drain', write).on('error', () => {})
    write()
  },
  'drips a byte each 300 ms': (response) => {
    response.writeHead(200, JSON_TYPE)
    const ticking = setInterval(() => response.write(' '), 300)
    response.on('close', () => clearInterval(ticking))
  },
  'says nothing more': () => {},
} satisfies Record<string, (response: ServerResponse) => void>

function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { PROVIDER, KEY }: NodeJS.ProcessEnv,
): void {
  const headers = { ...request.headers, authorization: `Bearer ${KEY}` }
  const upstream = ask(`${PROVIDER}${request.url}`, { method: 'POST', headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(response)
  })
  upstream.on('error', () => response.destroy())
  request.pipe(upstream)
}

if (import.meta.main) {
  const hostility = HOSTILITIES[process.argv[2] as keyof typeof HOSTILITIES]
  let calls = 0
  createServer((request, response) => {
    response.on('error', () => {})
    if (request.url === '/healthz') return response.end('{}')
    if (request.method === 'POST' && ++calls <= FRIENDLY) return passOn(request, response, process.env)
    request.resume()
    // Writes to an answer without a body would never fill a buffer.
    if (request.method === 'HEAD') return response.end()
    return hostility(response)
  }).listen(Number(process.env.PORT), '127.0.0.1')
}
