// Connections to providers, kept alive and shared. A call may outlive its configuration, so no connection is
// closed early; idle connections end by themselves.
import type { Socket } from 'node:net'
import type { Dispatcher, buildConnector as undici } from 'undici'
import { openTunnel, trustedWith } from './proxy.ts'
import { SocketDispatcher } from './socket-dispatcher.ts'
import { buildConnector, Pool } from './undici.ts'

/** Settings of the connections to an origin. */
interface ConnectionSettings {
  /** Timeout for connecting, ms. */
  readonly connectMs: number
  /** Certificates to trust in addition to the default ones, in PEM; null for none. */
  readonly ca: string | null
  /** Proxy for the origin; null to connect directly. */
  readonly proxy: URL | null
}

export interface Connections {
  /** Returns the connections to an origin. */
  to(origin: string, way: ConnectionSettings): Dispatcher
  /**
   * Returns the WebSockets to an origin. Returns null for observed exchanges or with a proxy, which both use
   * HTTP.
   */
  socketsTo(origin: string, way: ConnectionSettings): SocketDispatcher | null
  destroy(): Promise<void>
}

type Connector = (options: undici.BuildOptions) => undici.connector

/** Creates the connections. `wire` observes the bytes of each exchange with a provider. */
export function createConnections(
  wire?: Dispatcher.DispatcherComposeInterceptor,
  connector: Connector = buildConnector,
): Connections {
  const dispatchers = new Map<string, Dispatcher>()
  const sockets = new Map<string, SocketDispatcher>()
  const to = (origin: string, way: ConnectionSettings): Dispatcher => {
    const name = JSON.stringify([origin, way])
    const dispatcher = dispatchers.get(name) ?? createDispatcher(origin, way, connector, wire)
    dispatchers.set(name, dispatcher)
    return dispatcher
  }
  return {
    to,
    socketsTo(origin, way) {
      if (wire || way.proxy) return null
      const name = JSON.stringify([origin, way])
      const over = sockets.get(name) ?? new SocketDispatcher({ ...way, http: to(origin, way), origin })
      sockets.set(name, over)
      return over
    },
    async destroy() {
      await Promise.all([...sockets.values(), ...dispatchers.values()].map((each) => each.destroy()))
    },
  }
}

function createDispatcher(
  origin: string,
  { connectMs, ca, proxy }: ConnectionSettings,
  connector: Connector,
  wire?: Dispatcher.DispatcherComposeInterceptor,
): Dispatcher {
  const connect = connector({ timeout: connectMs, ...trustedWith(ca) })
  const reach: typeof connect = (options, callback) => {
    if (!proxy) return connect(options, callback)
    const { hostname, port, protocol } = options
    const target = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
    openTunnel(proxy, target, connectMs, (error, socket) => {
      if (!socket) callback(error!, null)
      else if (protocol === 'https:') connect({ ...options, httpSocket: socket }, callback)
      else callback(null, socket)
    })
  }
  const pool = new Pool(origin, {
    keepAliveTimeout: 30_000,
    connect: (options, callback) =>
      reach(options, (...[error, socket]) => {
        if (error) callback(error, null)
        else callback(null, joinWrites(socket))
      }),
  })
  return wire ? pool.compose(wire) : pool
}

/** Maximum bytes of a body written together with its headers; a larger body is not copied. */
const MAX_JOINED_BYTES = 2 ** 16

/**
 * Joins headers and body, which undici writes separately while corked. As one text with a character per byte,
 * they are sent as one piece. This saves 4 µs of 160, measured alone.
 */
function joinWrites<S extends Socket>(socket: S): S {
  const write = socket.write.bind(socket) as (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding,
  ) => boolean
  const [cork, uncork] = [socket.cork.bind(socket), socket.uncork.bind(socket)]
  /** Headers that wait for the body. */
  let headers: string | null = null
  let corked = false
  /** Corks the socket itself only once, for any number of writes. */
  let isHeld = false
  const hold = () => {
    if (!isHeld) cork()
    isHeld = true
  }
  return Object.assign(socket, {
    cork() {
      corked = true
    },
    write(chunk: string | Buffer, encoding?: BufferEncoding): boolean {
      if (!corked) return write(chunk, encoding)
      if (typeof chunk === 'string' && encoding === 'latin1' && headers === null) {
        headers = chunk
        return true
      }
      if (headers !== null && typeof chunk !== 'string' && chunk.length <= MAX_JOINED_BYTES) {
        const text = headers + chunk.toString('latin1')
        headers = null
        return write(text, 'latin1')
      }
      hold()
      if (headers !== null) write(headers, 'latin1')
      headers = null
      return write(chunk, encoding)
    },
    uncork() {
      corked = false
      if (headers !== null) write(headers, 'latin1')
      headers = null
      isHeld = false
      uncork()
    },
  })
}
