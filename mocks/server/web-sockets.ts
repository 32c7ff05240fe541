// WebSockets of the mock: sends each message to the mock's own server as a request, so that scenarios,
// scripts, gates and the ledger work as over HTTP.
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { on, once, stray } from '../../src/shared/boundary.ts'
import { asksForWebSocket, createHandshake } from '../../src/websocket/handshake.ts'
import { requestInside } from '../../src/websocket/inner-socket.ts'
import { ResponsesSocket } from '../../src/websocket/responses-socket.ts'
import { endpointOf } from '../provider.ts'
import { placeUnder } from '../providers/find.ts'
import { contextOf, pathOf } from './address.ts'
import type { World } from './core.ts'

/** Maximum bytes of a message. */
const MAX_MESSAGE_BYTES = 64 * 2 ** 20

const HOUR_MS = 60 * 60_000

/** Returns true for an upgrade request at an endpoint with a WebSocket. */
export function mayUpgrade({ providers }: Pick<World, 'providers'>, request: IncomingMessage): boolean {
  if (!asksForWebSocket(request)) return false
  const { provider, path } = placeUnder(providers, 'POST', contextOf(pathOf(request)).path)
  return endpointOf(provider, 'POST', path)?.endpoint.hasWebSocket === true
}

/** Serves the upgrades of a mock's server. */
export function serveSockets(server: Server): void {
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
