// Limits one connection: its requests are handled one after the other, few may wait, and a client that has
// closed its side is answered for as long as it is there. Knows no endpoint.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Maximum requests that wait on one connection; each takes memory before it is read. */
const MAX_WAITING_REQUESTS = 16

/** Interval between checks if a client that has closed its side is still there, ms. */
const PROBE_MS = 200

interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface Connection {
  current: Turn | null
  waiting: Turn[]
  /** The client has closed its sending side. It may also have gone: that looks the same. */
  halfClosed: boolean
  /** The connection was cut: no more of it is read. */
  isOver: boolean
}

/** Node's parser as an undocumented property of a socket. */
type Parsed = Duplex & { readonly parser?: { onIncoming: (...given: unknown[]) => number } | null }

/** Return value that stops Node's parser in the middle of a text, as an upgrade does. */
const STOP = 2

/** Makes a server pass requests to `handle`, one at a time per connection. */
export function serveInTurn(server: Server, handle: RequestListener): void {
  const connections = new WeakMap<Duplex, Connection>()
  // Node would cut a half-closed connection, answered or not. This option is older than its documentation.
  Object.assign(server, { httpAllowHalfOpen: true })

  server.on('connection', (socket) => {
    const connection: Connection = { current: null, waiting: [], halfClosed: false, isOver: false }
    connections.set(socket, connection)
    stopParser(socket, connection)
    socket.on('end', () => {
      connection.halfClosed = true
      if (connection.current) stayWhileThere(connection.current)
    })
  })
  const accept = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)!
    const turn = { request, response }
    if (!connection.current) run(connection, turn)
    else if (connection.waiting.length < MAX_WAITING_REQUESTS && !isChunked(request)) {
      connection.waiting.push(turn)
      request.socket.pause() // the rest waits where it costs nothing; reading a body resumes it
    } else {
      connection.isOver = true
      connection.waiting = []
      request.socket.destroy()
    }
  }
  server.on('request', accept)
  // Node's own answer to an unknown `Expect` has no body; the header may be ignored.
  server.on('checkExpectation', accept)

  function run(connection: Connection, turn: Turn): void {
    connection.current = turn
    turn.response.once('close', () => {
      connection.current = null
      const next = connection.waiting.shift()
      if (!next || next.request.socket.destroyed) return
      next.request.socket.setTimeout(0) // the previous answer may have set one
      run(connection, next)
    })
    handle(turn.request, turn.response)
    if (connection.halfClosed) stayWhileThere(turn)
  }
}

/** Stops the parsing of data already read once the connection is over: each request or piece takes time. */
function stopParser({ parser }: Parsed, connection: Connection): void {
  if (!parser) return
  const { onIncoming } = parser
  parser.onIncoming = (...given) => {
    const said = onIncoming(...given)
    return connection.isOver ? STOP : said
  }
}

/** Its pieces would wait too, each at a hundred times its size; no client sends one after another request. */
const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined

/**
 * A client that has closed its side may wait for its answer, or be gone; only a write shows which. Before the
 * answer begins, that is an interim response (RFC 9110, 15.2), which costs nothing and which clients skip. In
 * the middle of an answer, and with HTTP/1.0, which has none, such a client counts as gone: a call costs
 * money.
 */
function stayWhileThere({ request, response }: Turn): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy()
    return
  }
  if (request.httpVersionMinor === 0) {
    if (isRead) return
    response.destroy()
    return
  }
  const probe = () => {
    if (response.headersSent || response.destroyed) clearInterval(timer)
    else response.writeProcessing()
  }
  const timer = setInterval(probe, PROBE_MS)
  response.once('close', () => clearInterval(timer))
  if (!isRead) probe() // a read of our own is answered before the first
}
