// Port of the mock: reads requests from connections, calls the core, and sends the answers exactly as
// described: one write for each part, with optional cuts, resets and missing headers. Independent of
// providers and scenarios.
import { constants } from 'node:buffer'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { on, once, stray } from '../../src/shared/boundary.ts'
import { clock } from '../../src/shared/clock.ts'
import { asksForWebSocket, createHandshake } from '../../src/websocket/handshake.ts'
import { originOf, requestInside } from '../../src/websocket/inner-socket.ts'
import { ResponsesSocket } from '../../src/websocket/responses-socket.ts'
import { framed, type MockAnswer, type Outlet, perform } from '../answer.ts'
import { readForm } from '../form.ts'
import { endpointOf } from '../provider.ts'
import { placeUnder } from '../providers/find.ts'
import { contextOf, contextPath, pathOf } from './address.ts'
import type { World } from './core.ts'

/** Certificate and key of the server, as PEM; null for plain HTTP. */
type Tls = { readonly cert: string; readonly key: string } | null

/** Creates a server that is not listening yet. `onConnection` is called for every connection, used or not. */
export function createMockServer(world: World, onConnection: () => void, tls: Tls = null): Server {
  const options = {
    ...{ keepAliveTimeout: 300_000, noDelay: true },
    shouldUpgradeCallback: (request: IncomingMessage) => mayUpgrade(world, request),
  }
  // Clients reuse open connections. If the mock closed them first, it would cause races that providers do not
  // cause.
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    serve(world, request, response).catch((error: unknown) => {
      response.destroy()
      process.emitWarning(`the mock failed to answer ${request.method} ${pathOf(request)}: ${String(error)}`)
    })
  }
  const server =
    tls === null ? createServer(options, handle) : createTlsServer({ ...options, ...tls }, handle)
  server.requestTimeout = 0
  serveSockets(server)
  const connection = (socket: Socket) => {
    if (socket.remoteAddress === undefined) return // a message of a WebSocket
    below.set(`${socket.remoteAddress} ${socket.remotePort}`, socket)
    once(socket, 'close', () => below.delete(`${socket.remoteAddress} ${socket.remotePort}`), stray)
    onConnection()
  }
  on(server, { connection }, stray)
  return server
}

/** TCP connection below each TLS connection, by the client's address: only the TCP connection can be reset. */
const below = new Map<string, Socket>()

async function serve(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const at = clock.monotonic()
  const whole = await buffer(request).catch(() => null) // the client left early, or the body exceeds the maximum
  const body = whole && whole.length <= constants.MAX_STRING_LENGTH ? whole : null
  const method = request.method ?? 'GET'
  const { context, path } = contextOf(pathOf(request))
  const place = placeUnder(world.providers, method, path)
  const url = new URL(`${place.provider.origin}${place.basePath}/${place.path}${search(request.url)}`)
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  const form = await readForm(body, headers['content-type'])
  const self = `${'encrypted' in request.socket ? 'https' : 'http'}://${headers.host}${contextPath(context)}`
  const incoming = {
    ...{ method, url, path, headers, body, form, self, at, context, socket: originOf(request) },
  }
  const { answer, note, gate } = world.receive(incoming, place)

  const left = new AbortController()
  let weClosed = false
  const leave = () => {
    if (weClosed || left.signal.aborted || response.writableFinished) return
    note.peerLeft()
    left.abort()
  }
  once(response, 'close', leave, stray)
  if (body === null || response.destroyed) leave()

  try {
    const outlet = outletTo(response, answer, () => {
      weClosed = true
    })
    await perform(answer, outlet, { gate, gone: left.signal }, note)
    if (left.signal.aborted) response.destroy()
  } finally {
    note.done()
  }
}

/**
 * Creates the outlet of a response. `closing` is called before the mock closes the connection, so that the
 * ledger does not say that the client left.
 */
function outletTo(response: ServerResponse, answer: MockAnswer, closing: () => void): Outlet {
  const { socket } = response
  const head = () => {
    if (answer.status !== null && !response.headersSent) response.writeHead(answer.status, framed(answer))
  }
  return {
    // Waiting for each write preserves boundaries and applies backpressure.
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
        once(response, 'close', ended, stray) // even if the last bytes are never accepted
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

const search = (url = ''): string => (url.includes('?') ? url.slice(url.indexOf('?')) : '')

/** Maximum bytes of a message. */
const MAX_MESSAGE_BYTES = 64 * 2 ** 20

const HOUR_MS = 60 * 60_000

/** Returns true for an upgrade request at an endpoint with a WebSocket. */
function mayUpgrade({ providers }: Pick<World, 'providers'>, request: IncomingMessage): boolean {
  if (!asksForWebSocket(request)) return false
  const { provider, path } = placeUnder(providers, 'POST', contextOf(pathOf(request)).path)
  return endpointOf(provider, 'POST', path)?.endpoint.hasWebSocket === true
}

/** Serves the upgrades of a mock's server. */
function serveSockets(server: Server): void {
  const handshake = createHandshake(() => MAX_MESSAGE_BYTES)
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { connection, upgrade, ...rest } = request.headers
    const headers = Object.fromEntries(
      Object.entries(rest).filter(([name]) => !name.startsWith('sec-websocket')),
    )
    return handshake(request, socket, head).then((ws) => {
      const open: ResponsesSocket = new ResponsesSocket(ws, socket, {
        keyName: null,
        post: (body, own) =>
          requestInside(server, {
            ...{ method: 'POST', path: request.url!, body, origin: open },
            headers: {
              ...{ ...headers, ...own, 'content-type': 'application/json' },
              'content-length': Buffer.byteLength(body),
            },
          }),
        ...{ idle: HOUR_MS, life: HOUR_MS, hasState: false, breaksWithResponse: true },
        holdsTooMuch: () => false,
        onClose: () => server.off('stopping', cut),
      })
      const cut = once(server, 'stopping', () => open.terminate(), stray)
    })
  }
  on(server, { upgrade }, (_, __: unknown, socket: Duplex) => socket.destroy())
}
