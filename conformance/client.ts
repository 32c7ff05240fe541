// The client of the suite: one connection for each request, every byte and its time of arrival kept, and the
// freedom to leave in the middle or to read slowly. Knows HTTP, and nothing of checks.
import { existsSync, readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { rootCertificates } from 'node:tls'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Exchange } from './evidence.ts'

export interface Outgoing {
  readonly method: string
  /** Path and query, or `*`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | null
}

/** What came back, before anything is left out of it. */
export type Seen = Pick<
  Exchange,
  'at' | 'head_at' | 'end_at' | 'end' | 'error' | 'status' | 'headers' | 'body' | 'utf8' | 'chunks'
>

/** A request that is under way. */
export interface OpenExchange {
  /** Resolves when it is over, however it ends; never rejects. */
  readonly done: Promise<Seen>
  /** The body so far. */
  readonly body: string
  /** Resolves when the body so far passes the test (true), or when it cannot any more, or after `ms` (false). */
  until(test: (body: string) => boolean, ms: number): Promise<boolean>
  /** Goes away without reading on. */
  leave(): void
  pause(): void
  resume(): void
}

/** Milliseconds since the epoch, with fractions; comparable with the witness's clock on the same machine. */
export const clock = (): number => performance.timeOrigin + performance.now()

/** Sends a request; it ends by itself after `timeout` ms. `ca`: a file with an authority to trust beside the known ones. */
export function send(baseUrl: string, outgoing: Outgoing, timeout: number, ca?: string): OpenExchange {
  const url = new URL(baseUrl)
  const prefix = url.pathname.replace(/\/+$/, '')
  const at = clock()
  const pieces: Buffer[] = []
  const chunks: [number, number][] = []
  const waiting = new Set<() => void>()
  let headAt: number | null = null
  let response: IncomingMessage | null = null
  let end: Exchange['end'] | null = null
  let settle: (seen: Seen) => void
  const done = new Promise<Seen>((resolve) => {
    settle = resolve
  })
  const text = () => Buffer.concat(pieces).toString('utf8')
  const look = () => {
    for (const wake of waiting) wake()
  }

  function finish(how: Exchange['end'], why: string | null = null): void {
    if (end !== null) return
    end = how
    clearTimeout(timer)
    const bytes = Buffer.concat(pieces)
    const body = bytes.toString('utf8')
    look()
    settle({
      at,
      head_at: headAt,
      end_at: clock(),
      end: how,
      error: why,
      status: response?.statusCode ?? null,
      headers: response ? flatten(response) : {},
      body,
      utf8: Buffer.from(body).equals(bytes),
      chunks,
    })
    request.destroy()
  }

  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(
    {
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      method: outgoing.method,
      path: prefix + outgoing.path,
      headers: outgoing.headers,
      agent: false,
      ...(ca !== undefined && existsSync(ca) && { ca: [...rootCertificates, readFileSync(ca, 'utf8')] }),
    },
    (incoming) => {
      headAt = clock()
      response = incoming
      const decoded = decode(incoming)
      decoded.on('data', (piece: Buffer) => {
        pieces.push(piece)
        chunks.push([piece.length, clock()])
        look()
      })
      decoded.on('end', () => finish(incoming.complete ? 'complete' : 'cut'))
      if (decoded !== incoming) decoded.on('error', (cause: Error) => finish('cut', cause.message))
      incoming.on('error', (cause) => finish('cut', cause.message))
      incoming.on('close', () => {
        // What is compressed may still be on its way through the decoder.
        if (decoded === incoming || !incoming.complete)
          finish('cut', 'the connection was closed before the end of the body')
      })
    },
  )
  const timer = setTimeout(() => finish('timed_out', `no end within ${timeout} ms`), timeout)
  // Taken is all that is asked; nothing is said over it.
  request.on('upgrade', (incoming, socket) => {
    headAt = clock()
    response = incoming
    socket.destroy()
    finish('complete')
  })
  request.on('error', (cause: NodeJS.ErrnoException) =>
    finish(response ? 'cut' : 'refused', cause.code ? `${cause.code}: ${cause.message}` : cause.message),
  )
  request.end(outgoing.body ?? undefined)

  return {
    done,
    get body() {
      return text()
    },
    until: (test, ms) =>
      new Promise((resolve) => {
        const wake = () => {
          if (test(text())) stop(true)
          else if (end !== null) stop(false)
        }
        const stop = (passed: boolean) => {
          clearTimeout(limit)
          waiting.delete(wake)
          resolve(passed)
        }
        const limit = setTimeout(() => stop(false), ms)
        waiting.add(wake)
        wake()
      }),
    leave: () => finish('left'),
    pause: () => response?.pause(),
    resume: () => response?.resume(),
  }
}

/** The body as it was before it was compressed: a gateway may do that although nothing asks for it. */
function decode(incoming: IncomingMessage): Readable {
  const flush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
  switch (incoming.headers['content-encoding']?.toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return incoming.pipe(createGunzip(flush))
    case 'deflate':
      return incoming.pipe(createInflate(flush))
    case 'br':
      return incoming.pipe(createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }))
    default:
      return incoming
  }
}

const flatten = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
