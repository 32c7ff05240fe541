// Mock server: all providers on one port of this machine, with a ledger of the requests, and a control port. The port
// reads requests from connections, calls the core, and sends the answers exactly as described: one write for each part.

import { constants } from 'node:buffer'
import { once as until } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { on, once, stray } from '../../src/shared/boundary.ts'
import { clock, useClock } from '../../src/shared/clock.ts'
import { asksForWebSocket, createHandshake } from '../../src/websocket/handshake.ts'
import { originOf, requestInside } from '../../src/websocket/inner-socket.ts'
import { ResponsesSocket } from '../../src/websocket/responses-socket.ts'
import { framed, type MockAnswer, type Outlet, perform } from '../answer.ts'
import { readForm } from '../form.ts'
import { endpointOf } from '../provider.ts'
import { placeUnder } from '../providers/registry.ts'
import { createControlServer } from './control-server.ts'
import { createWorld, type MockContext, type MockControls, type World, type WorldOptions } from './core.ts'

export interface MockOptions extends WorldOptions {
  /** Host on which the providers listen; default 127.0.0.1. */
  readonly host?: string
  /** Name or address that clients use for the mock, if it differs from `host`. */
  readonly name?: string
  /** Certificate and key as PEM; default plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Default 0: any free port. */
  readonly port?: number
  /** Port of the control server, which is always on 127.0.0.1, even with another `host`. */
  readonly controlPort?: number
}

/** Context of one test, with its own addresses. */
export interface MockServerContext extends MockContext {
  readonly url: string
  /** Returns a provider's base URL in this context: `http://127.0.0.1:PORT/t/NAME/openai/v1`. */
  baseUrl(provider: string): string
}

export interface MockProviders extends MockControls {
  /** `http://127.0.0.1:PORT`, for gateways that accept only an origin. */
  readonly url: string
  readonly controlUrl: string
  readonly providers: readonly string[]
  /** Returns a provider's base URL: `http://127.0.0.1:PORT/groq/openai/v1`. Throws for an unknown name. */
  baseUrl(provider: string): string
  /** Returns the key that a provider accepts. */
  key(provider: string): string
  /**
   * Returns the part of the mock that belongs to one test: its ledger, scripts, gates and turns. A request
   * belongs to it if it uses its base URL, its header or its key.
   */
  context(name: string): MockServerContext
  /** TCP connections accepted so far, used or not. */
  readonly connections: number
  /**
   * With false, refuses connections and resets open connections. With true, listens on the same port again.
   */
  setReachable(reachable: boolean): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a mock server. Rejects if recordings cannot be read or a port is taken.
 *
 * @example
 * const mock = await createMockProviders()
 * const client = new OpenAI({ baseURL: mock.baseUrl('openai'), apiKey: mock.key('openai') })
 * await client.chat.completions.create({ model: 'scenario-tools', messages })
 * console.log(mock.entries()[0].problems)
 * await mock.close()
 */
export async function createMockProviders({
  host = '127.0.0.1',
  name,
  tls,
  port = 0,
  controlPort = 0,
  ...options
}: MockOptions = {}): Promise<MockProviders> {
  const world = createWorld(options)
  const leaveClock = useClock(options.clock)
  let connections = 0
  const server = createMockServer(world, () => connections++, tls)
  const setReachable = async (reachable: boolean) => {
    if (reachable === server.listening) return
    if (reachable) await listen(server, bound, host)
    else await stop(server)
  }
  const control = createControlServer({ ...world.stage, setReachable }, () => connections, world.context)
  const close = async () => {
    world.clearAll() // because held answers would keep their connections open
    await Promise.all([stop(server), stop(control)])
    leaveClock()
  }
  try {
    await listen(server, port, host)
    await listen(control, controlPort, '127.0.0.1')
  } catch (error) {
    await close()
    throw error
  }

  const basePathOf = (name: string): string => {
    const provider = world.providers.find((one) => one.name === name)
    if (!provider) throw new Error(`there is no provider "${name}"`)
    return `/${name}${provider.basePaths[0]}`
  }
  const bound = (server.address() as AddressInfo).port
  const url = addressOf(server, name, tls && 'https')
  return {
    ...world.stage,
    url,
    controlUrl: addressOf(control),
    providers: world.providers.map(({ name }) => name),
    baseUrl: (provider) => url + basePathOf(provider),
    key: world.key,
    context(name) {
      const contextUrl = `${url}${contextPath(name)}`
      return {
        ...world.context(name),
        url: contextUrl,
        baseUrl: (provider) => contextUrl + basePathOf(provider),
      }
    },
    get connections() {
      return connections
    },
    setReachable,
    close,
  }
}

/** Starts to listen. Rejects with the problem and its remedy; `cause` is the system's own error. */
async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  await until(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const reason =
      cause.code === 'EADDRINUSE'
        ? 'the port is already in use; stop the program that uses it, or choose another port'
        : `${cause.message}; choose another address or port of this machine`
    throw new Error(`cannot listen on ${host}, port ${port}: ${reason}`, { cause })
  })
}

function stop(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done())
    server.emit('stopping')
    server.closeAllConnections()
  })
}

/** Returns an address that clients can use: loopback for the unspecified address. */
function addressOf(server: Server, name?: string, scheme = 'http'): string {
  const { address, port } = server.address() as AddressInfo
  const host = name ?? (address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address)
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Certificate and key of the server, as PEM; null for plain HTTP. */
type Tls = { readonly cert: string; readonly key: string } | null

/** Creates a server that is not listening yet. `onConnection` is called for every connection, used or not. */
function createMockServer(world: World, onConnection: () => void, tls: Tls = null): Server {
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

/** Maximum bytes of a WebSocket message. */
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

/** Splits the name of a test's context from a path: `/t/NAME/v1/chat/completions`. */
function contextOf(path: string): { context: string | null; path: string } {
  const [, name, rest] = /^\/t\/([^/]+)(\/.*)$/.exec(path) ?? []
  if (name === undefined || rest === undefined) return { context: null, path }
  try {
    return { context: decodeURIComponent(name), path: rest }
  } catch {
    return { context: name, path: rest }
  }
}

/** Returns the path prefix of a test's context; empty without a context. */
const contextPath = (name: string | null): string => (name === null ? '' : `/t/${encodeURIComponent(name)}`)

/** Removes the query, which may contain a key. */
const pathOf = ({ url = '/' }: IncomingMessage): string => url.replace(/\?.*$/s, '')
