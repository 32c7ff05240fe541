// HTTP client of the suite: one connection for each request, with the arrival time of every byte. It can
// disconnect early or read slowly. Limits the bytes read after decompression to protect memory. Independent
// of checks.
import { existsSync, readFileSync } from 'node:fs'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { PassThrough, type Readable, type Transform } from 'node:stream'
import { rootCertificates } from 'node:tls'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { WebSocket } from 'ws'
import { after, stray } from '../../src/shared/boundary.ts'
import { clock } from '../../src/shared/clock.ts'
import type { Exchange } from './evidence.ts'
import { type AnyJson, jsonOf } from './reading.ts'

export interface Outgoing {
  readonly method: string
  /** Path and query, or `*`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | null
}

/** Complete response, before parts are left out. */
export type Seen = Pick<
  Exchange,
  'at' | 'head_at' | 'end_at' | 'end' | 'error' | 'status' | 'headers' | 'body' | 'utf8' | 'chunks'
>

/** Request under way. */
export interface OpenExchange {
  /** Resolves at any end of the exchange; never rejects. */
  readonly done: Promise<Seen>
  readonly body: string
  /** Resolves with true when the body so far passes the test, or with false after `ms` or at the body's end. */
  until(test: (body: string) => boolean, ms: number): Promise<boolean>
  /** Closes the connection without reading the rest. */
  leave(): void
  pause(): void
  resume(): void
}

/** Maximum size of an answer after decompression, bytes. It does not apply if the provider itself sent a long answer. */
const MAX_BODY = 12 * 2 ** 20
/** Maximum ratio of an answer's bytes to the provider's bytes, because gateways add text to each event. */
const MAX_GROWTH = 16
/** Maximum bytes of an answer in all cases, because all of it is held in memory. */
const MAX_GROWN_BODY = 96 * 2 ** 20
/** Maximum bytes of the headers of one answer. */
const MAX_HEADERS = 2 ** 16
/** Maximum number of interim answers (1xx) before the final one. */
const MAX_INTERIM_ANSWERS = 1_000
/** Bytes stored from an answer that is too long. */
const STORED_BYTES = 2 ** 16
/** Overhead of a piece of a body in addition to its bytes. */
const PIECE_OVERHEAD = 64

/** Byte budget that several answers share. */
export interface ByteBudget {
  left: number
}

export interface SendRequestOptions {
  /** File with a certificate authority to trust in addition to the default ones. */
  readonly ca?: string | undefined
  /** Budget shared with other requests; the answer that exhausts it ends as `too_long`. */
  readonly budget?: ByteBudget
  /** Returns the bytes that the provider has sent for this request so far. */
  readonly sentByProvider?: () => Promise<number>
}

/** Resolves with true when the text passes the test, or with false after `ms` or at the text's end. */
const passes = (
  test: (body: string) => boolean,
  ms: number,
  waiting: Set<() => void>,
  answer: { readonly text: () => string; readonly over: () => boolean },
): Promise<boolean> =>
  new Promise((resolve) => {
    const wake = () => {
      if (test(answer.text())) stop(true)
      else if (answer.over()) stop(false)
    }
    const stop = (passed: boolean) => {
      limit.close()
      waiting.delete(wake)
      resolve(passed)
    }
    const limit = after(ms, () => stop(false), stray)
    waiting.add(wake)
    wake()
  })

const requestOptions = (url: URL, outgoing: Outgoing, ca: string | undefined): RequestOptions => ({
  hostname: url.hostname.replace(/^\[|\]$/g, ''),
  port: url.port,
  method: outgoing.method,
  path: url.pathname.replace(/\/+$/, '') + outgoing.path,
  headers: outgoing.headers,
  agent: false,
  maxHeaderSize: MAX_HEADERS,
  ...(ca !== undefined && existsSync(ca) && { ca: [...rootCertificates, readFileSync(ca, 'utf8')] }),
})

/** Returns the kind of end of a failed request, and the reason. */
function failureOf(
  { code, message }: NodeJS.ErrnoException,
  isAnswered: boolean,
): [how: Exchange['end'], why: string] {
  if (code === 'HPE_HEADER_OVERFLOW')
    return ['too_long', `the headers are longer than ${MAX_HEADERS / 2 ** 10} KiB`]
  return [isAnswered ? 'cut' : 'refused', code ? `${code}: ${message}` : message]
}

interface BodyLimit {
  /** Returns true if the answers that share the budget exceed it. */
  isSpent(): boolean
  /** Counts bytes; returns true if the answer exceeds its current limit. */
  take(bytes: number): boolean
  /**
   * Raises the limit if the provider's answer is long; otherwise returns the reason why the answer is too
   * long.
   */
  extended(body: Readable): Promise<string | null>
}

function openLimit({
  budget = { left: Number.POSITIVE_INFINITY },
  sentByProvider = async () => 0,
}: SendRequestOptions): BodyLimit {
  let [allowed, left] = [MAX_BODY, MAX_BODY]
  return {
    isSpent: () => budget.left < 0,
    take(bytes) {
      left -= bytes
      budget.left -= bytes
      return left < 0
    },
    async extended(body) {
      body.pause()
      const more = Math.min(MAX_GROWTH * (await sentByProvider()), MAX_GROWN_BODY) - allowed
      if (more + left < 0) return `the answer is longer than ${allowed / 2 ** 20} MiB`
      allowed += more
      left += more
      budget.left += more
      body.resume()
      return null
    },
  }
}

/** Counts interim answers, and reports too many of them. */
function countInterim(request: ClientRequest, tooMany: (why: string) => void): void {
  let count = 0
  request.on('information', () => {
    if (++count > MAX_INTERIM_ANSWERS) tooMany(`more than ${MAX_INTERIM_ANSWERS} interim answers`)
  })
}

/** Joins the pieces; keeps only the beginning of an answer that is too long. */
const joined = (pieces: readonly Buffer[], how: Exchange['end']): Buffer =>
  Buffer.concat(pieces, how === 'too_long' ? Math.min(STORED_BYTES, sizeOf(pieces)) : sizeOf(pieces))

/** Pauses an answer, even before it begins. */
function openValve() {
  let isShut = false
  let answer: IncomingMessage | null = null
  return {
    attach(incoming: IncomingMessage) {
      answer = incoming
      if (isShut) incoming.pause()
    },
    pause() {
      isShut = true
      answer?.pause()
    },
    resume() {
      isShut = false
      answer?.resume()
    },
  }
}

/** Sends a request. The request ends after `timeout` ms, or when its answer is too long. */
export function sendRequest(
  baseUrl: string,
  outgoing: Outgoing,
  timeout: number,
  { ca, ...limits }: SendRequestOptions = {},
): OpenExchange {
  const url = new URL(baseUrl)
  const at = clock.monotonic()
  const pieces: Buffer[] = []
  const limit = openLimit(limits)
  const chunks: [number, number][] = []
  const waiting = new Set<() => void>()
  let headAt: number | null = null
  let response: IncomingMessage | null = null
  let decoded: Readable | null = null
  const valve = openValve()
  let end: Exchange['end'] | null = null
  const { promise: done, resolve: settle } = Promise.withResolvers<Seen>()
  const text = () => Buffer.concat(pieces).toString('utf8')
  const look = () => {
    for (const wake of waiting) wake()
  }

  function finish(how: Exchange['end'], why: string | null = null): void {
    if (end !== null) return
    end = how
    timer.close()
    const bytes = joined(pieces, how)
    pieces.splice(0, pieces.length, bytes)
    const body = bytes.toString('utf8')
    look()
    settle({
      at,
      head_at: headAt,
      end_at: clock.monotonic(),
      end: how,
      error: why,
      status: response?.statusCode ?? null,
      headers: response ? flatten(response) : {},
      body,
      utf8: Buffer.from(body).equals(bytes),
      chunks,
    })
    request.destroy()
    // A decoder may hold more output than it has input left.
    decoded?.destroy()
  }

  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(
    requestOptions(url, outgoing, ca),
    (incoming) => {
      headAt = clock.monotonic()
      response = incoming
      const body = decode(incoming)
      decoded = body
      valve.attach(incoming)
      body.on('data', (piece: Buffer) => {
        if (end !== null) return
        const isOver = limit.take(piece.length + PIECE_OVERHEAD)
        if (limit.isSpent()) return finish('too_long', 'the answers of one check together are too long')
        pieces.push(piece)
        chunks.push([piece.length, clock.monotonic()])
        look()
        if (isOver) void limit.extended(body).then((why) => why === null || finish('too_long', why))
      })
      body.on('end', () => finish(incoming.complete ? 'complete' : 'cut'))
      if (body !== incoming) body.on('error', (cause: Error) => finish('cut', cause.message))
      incoming.on('error', (cause) => finish('cut', cause.message))
      incoming.on('close', () => {
        // The decoder may still hold compressed data.
        if (body === incoming || !incoming.complete)
          finish('cut', 'the connection was closed before the end of the body')
      })
    },
  )
  const timer = after(timeout, () => finish('timed_out', `no end within ${timeout} ms`), stray)
  // Only acceptance of the upgrade is tested; nothing is sent afterwards.
  request.on('upgrade', (incoming, socket) => {
    headAt = clock.monotonic()
    response = incoming
    socket.destroy()
    finish('complete')
  })
  countInterim(request, (why) => finish('too_long', why))
  request.on('error', (cause) => finish(...failureOf(cause, response !== null)))
  request.end(outgoing.body ?? undefined)

  return {
    done,
    get body() {
      return text()
    },
    until: (test, ms) => passes(test, ms, waiting, { text, over: () => end !== null }),
    leave: () => finish('left'),
    pause: valve.pause,
    resume: valve.resume,
  }
}

const FLUSH = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }

/** Pipes a body through a decoder, which fails with the body's error. */
const through =
  (decoder: () => Transform) =>
  (body: Readable): Readable => {
    const decoded = decoder()
    body.on('error', (cause) => decoded.destroy(cause))
    return body.pipe(decoded)
  }

const DECODERS: Readonly<Record<string, (body: Readable) => Readable>> = {
  gzip: through(() => createGunzip(FLUSH)),
  'x-gzip': through(() => createGunzip(FLUSH)),
  deflate: inflated,
  br: through(() => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })),
  zstd: through(() => createZstdDecompress({ flush: constants.ZSTD_e_flush })),
}

/** Maximum number of nested content codings. */
const MAX_CODINGS = 3

/** Decompresses a body, because a gateway may compress without a request for it. */
function decode(incoming: IncomingMessage): Readable {
  const codings = (incoming.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => DECODERS[coding.trim().toLowerCase()])
    .filter((decoder) => decoder !== undefined)
  return codings.slice(-MAX_CODINGS).reduceRight<Readable>((body, decoder) => decoder(body), incoming)
}

/** Inflates a body with the zlib wrapper that HTTP specifies, or without the wrapper, as some servers send it. */
function inflated(body: Readable): Readable {
  const out = new PassThrough()
  let empty = true
  body.once('data', (first: Buffer) => {
    empty = false
    body.pause()
    const wrapped = (first[0]! & 0x0f) === 8 && (first.length < 2 || first.readUInt16BE() % 31 === 0)
    const inflate = wrapped ? createInflate(FLUSH) : createInflateRaw(FLUSH)
    inflate.on('error', (cause) => out.destroy(cause))
    inflate.write(first)
    body.pipe(inflate).pipe(out)
  })
  body.once('end', () => empty && out.end())
  body.on('error', (cause) => out.destroy(cause))
  return out
}

const sizeOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

const flatten = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )

/** Messages that end a response. */
const LAST_EVENTS = /^(error|response\.(completed|incomplete|failed))$/

interface SocketOptions {
  /** File with a certificate authority to trust in addition to the default ones. */
  readonly ca?: string | undefined
  /** Budget shared with other answers; the answer that exhausts it ends as `too_long`. */
  readonly budget: ByteBudget
}

/** Sends the body as a message. Resolves at the end of the response or the connection, or after `timeout` ms. */
export function sendMessage(
  baseUrl: string,
  { path, headers, body }: Pick<Outgoing, 'path' | 'headers' | 'body'>,
  timeout: number,
  { ca, budget }: SocketOptions,
): Promise<Seen> {
  const { promise, resolve } = Promise.withResolvers<Seen>()
  const at = clock.monotonic()
  const chunks: [number, number][] = []
  let [text, left] = ['', MAX_BODY]
  let headAt: number | null = null
  let answer: IncomingMessage | null = null
  let end: Exchange['end'] | null = null

  const socket = new WebSocket(baseUrl.replace(/^http/, 'ws').replace(/\/+$/, '') + path, {
    ...{ headers, maxPayload: MAX_BODY, perMessageDeflate: false, handshakeTimeout: timeout },
    ...(ca !== undefined && existsSync(ca) && { ca: [...rootCertificates, readFileSync(ca, 'utf8')] }),
  })
  function finish(how: Exchange['end'], error: string | null = null): void {
    if (end !== null) return
    end = how
    timer.close()
    socket.terminate()
    const { statusCode: status = null } = answer ?? {}
    const seen = { at, head_at: headAt, end_at: clock.monotonic(), end, error, status }
    resolve({ ...seen, headers: answer ? flatten(answer) : {}, body: text, utf8: true, chunks })
  }
  const timer = after(timeout, () => finish('timed_out', `no end within ${timeout} ms`), stray)

  socket.on('upgrade', (response) => {
    headAt = clock.monotonic()
    answer = response
  })
  socket.on('unexpected-response', (_, response) => {
    headAt = clock.monotonic()
    answer = response
    finish('complete')
  })
  socket.on('open', () => socket.send(body ?? ''))
  socket.on('message', (data) => {
    const message = String(data)
    left -= message.length
    budget.left -= message.length
    if (left < 0 || budget.left < 0) return finish('too_long', 'the messages together are too long')
    chunks.push([message.length, clock.monotonic()])
    text += `data: ${message.replaceAll('\n', '\ndata: ')}\n\n`
    if (LAST_EVENTS.test(String((jsonOf(message) as AnyJson | null)?.type))) finish('complete')
  })
  socket.on('close', (code, reason) => finish('cut', `closed with ${code} ${reason}`.trim()))
  socket.on('error', ({ message }) => finish(answer ? 'cut' : 'refused', message))
  return promise
}
