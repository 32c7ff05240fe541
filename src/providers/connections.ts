// Connections to providers, kept alive and shared. A call may outlive its configuration, so none is closed
// early; idle ones end by themselves.
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { buildConnector, Pool } from './undici.ts'

export interface Connections {
  /** Returns the connections to an origin; `connectMs`: timeout for connecting. */
  to(origin: string, connectMs: number): Dispatcher
  destroy(): Promise<void>
}

/** `wire` observes the bytes of each exchange with a provider. */
export function createConnections(wire?: Dispatcher.DispatcherComposeInterceptor): Connections {
  const dispatchers = new Map<string, Dispatcher>()
  return {
    to(origin, connectMs) {
      const name = `${connectMs} ${origin}`
      const dispatcher = dispatchers.get(name) ?? createDispatcher(origin, connectMs, wire)
      dispatchers.set(name, dispatcher)
      return dispatcher
    },
    async destroy() {
      await Promise.all([...dispatchers.values()].map((each) => each.destroy()))
    },
  }
}

function createDispatcher(
  origin: string,
  connectMs: number,
  wire?: Dispatcher.DispatcherComposeInterceptor,
): Dispatcher {
  const connect = buildConnector({ timeout: connectMs })
  const pool = new Pool(origin, {
    keepAliveTimeout: 30_000,
    connect: (options, callback) =>
      connect(options, (...[error, socket]) => {
        if (error) callback(error, null)
        else callback(null, joinWrites(socket))
      }),
  })
  return wire ? pool.compose(wire) : pool
}

/** Maximum bytes of a body that is written together with its headers; a larger one is not copied. */
const MAX_JOINED_BYTES = 2 ** 16

/**
 * Undici writes headers and body separately, corked. Joined into one text, with a character for each byte,
 * they go out as one piece: 4 µs of 160 when measured alone.
 */
function joinWrites<S extends Socket>(socket: S): S {
  const write = socket.write.bind(socket) as (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding,
  ) => boolean
  const [cork, uncork] = [socket.cork.bind(socket), socket.uncork.bind(socket)]
  /** Headers that wait for their body. */
  let headers: string | null = null
  let corked = false
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
      cork()
      if (headers !== null) write(headers, 'latin1')
      headers = null
      return write(chunk, encoding)
    },
    uncork() {
      corked = false
      if (headers !== null) write(headers, 'latin1')
      headers = null
      uncork()
    },
  })
}
