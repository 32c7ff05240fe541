// Writes the gateway's own answers (JSON, errors, and the headers of a live answer), and counts the bytes of any answer
// that were written but not yet read by its client. A very slow reader counts like a client that reads nothing, because
// the memory of a write is freed only when all of it has been read.
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Call, Route, Target } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import { first, guarded, once, stray } from '../shared/boundary.ts'
import { MEMORY, type MemoryShare } from '../shared/memory.ts'
import type { Mask } from '../shared/redact.ts'
import { safeJson } from '../terminal/clean.ts'
import type { ErrorWording } from './endpoint.ts'

/** A header of every answer: a browser must not guess a different type. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' } as const

/** Sends JSON; for HEAD, without a body. */
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
    ...NOSNIFF,
    ...headers,
  })
  response.end(response.req.method === 'HEAD' ? undefined : json)
}

/** Sends JSON with an ETag, or 304 if the client already has this version. */
export function replyTagged(request: IncomingMessage, response: ServerResponse, json: string): void {
  const etag = `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"`
  if (request.headers['if-none-match'] === etag)
    response.writeHead(304, { etag, 'cache-control': 'no-store', ...NOSNIFF }).end()
  else replyJson(response, 200, json, { etag })
}

/** Maximum bytes of a body written together with its headers. This saves 9 µs of about 100. */
const MAX_JOINED_BYTES = 2 ** 16

/** Sends a provider's whole answer with its bytes unchanged. */
export function replyRelayed(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: OutgoingHttpHeaders,
): void {
  headers['content-length'] = body.length
  headers['cache-control'] = 'no-store'
  response.writeHead(status, headers)
  // Latin-1 has a character for each byte. Node joins a string with the headers, but not a buffer.
  if (body.length <= MAX_JOINED_BYTES) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
}

/**
 * Reports whether the client has read a whole answer (true) or has left (false), usually immediately. A client that
 * reads nothing for `idle` ms is disconnected. Node's socket timer detects progress even within one large write.
 */
export function delivered(
  response: ServerResponse,
  keyName: string | null,
  idle: number,
  tell: (whole: boolean) => void,
): void {
  const { socket } = response
  // Node counts unwritable data as written. Only the socket's error reveals the failure.
  if (response.destroyed || socket?.errored || socket?.destroyed) {
    tell(response.writableFinished && !socket?.errored)
    return
  }
  if (response.writableLength === 0) {
    tell(true) // the operating system has accepted all of it
    return
  }
  let whole = false
  // Runs before Node's own listener, which may close the socket. Node 22 also emits `finish` after a failure.
  const finish = () => {
    whole = socket?.destroyed === false && !socket.errored
  }
  response.prependOnceListener('finish', guarded(finish, stray))
  disconnectAfter(response, idle)
  once(
    response,
    'close',
    () => tell(whole),
    () => tell(false),
  )
  countUnread(response, keyName)
}

/** Wording for paths that belong to no dialect. */
export const PLAIN_WORDING: ErrorWording = {
  errorBody: (error, requestId) => error.body(requestId),
  requestIdHeader: 'x-request-id',
}

/** Sends an error in the endpoint's wording, or ends the connection if an answer has already begun. */
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
  // OpenAI's and Anthropic's clients obey this header. Without it, they retry a 429.
  if (error.mayRetry !== null) own['x-should-retry'] = String(error.mayRetry)
  replyJson(response, error.status, safeJson(errorBody(error, requestId)), { ...own, ...headers })
}

/** Provider headers that every client receives; a dialect adds more headers. */
const RELAYED = /^(content-type|retry-after|retry-after-ms|x-should-retry)$/

/**
 * Maximum characters of a provider's headers that are relayed. Node's clients read 16 KiB of headers, and
 * ours may use 6 KiB of that. A header beyond the limit is dropped, because a part of it could be wrong.
 */
const MAX_RELAYED = 8_192

/** Maximum names of headers that are remembered for a dialect, because providers choose them. */
const MAX_NAMES = 200
const remembered = new Map<RegExp, Map<string, boolean>>()

/** Returns true if clients receive a header. `relayed`: the further headers of a dialect. */
function isRelayed(name: string, relayed: RegExp): boolean {
  let names = remembered.get(relayed)
  if (!names) {
    names = new Map()
    remembered.set(relayed, names)
  }
  let is = names.get(name)
  if (is === undefined) {
    is = RELAYED.test(name) || relayed.test(name)
    if (names.size < MAX_NAMES) names.set(name, is)
  }
  return is
}

/** Returns the headers of a provider's answer that its client receives. */
export function relayedHeaders(
  provider: IncomingHttpHeaders,
  relayed: RegExp,
  mask: Mask,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ...NOSNIFF }
  let size = 0
  for (const name in provider) {
    if (provider[name] === undefined || !isRelayed(name, relayed)) continue
    const value = String(provider[name])
    if (size + name.length + value.length > MAX_RELAYED) continue
    size += name.length + value.length
    headers[name] = visible(mask(value))
  }
  return headers
}

/**
 * Returns the headers of a live answer: the provider's, and the call's route. See the contract's section
 * "Headers".
 */
export function routeHeaders(
  call: Call,
  route: Route,
  target: Target,
  requestsSent: number,
  provider: IncomingHttpHeaders,
  relayed: RegExp,
  mask: Mask,
): OutgoingHttpHeaders {
  const headers = relayedHeaders(provider, relayed, mask)
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

/** Adds the losses of translating the answer, as in the contract's section "Headers". */
export function withLosses(headers: OutgoingHttpHeaders, losses: readonly string[]): OutgoingHttpHeaders {
  if (losses.length > 0) headers['x-gateway-lossy'] = losses.join(', ')
  return headers
}

/** Percent-encodes each byte of a header that is not visible ASCII or a space. Node reads a byte as one character. */
const visible = (value: string): string =>
  value.replace(
    /[^\x20-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

/** Keeps printable ASCII except `%`. All other characters become percent-encoded UTF-8. */
export const encodeHeader = (value: string): string =>
  value.replace(/[^\x20-\x24\x26-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()))

const shares = new WeakMap<ServerResponse, MemoryShare>()

/** Updates the count for a response. Call after every write that may wait, and after the data was read. */
export function countUnread(response: ServerResponse, keyName: string | null, memory = MEMORY): void {
  const bytes = response.destroyed ? 0 : response.writableLength
  const before = shares.get(response)
  if (bytes > 0 && !before) {
    const share = memory.open(keyName, 'unread', () => response.destroy())
    shares.set(response, share)
    const release = () => share.release()
    once(response, 'close', release, release)
  }
  shares.get(response)?.set(bytes)
}

/** Disconnects a client that reads nothing of its answer for `idle` ms, and counts the waiting bytes. */
export function giveUpUnread(response: ServerResponse, keyName: string | null, idle: number): void {
  if (!response.writableEnded || response.writableLength === 0) return
  disconnectAfter(response, idle)
  countUnread(response, keyName)
}

/** Disconnects a client that reads nothing for `idle` ms. Node's timer detects progress even within one large write. */
export function disconnectAfter(response: ServerResponse, idle: number): void {
  const destroy = () => void response.destroy()
  once(response, 'timeout', destroy, destroy)
  response.setTimeout(idle)
}

/**
 * Waits until the client has read everything or has left. Disconnects it after `idle` ms without progress.
 */
export function untilRead(response: ServerResponse, keyName: string | null, idle: number): Promise<void> {
  countUnread(response, keyName)
  return new Promise((done) => {
    const go = () => {
      response.setTimeout(0)
      countUnread(response, keyName)
      done()
    }
    const giveUp = () => {
      response.destroy()
      go()
    }
    first(response, { drain: go, close: go, timeout: giveUp }, giveUp)
    response.setTimeout(idle)
  })
}
