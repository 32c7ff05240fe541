// Limits one connection. Its requests are handled one after the other, and only a few may wait. A client that
// has closed its sending side is still answered while it is connected. Also answers data that never becomes a request:
// broken HTTP, and invalid WebSocket handshakes. Independent of endpoints.
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { idOf } from '../core/call.ts'
import { every, on, once } from '../shared/boundary.ts'
import { clock } from '../shared/clock.ts'
import { MEMORY, type MemoryShare } from '../shared/memory.ts'

/** Maximum requests that wait on one connection. Each uses memory before it is handled. */
const MAX_WAITING_REQUESTS = 16

/** Interval of checks that a half-closed client is still connected, ms. */
const PROBE_MS = 200

interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Memory of a waiting request, without its headers. */
const REQUEST_BYTES = 4_096
/** Memory of a header for each of its characters. */
const HEADER_WEIGHT = 2

interface Connection {
  current: Turn | null
  waiting: Turn[]
  /** Memory of the waiting requests. Their keys are not known yet. */
  share: MemoryShare | null
  /** True if the client has closed its sending side. A client that has left looks the same. */
  halfClosed: boolean
  /** True if the connection was cut; no more of it is read. */
  isOver: boolean
}

/** Node's parser as an undocumented property of a socket. */
type Parsed = Duplex & { readonly parser?: { onIncoming: (...given: unknown[]) => number } | null }

/** Return value that stops Node's parser within received data, as an upgrade does. */
const STOP = 2

/** Makes a server pass requests to `handle`, one at a time on each connection. */
export function serveInTurn(server: Server, handle: RequestListener): void {
  const connections = new WeakMap<Duplex, Connection>()
  // Node would cut every half-closed connection. The option to keep them is older than its documentation.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Node also closes connections whose clients have not read the end of an answer yet.
  const turns = new Set<Turn>()
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    if (![...turns].some(({ response }) => response.writableEnded)) closeIdle()
  }

  const connection = (socket: Duplex) => {
    const connection: Connection = {
      ...{ current: null, waiting: [], share: null },
      ...{ halfClosed: false, isOver: false },
    }
    connections.set(socket, connection)
    stopParser(socket, connection)
    const end = () => {
      connection.halfClosed = true
      if (connection.current) stayWhileThere(connection.current)
    }
    on(socket, { end }, () => socket.destroy())
  }
  const accept = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)!
    const turn = { request, response }
    if (!connection.current) run(connection, turn)
    else if (mayWait(connection, request)) {
      connection.waiting.push(turn)
      request.socket.pause() // unread data costs nothing; reading a body resumes the socket
    } else {
      connection.isOver = true
      forget(connection)
      request.socket.destroy()
    }
  }
  on(server, { connection }, (_, socket: Duplex) => socket.destroy())
  // Node's own answer to an unknown `Expect` has no body. The header may be ignored.
  on(server, { request: accept, checkExpectation: accept }, (_, { socket }: IncomingMessage) =>
    socket.destroy(),
  )

  function run(connection: Connection, turn: Turn): void {
    connection.current = turn
    turns.add(turn)
    const close = () => {
      turns.delete(turn)
      connection.current = null
      const next = connection.waiting.shift()
      if (turn.request.socket.destroyed) return forget(connection)
      if (connection.share) giveBack(connection, next)
      if (!next) return
      next.request.socket.setTimeout(0) // the previous answer may have set a timeout
      run(connection, next)
    }
    once(turn.response, 'close', close, () => turn.request.socket.destroy())
    handle(turn.request, turn.response)
    if (connection.halfClosed) stayWhileThere(turn)
  }
}

/** Returns true if another request may wait, and takes memory for it. */
function mayWait(connection: Connection, request: IncomingMessage): boolean {
  if (connection.waiting.length >= MAX_WAITING_REQUESTS || isChunked(request)) return false
  connection.share ??= MEMORY.open(null, 'demand', () => request.socket.destroy())
  return connection.share.take(bytesOf(request))
}

const bytesOf = ({ url = '', rawHeaders }: IncomingMessage): number =>
  REQUEST_BYTES + HEADER_WEIGHT * rawHeaders.reduce((sum, { length }) => sum + length, url.length)

/** Gives the memory of a request back that waits no more. */
function giveBack(connection: Connection, turn: Turn | undefined): void {
  if (connection.waiting.length === 0) forget(connection)
  else if (turn) connection.share?.give(bytesOf(turn.request))
}

/** Drops the waiting requests and gives their memory back. */
function forget(connection: Connection): void {
  connection.waiting = []
  connection.share?.release()
  connection.share = null
}

/**
 * Stops the parsing of data that was already read, once the connection is over. Each request or piece takes
 * time.
 */
function stopParser({ parser }: Parsed, connection: Connection): void {
  if (!parser) return
  const { onIncoming } = parser
  parser.onIncoming = (...given) => {
    const said = onIncoming(...given)
    return connection.isOver ? STOP : said
  }
}

/**
 * A chunked body may not wait: its pieces would take a hundred times its size. No client sends such a body
 * behind another request.
 */
const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined

/**
 * Finds out whether a half-closed client is waiting for its answer or has left. Only a write shows this.
 * Before the answer, this write is an interim response (RFC 9110, 15.2), which costs nothing and which
 * clients skip. During an answer, or with HTTP/1.0, no interim response is possible. In these cases the
 * client counts as gone, because a call costs money.
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
    if (response.headersSent || response.destroyed) timer.close()
    else response.writeProcessing()
  }
  const timer = every(PROBE_MS, probe, () => response.destroy())
  const stop = () => timer.close()
  once(response, 'close', stop, stop)
  if (!isRead) probe() // our own read is answered before the first request
}

const BROKEN: Record<string, [number, string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout'],
  HPE_HEADER_OVERFLOW: [431, 'invalid_request'],
}

/** Answers a request on the bare socket, because no handler receives invalid HTTP or an invalid handshake. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Node stores the response in progress in this property. Nothing may be written in the middle of that response.
  const running = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage
  if (error.code === 'ECONNRESET' || !socket.writable || running?.headersSent) {
    socket.destroy()
    return
  }
  const [status, code] = BROKEN[error.code ?? ''] ?? [400, 'invalid_request']
  const reason = error.code === undefined ? error.message : STATUS_CODES[status]
  const message = `The request is invalid: ${reason}.`
  const body = JSON.stringify({
    error: { message, type: 'invalid_request_error', param: null, code },
    request_id: idOf(clock.now()),
  })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}
