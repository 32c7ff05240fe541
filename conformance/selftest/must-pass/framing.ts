// Gateways that frame HTTP messages, paths and methods in an unusual way.

import { once } from 'node:events'
import { request as ask, createServer } from 'node:http'
import { clock, sleep } from '../../../src/shared/clock.ts'
import type { InProcess } from '../../target/local.ts'
import { type MustPass, onRead } from '../gateway.ts'
import { startBehind } from '../reference.ts'

/** Format in which an answer is written to its connection. */
interface Framing {
  /** Bytes before the status line. */
  readonly before?: string
  readonly reason?: string
  /** Formats a header. */
  readonly header?: (name: string, value: string) => string
  /** Bytes after the size of a chunk. */
  readonly extension?: string
  /** Bytes between the last chunk and the end. */
  readonly trailer?: string
  /** True for HTTP/1.0: no chunks, and the body ends with the connection. */
  readonly old?: boolean
  /** Pause after the headers, ms. */
  readonly pause?: number
}

/** Proxy in front of the gateway: writes each answer in chunks on a connection that it then closes. */
const framed =
  ({
    before = '',
    reason = 'Alright',
    header = (name, value) => `${name}: ${value}`,
    extension = '',
    trailer = '',
    old = false,
    pause = 0,
  }: Framing): InProcess['start'] =>
  (directory, env) =>
    startBehind(directory, env, (url) =>
      createServer((request) => {
        const { method, url: path, headers, socket } = request
        const upstream = ask(`${url}${path}`, { method, headers, agent: false }, async (incoming) => {
          const {
            'content-length': length,
            'transfer-encoding': _,
            connection: __,
            ...rest
          } = incoming.headers
          const bare = method === 'HEAD'
          const more = bare
            ? { ...(length !== undefined && { 'content-length': length }) }
            : !old && { 'transfer-encoding': 'chunked' }
          const lines = Object.entries({ ...rest, ...more, connection: 'close' }).map(([name, value]) =>
            header(name, String(value)),
          )
          socket.write(
            `${before}HTTP/1.${old ? 0 : 1} ${incoming.statusCode} ${reason}\r\n${lines.join('\r\n')}\r\n\r\n`,
          )
          if (pause) await sleep(pause)
          try {
            for await (const piece of incoming) {
              if (bare || socket.destroyed) continue
              if (!old) socket.write(`${(piece as Buffer).length.toString(16).toUpperCase()}${extension}\r\n`)
              socket.write(piece as Buffer)
              if (!socket.write(old ? '' : '\r\n'))
                await Promise.race([once(socket, 'drain'), once(socket, 'close')])
            }
            socket.end(bare || old ? '' : `0${extension}\r\n${trailer}\r\n`)
          } catch {
            socket.destroy()
          }
        })
        upstream.on('error', () => socket.destroy())
        socket.on('error', () => socket.destroy())
        socket.on('close', () => upstream.destroy())
        request.pipe(upstream)
      }),
    )

/** Prefix of all paths. */
const PREFIX = '/llm/gateway'

const nothingHere = {
  status: 404,
  headers: { 'content-type': 'application/json' },
  body: '{"error":{"message":"nothing is here"}}',
}

let asked = 0

export const gateways = {
  'speaks-http-1.0': {
    what: 'The status line says HTTP/1.0, and an answer ends when its connection closes.',
    // The end of such a connection is always the same: only a missing [DONE] shows that a stream was cut.
    start: framed({ old: true }),
  },
  'chunks-with-extensions': {
    what: 'Chunks have extensions and sizes in capitals, and a trailer follows them.',
    start: framed({ extension: ';seen=1;by="a;b"', trailer: 'x-took-ms: 12\r\n' }),
  },
  'says-it-will-take-long': {
    what: 'A 103 with early hints and a 102 precede each answer.',
    start: framed({
      before: 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n',
    }),
  },
  'shouts-its-headers': {
    what: 'Header names are in capitals, values have spaces around them, and the reason phrase is empty.',
    start: framed({ reason: '', header: (name, value) => `${name.toUpperCase()}:  ${value}  ` }),
  },
  'heads-come-first': {
    what: 'The headers of an answer arrive 400 ms before its body.',
    start: framed({ pause: 400 }),
  },
  'below-a-path': {
    what: 'The gateway is served only below a path prefix.',
    target: (target) => ({ ...target, base_url: `http://127.0.0.1:{{port}}${PREFIX}` }),
    hooks: {
      request(wanted) {
        if (!wanted.path.startsWith(`${PREFIX}/`)) return nothingHere
        wanted.path = wanted.path.slice(PREFIX.length)
      },
    },
  },
  'redirects-below-a-path': {
    what: 'The gateway is served below a path prefix, and a read path redirects to the same path with a final slash.',
    target: (target) => ({ ...target, base_url: `http://127.0.0.1:{{port}}${PREFIX}/` }),
    hooks: {
      request(wanted) {
        if (!wanted.path.startsWith(`${PREFIX}/`)) return nothingHere
        const [path, query = ''] = wanted.path.slice(PREFIX.length).split(/(?=\?)/) as [string, string?]
        if (path === '/v1/models')
          return { status: 308, headers: { location: `${PREFIX}${path}/${query}` }, body: '' }
        wanted.path = (path === '/v1/models/' ? '/v1/models' : path) + query
      },
    },
  },
  'knows-no-head': {
    what: 'HEAD gets 404, as in frameworks that route by method, and OPTIONS gets 200 with headers for browsers.',
    hooks: {
      request: ({ method }) =>
        method === 'HEAD'
          ? { status: 404, headers: {}, body: '' }
          : method === 'OPTIONS'
            ? {
                status: 200,
                headers: { 'access-control-allow-origin': '*', 'access-control-allow-methods': 'GET, POST' },
                body: 'ok',
              }
            : undefined,
    },
  },
  'counts-in-its-health': {
    what: 'The health path reports its number of requests, the uptime and the used resources.',
    hooks: {
      body: onRead('/healthz', (json) => ({
        ...json,
        asked: asked++,
        up_s: clock.monotonic(),
        rss: process.memoryUsage.rss(),
      })),
    },
  },
  'tells-its-limits': {
    what: 'Answers have rate limits that change with each call, a processing time and a cache policy.',
    hooks: {
      responseStart({ headers }) {
        headers['x-ratelimit-limit-requests'] = '1000'
        headers['x-ratelimit-remaining-requests'] = String(1_000_000 - asked++)
        headers['x-ratelimit-reset-requests'] = '6m0s'
        headers['server-timing'] = 'upstream;dur=12.5'
        headers['cache-control'] = 'no-cache, no-transform'
        headers['x-accel-buffering'] = 'no'
        headers.vary = 'Origin'
      },
    },
  },
  'tells-by-other-headers': {
    what: 'Provider, model and id are in headers with other names, as declared in the target file.',
    target: (target) => ({
      ...target,
      observability: {
        ...target.observability,
        headers: { provider: 'X-Served-By', model: 'X-Served-Model', request_id: 'Request-Id' },
      },
    }),
    hooks: {
      responseStart({ headers }) {
        for (const [from, to] of [
          ['x-gateway-provider', 'x-served-by'],
          ['x-gateway-model', 'x-served-model'],
          ['x-gateway-request-id', 'request-id'],
        ] as const) {
          if (headers[from] !== undefined) headers[to] = headers[from]
          delete headers[from]
        }
      },
    },
  },
} satisfies Record<string, MustPass>
