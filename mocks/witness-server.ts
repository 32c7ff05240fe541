// The witness's port: reads requests off connections, asks the world, and sends the answers as intended:
// one write for each part, no head where there is none, cuts and resets. Knows no provider and no scenario.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { type Answer, framed, type Outlet, perform } from './answer.ts'
import { now } from './ledger.ts'
import { placeUnder } from './places.ts'
import type { World } from './world.ts'

/** The server's certificate and key, as PEM; null for plain HTTP. */
export type Tls = { readonly cert: string; readonly key: string } | null

/** A server that is not listening yet. `onConnection` is called for every connection, used or not. */
export function createWitnessServer(world: World, onConnection: () => void, tls: Tls = null): Server {
  const options = { keepAliveTimeout: 300_000, noDelay: true }
  // Clients keep connections open for reuse; a server that closes them first makes races that no provider makes.
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    serve(world, request, response).catch((error: unknown) => {
      response.destroy()
      process.emitWarning(
        `the witness failed to answer ${request.method} ${pathOf(request)}: ${String(error)}`,
      )
    })
  }
  const server =
    tls === null ? createServer(options, handle) : createTlsServer({ ...options, ...tls }, handle)
  server.requestTimeout = 0
  return server.on('connection', (socket: Socket) => {
    below.set(`${socket.remoteAddress} ${socket.remotePort}`, socket)
    socket.once('close', () => below.delete(`${socket.remoteAddress} ${socket.remotePort}`))
    onConnection()
  })
}

/** The TCP connection below each one that speaks TLS, which alone can be reset; by the client's address. */
const below = new Map<string, Socket>()

async function serve(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const at = now()
  const text = await textOf(request).catch(() => null) // they left before its end, or it is longer than any text
  const method = request.method ?? 'GET'
  const path = pathOf(request)
  const place = placeUnder(world.providers, method, path)
  const url = new URL(`${place.provider.origin}${place.basePath}/${place.path}${search(request.url)}`)
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  const incoming = { method, url, path, headers, text, at }
  const { answer, note } = world.receive(incoming, place)

  const left = new AbortController()
  let weClosed = false
  const leave = () => {
    if (weClosed || left.signal.aborted || response.writableFinished) return
    note.peerLeft()
    left.abort()
  }
  response.once('close', leave)
  if (text === null || response.destroyed) leave()

  try {
    const outlet = outletTo(response, answer, () => {
      weClosed = true
    })
    await perform(answer, outlet, { gate: world.gate, gone: left.signal }, note)
    if (left.signal.aborted) response.destroy()
  } finally {
    note.done()
  }
}

/** `closing` is called before we close the connection ourselves: only who did not may be said to have left. */
function outletTo(response: ServerResponse, answer: Answer, closing: () => void): Outlet {
  const { socket } = response
  const head = () => {
    if (answer.status !== null && !response.headersSent) response.writeHead(answer.status, framed(answer))
  }
  return {
    // Waiting for each write keeps boundaries apart, and a slow reader slows us down.
    write(bytes) {
      head()
      if (bytes.length === 0) {
        response.flushHeaders()
        return Promise.resolve()
      }
      return new Promise((taken) => {
        if (answer.status === null) socket?.write(bytes, () => taken())
        else response.write(bytes, () => taken())
      })
    },
    end() {
      head()
      if (answer.status === null) {
        closing()
        socket?.destroySoon()
        return Promise.resolve()
      }
      return new Promise((ended) => {
        response.once('close', ended) // also when the last bytes are never taken
        response.end(ended)
      })
    },
    cut() {
      closing()
      socket?.destroySoon()
    },
    reset() {
      closing()
      if (socket && 'encrypted' in socket)
        below.get(`${socket.remoteAddress} ${socket.remotePort}`)?.resetAndDestroy()
      else socket?.resetAndDestroy()
    },
  }
}

/** Without the query, which may contain a key. */
const pathOf = ({ url = '/' }: IncomingMessage): string => url.replace(/\?.*$/s, '')

const search = (url = ''): string => (url.includes('?') ? url.slice(url.indexOf('?')) : '')
