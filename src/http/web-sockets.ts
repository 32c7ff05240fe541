// Clients' WebSockets: decides who may open one, and limits their number. Each message that requests an
// answer is sent to the server as a separate request with the headers of the upgrade. The same keys, limits
// and record therefore apply.
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { after, detached, once } from '../shared/boundary.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import { createHandshake } from '../websocket/handshake.ts'
import { requestInside } from '../websocket/inner-socket.ts'
import { ResponsesSocket } from '../websocket/responses-socket.ts'
import { MAX_VALUES } from './body.ts'
import { answerBrokenRequest } from './connection.ts'

interface WebSocketLimits {
  /** Maximum open sockets; with several keys, each key has at most half. */
  readonly sockets: number
  readonly idle: number
  readonly life: number
  /** Maximum bytes of a message. */
  readonly bytes: number
  /** True if there are several keys. */
  readonly shared: boolean
}

export interface WebSockets {
  configure(limits: WebSocketLimits | null): void
  /**
   * Returns true if there is room for another socket of the key. Returns false also if no sockets are
   * allowed.
   */
  hasRoom(keyName: string | null): boolean
  /** Completes an admitted upgrade. `server` receives the socket's requests. */
  open(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer, keyName: string | null): void
  /** Waits up to `graceMs` for running responses, then closes all sockets. */
  close(graceMs: number): Promise<void>
}

export function createWebSockets(): WebSockets {
  let limits: WebSocketLimits | null = null
  let isClosing = false
  const sockets = new Set<ResponsesSocket>()
  const perKey = new Map<string | null, number>()
  const handshake = createHandshake(() => limits?.bytes ?? 0, answerBrokenRequest)
  let allClosed = () => {}

  const count = (keyName: string | null, by: number) => {
    const open = (perKey.get(keyName) ?? 0) + by
    if (open === 0) perKey.delete(keyName)
    else perKey.set(keyName, open)
  }
  const openCount = () => [...perKey.values()].reduce((sum, open) => sum + open, 0)

  return {
    configure(wanted) {
      limits = wanted
    },
    hasRoom(keyName) {
      if (!limits || isClosing) return false
      const share = limits.shared ? Math.ceil(limits.sockets / 2) : limits.sockets
      return openCount() < limits.sockets && (perKey.get(keyName) ?? 0) < share
    },
    open(server, request, socket, head, keyName) {
      count(keyName, 1)
      let isCounted = true
      const forget = () => {
        if (isCounted) count(keyName, -1)
        isCounted = false
      }
      once(socket, 'close', forget, forget)
      const { idle, life } = limits!
      const headers = callHeaders(request.headers)
      const path = request.url!
      const opened = handshake(request, socket, head).then((ws) => {
        const open: ResponsesSocket = new ResponsesSocket(ws, socket, {
          keyName,
          post: (body, own) =>
            requestInside(server, {
              ...{ method: 'POST', path, body, origin: open },
              headers: { ...headers, ...own, 'content-length': Buffer.byteLength(body) },
            }),
          ...{ idle, life, hasState: true, breaksWithResponse: false },
          holdsTooMuch: (bytes) => holdsMoreValues(bytes, MAX_VALUES),
          onClose() {
            sockets.delete(open)
            if (sockets.size === 0) allClosed()
          },
        })
        sockets.add(open)
        if (isClosing) open.end(1001, CLOSING)
      })
      detached(opened, () => socket.destroy())
    },
    async close(graceMs) {
      isClosing = true
      if (sockets.size === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      allClosed = resolve
      for (const socket of sockets) socket.end(1001, CLOSING)
      const terminate = () => {
        for (const socket of sockets) socket.terminate()
      }
      const cut = after(graceMs, terminate, () => resolve())
      await promise
      cut.close()
    },
  }
}

const CLOSING = 'the gateway is stopping'

/** Headers of an upgrade that apply only to the connection. */
const OF_THE_UPGRADE =
  /^(connection|upgrade|sec-websocket-.+|content-length|transfer-encoding|expect|keep-alive|te|trailer)$/

/** Returns the headers of an upgrade that are copied to each of its requests. */
function callHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => !OF_THE_UPGRADE.test(name))
  const own: OutgoingHttpHeaders = { ...Object.fromEntries(kept), 'content-type': 'application/json' }
  // One beta names the protocol of the socket, which ends at the gateway.
  const betas = String(own['openai-beta'] ?? '')
    .split(',')
    .filter((beta) => !/^\s*responses_websockets=/.test(beta))
  if (betas.join() === '') delete own['openai-beta']
  else own['openai-beta'] = betas.join()
  return own
}
