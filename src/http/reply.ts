// Writes what the gateway says itself: JSON answers, errors, and the headers of a live answer.
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Call, Route, Target } from '../call.ts'
import type { GatewayError } from '../errors.ts'
import type { Mask } from '../redact.ts'
import type { ErrorWording } from './endpoint.ts'

/** Sends JSON; without a body where the method is HEAD. */
export function replyJson(
  response: ServerResponse,
  status: number,
  json: string,
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(response.req.method === 'HEAD' ? undefined : json)
}

/** A body up to this goes out in one write with its headers, bytes: that saves 9 µs of some 100; a larger one is not copied. */
const ONE_WRITE = 2 ** 16

/** Sends a provider's whole answer, its bytes untouched. */
export function replyRelayed(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: OutgoingHttpHeaders,
): void {
  headers['content-length'] = body.length
  headers['cache-control'] = 'no-store'
  response.writeHead(status, headers)
  // Latin-1 has a character for each byte, and Node puts a text into one piece with the headers, a buffer not.
  if (body.length <= ONE_WRITE) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
}

/**
 * Tells when the client has taken a whole answer (true), or has gone (false): mostly at once. A client that takes nothing
 * for `idle` ms is given up; Node's socket timer knows progress inside one large write.
 */
export function delivered(response: ServerResponse, idle: number, tell: (whole: boolean) => void): void {
  const { socket } = response
  // What could not be written counts as written with Node: only the socket's error says that it was not.
  if (response.destroyed || socket?.errored || socket?.destroyed) {
    tell(response.writableFinished && !socket?.errored)
    return
  }
  if (response.writableLength === 0) {
    tell(true) // all of it is with the operating system
    return
  }
  let whole = false
  // Ahead of Node's own listener, which may end the connection. Node 22 also says `finish` when it broke.
  response.prependOnceListener('finish', () => {
    whole = socket?.destroyed === false && !socket.errored
  })
  response.setTimeout(idle, () => response.destroy())
  response.once('close', () => tell(whole))
}

/** For paths that belong to no dialect. */
export const PLAIN_WORDING: ErrorWording = {
  errorBody: (error, requestId) => error.body(requestId),
  requestIdHeader: 'x-request-id',
}

/** Sends an error in the words of the endpoint, or ends the connection when an answer has already begun. */
export function replyError(
  response: ServerResponse,
  error: GatewayError,
  requestId: string,
  { errorBody, requestIdHeader }: ErrorWording = PLAIN_WORDING,
  headers: OutgoingHttpHeaders = {},
): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const own: OutgoingHttpHeaders = { [requestIdHeader]: requestId }
  if (error.retryAfter !== null) own['retry-after'] = String(error.retryAfter)
  replyJson(response, error.status, errorBody(error, requestId), { ...own, ...headers })
}

/** Headers of a provider's answer that mean something to every client; its dialect names further ones. */
const RELAYED = /^(content-type|retry-after|retry-after-ms|x-should-retry)$/

/** The headers of a live answer, contract "Headers": what the provider said, and where the call went. */
export function routeHeaders(
  call: Call,
  route: Route,
  target: Target,
  requestsSent: number,
  provider: IncomingHttpHeaders,
  relayed: RegExp,
  mask: Mask,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const name in provider)
    if (provider[name] !== undefined && (RELAYED.test(name) || relayed.test(name)))
      headers[name] = mask(String(provider[name]))
  headers['x-gateway-request-id'] = call.id
  headers['x-gateway-provider'] = encodeHeader(target.provider)
  headers['x-gateway-model'] = encodeHeader(target.model)
  headers['x-gateway-strategy'] = route.strategy
  headers['x-gateway-attempts'] = requestsSent
  headers['x-gateway-cache'] = call.cache
  if (call.replayed) headers['x-gateway-replay'] = 'true'
  if (call.sessionId !== null) headers['x-gateway-session-id'] = encodeHeader(call.sessionId)
  return headers
}

/** Names what the translation of the answer lost, contract "Headers". */
export function withLosses(headers: OutgoingHttpHeaders, losses: readonly string[]): OutgoingHttpHeaders {
  if (losses.length > 0) headers['x-gateway-lossy'] = losses.join(', ')
  return headers
}

/** Printable ASCII as it is; `%`, controls and everything else percent-encoded UTF-8. */
export const encodeHeader = (value: string): string =>
  value.replace(/[^\x20-\x24\x26-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()))
