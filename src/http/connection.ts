// What one connection may do: its requests are handled one after the other, few may wait, and a client that has closed
// its side is answered for as long as it is there. Knows no endpoint.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Requests that may wait on one connection; each costs memory before it is looked at. */
const MOST_WAITING = 16

/** How often it is asked whether a client that has closed its side is still there, ms. */
const PROBE_MS = 200

interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface Connection {
  current: Turn | null
  waiting: Turn[]
  /** The client has said that it sends nothing more. It may have gone, too: that looks the same. */
  halfClosed: boolean
}

/** Makes a server hand its requests to `handle`, of each connection one at a time. */
export function serveInTurn(server: Server, handle: RequestListener): void {
  const connections = new WeakMap<Duplex, Connection>()
  // Node would cut a half-closed connection, answer or not. This property is older than its documentation.
  Object.assign(server, { httpAllowHalfOpen: true })

  server.on('connection', (socket) => {
    const connection: Connection = { current: null, waiting: [], halfClosed: false }
    connections.set(socket, connection)
    socket.on('end', () => {
      connection.halfClosed = true
      if (connection.current) stayWhileThere(connection.current)
    })
  })
  const accept = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)!
    const turn = { request, response }
    if (!connection.current) run(connection, turn)
    else if (connection.waiting.length < MOST_WAITING && !isChunked(request)) {
      connection.waiting.push(turn)
      request.socket.pause() // the rest waits where it costs nothing; reading a body resumes it
    } else request.socket.destroy()
  }
  server.on('request', accept)
  // Node's own answer to an unknown `Expect` has no body; it may be ignored.
  server.on('checkExpectation', accept)

  function run(connection: Connection, turn: Turn): void {
    connection.current = turn
    turn.response.once('close', () => {
      connection.current = null
      const next = connection.waiting.shift()
      if (!next || next.request.socket.destroyed) return
      next.request.socket.setTimeout(0) // the answer before may have had one
      run(connection, next)
    })
    handle(turn.request, turn.response)
    if (connection.halfClosed) stayWhileThere(turn)
  }
}

/** Its pieces would wait too, each a hundred times its size; no client sends one behind another request. */
const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined

/**
 * A client that closed its side may wait for its answer, or be gone; only writing tells. Before the answer begins, that
 * is an interim response (RFC 9110, 15.2), which costs nothing and which clients skip. In the middle of an answer, and
 * with HTTP/1.0, which has none, a client that closes is taken to be gone: a call costs money.
 */
function stayWhileThere({ request, response }: Turn): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy()
    return
  }
  if (isRead) return
  if (request.httpVersionMinor === 0) {
    response.destroy()
    return
  }
  const probe = () => {
    if (response.headersSent || response.destroyed) clearInterval(timer)
    else response.writeProcessing()
  }
  const timer = setInterval(probe, PROBE_MS)
  response.once('close', () => clearInterval(timer))
  probe()
}
