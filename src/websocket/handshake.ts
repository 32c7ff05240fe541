// Completes handshakes. Loads the library when the first upgrade arrives.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket, WebSocketServer } from 'ws'
import { on, once, stray } from '../shared/boundary.ts'

type Handshake = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<WebSocket>

/** Returns true for a request to upgrade to a WebSocket. */
export const asksForWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'

/**
 * Completes a handshake. `maxBytes`: the largest message. The promise of an invalid handshake never resolves. Such a
 * handshake is answered by `refuse`, or, without `refuse`, by the library in HTML.
 */
export function createHandshake(
  maxBytes: () => number,
  refuse?: (error: Error, socket: Duplex) => void,
): Handshake {
  let server: WebSocketServer | null = null
  return async (request, socket, head) => {
    const destroy = once(socket, 'error', () => socket.destroy(), stray)
    const { WebSocketServer } = await import('ws')
    if (!server) {
      // Neither side of this protocol has subprotocols, so none that a client offers is accepted.
      const handleProtocols = () => false as const
      server = new WebSocketServer({
        ...{ noServer: true, clientTracking: false, perMessageDeflate: false, handleProtocols },
      })
      if (refuse) on(server, { wsClientError: refuse }, (_, __: unknown, socket: Duplex) => socket.destroy())
    }
    server.options.maxPayload = maxBytes()
    // The library also accepts the draft 8 of the protocol.
    if (request.headers['sec-websocket-version'] !== '13') request.headers['sec-websocket-version'] = 'none'
    const { promise, resolve } = Promise.withResolvers<WebSocket>()
    server.handleUpgrade(request, socket, head, resolve)
    socket.off('error', destroy)
    return promise
  }
}
