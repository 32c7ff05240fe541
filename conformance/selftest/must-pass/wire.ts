// Gateways that use HTTP or TLS in an unusual way.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import {
  request as ask,
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import type { Readable, Transform } from 'node:stream'
import { constants, createBrotliCompress, createDeflateRaw, createGzip, createZstdCompress } from 'node:zlib'
import { parse } from 'yaml'
import { certify } from '../../../mocks/server/certificate.ts'
import { sleep } from '../../../src/shared/clock.ts'
import type { InProcess } from '../../target/local.ts'
import type { MustPass } from '../gateway.ts'
import { startBehind, startWaybill } from '../reference.ts'

/** Content codings: name in `content-encoding` -> streams, one for each step. */
type Coding = readonly [name: string, ...steps: (() => Transform)[]]

const gzip = () => createGzip({ flush: constants.Z_SYNC_FLUSH })
const brotli = () =>
  createBrotliCompress({
    flush: constants.BROTLI_OPERATION_FLUSH,
    params: { [constants.BROTLI_PARAM_QUALITY]: 1 }, // the default takes most of a busy machine's time
  })
const zstd = () => createZstdCompress({ flush: constants.ZSTD_e_flush })
const rawDeflate = () => createDeflateRaw({ flush: constants.Z_SYNC_FLUSH })

/** Returns a handler that passes requests on to a gateway, and its answers to `answer`. */
const relayTo =
  (url: string, answer: (incoming: IncomingMessage, response: ServerResponse) => void): RequestListener =>
  (request, response) => {
    const { method, url: path, headers } = request
    const upstream = ask(`${url}${path}`, { method, headers, agent: false }, (incoming) => {
      incoming.on('error', () => response.destroy())
      answer(incoming, response)
    })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    request.pipe(upstream)
  }

/** Proxy in front of the gateway: compresses every answer, and flushes each event immediately. */
const compressing =
  ([name, ...steps]: Coding): InProcess['start'] =>
  (directory, env) =>
    startBehind(directory, env, (url) =>
      createServer(
        relayTo(url, (incoming, response) => {
          const { 'content-length': _, ...rest } = incoming.headers
          response.writeHead(incoming.statusCode!, { ...rest, 'content-encoding': name })
          steps.reduce<Readable>((body, step) => body.pipe(step()), incoming).pipe(response)
        }),
      ),
    )

/** Terminates TLS in front of the gateway; creates the authority at the start in the gateway's directory. */
const behindTls: InProcess['start'] = (directory, env) =>
  startBehind(directory, env, (url) => {
    const { ca, cert, key } = certify(['127.0.0.1'])
    writeFileSync(join(directory, 'ca.pem'), ca)
    return createTlsServer(
      { cert, key },
      relayTo(url, (incoming, response) => {
        response.writeHead(incoming.statusCode!, incoming.headers)
        incoming.pipe(response)
      }),
    )
  })

/** Silence of a provider before a second request is sent, ms. */
const SILENCE_MS = 1_200

/**
 * Proxy between the gateway and its providers: if a provider is slow, sends the request again and uses the
 * first answer.
 */
const hedging: InProcess['start'] = async (directory, env) => {
  const text = readFileSync(join(directory, 'waybill.yaml'), 'utf8')
  const provider = new URL(parse(text).providers.openai.base_url).origin
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method, url: path, headers } = request
    const tries: ReturnType<typeof ask>[] = []
    const attempt = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const once = ask(`${provider}${path}`, { method, headers, agent: false }, resolve)
        tries.push(once)
        once.on('error', reject)
        once.end(Buffer.concat(pieces))
      })
    response.on('close', () => {
      for (const each of tries) each.destroy()
    })
    try {
      const first = attempt()
      const second = sleep(SILENCE_MS, { ref: false }).then(() =>
        response.headersSent || response.destroyed ? first : attempt(),
      )
      const incoming = await Promise.race([first, second])
      response.writeHead(incoming.statusCode!, incoming.headers)
      // Aborts the slower request, so that it costs no more than necessary.
      for (const each of tries) if (each !== (incoming as { req?: unknown }).req) each.destroy()
      second.catch(() => {})
      first.catch(() => {})
      incoming.on('error', () => response.destroy())
      incoming.on('close', () => incoming.complete || response.destroy())
      incoming.pipe(response)
    } catch {
      response.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  writeFileSync(join(directory, 'changed.yaml'), text.replaceAll(provider, `http://127.0.0.1:${port}`))
  const gateway = await startWaybill(directory, env, 'changed.yaml')
  return {
    async close() {
      await gateway.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

export const gateways = {
  'answers-as-http-1.0': {
    what: 'A body ends when its connection closes, as in HTTP/1.0.',
    hooks: {
      responseStart({ headers }) {
        delete headers['content-length']
        delete headers['transfer-encoding']
        headers.connection = 'close'
      },
    },
  },
  'no-lengths': {
    what: 'Whole answers are chunked and have no Content-Length.',
    hooks: {
      responseStart({ headers }) {
        delete headers['content-length']
      },
    },
  },
  compresses: {
    what: 'All answers are compressed with gzip, including streams, event by event.',
    mayWarn: ['FLOW-10'],
    start: compressing(['gzip', gzip]),
  },
  'compresses-with-brotli': {
    what: 'All answers are compressed with Brotli, including streams, event by event.',
    mayWarn: ['FLOW-10'],
    start: compressing(['br', brotli]),
  },
  'compresses-with-zstd': {
    what: 'All answers are compressed with Zstandard, including streams, event by event.',
    mayWarn: ['FLOW-10'],
    start: compressing(['zstd', zstd]),
  },
  'deflates-without-a-wrapper': {
    what: 'All answers are deflated without the zlib wrapper, as in some servers. Clients read both forms.',
    mayWarn: ['FLOW-10'],
    start: compressing(['deflate', rawDeflate]),
  },
  'compresses-twice': {
    what: 'All answers are compressed with Brotli and then with gzip, and `content-encoding` lists both.',
    mayWarn: ['FLOW-10'],
    start: compressing(['br , GZip', brotli, gzip]),
  },
  'adds-headers': {
    what: 'The gateway adds headers to answers, one of them twice.',
    hooks: {
      responseStart({ headers }) {
        headers.server = 'another'
        headers['x-powered-by'] = 'another'
        headers['set-cookie'] = ['a=1', 'b=2']
        headers.via = '1.1 another'
      },
    },
  },
  'names-the-charset': {
    what: 'Content types include a charset.',
    hooks: {
      responseStart({ headers }) {
        const type = headers['content-type']
        if (type && !type.includes('charset')) headers['content-type'] = `${type}; charset=utf-8`
      },
    },
  },
  'no-head': {
    what: 'Read paths accept only GET, and answer HEAD and OPTIONS with 405.',
    hooks: {
      request: ({ method }) =>
        method === 'HEAD' || method === 'OPTIONS'
          ? { status: 405, headers: { allow: 'GET' }, body: '' }
          : undefined,
    },
  },
  redirects: {
    what: 'A read path without a final slash redirects to the path with the slash, including the query.',
    hooks: {
      request(wanted) {
        const [path, query] = wanted.path.split('?') as [string, string?]
        if (path === '/v1beta/models')
          return {
            status: 307,
            headers: { location: `${path}/${query === undefined ? '' : `?${query}`}` },
            body: '',
          }
        if (path === '/v1beta/models/') wanted.path = '/v1beta/models'
      },
    },
  },
  slow: {
    what: 'The gateway waits 600 ms before it handles a request.',
    hooks: {
      async request() {
        await sleep(600)
      },
    },
  },
  'behind-tls': {
    what: 'The gateway accepts only TLS, with a certificate from its own authority, as declared.',
    target: (target) => ({ ...target, base_url: 'https://127.0.0.1:{{port}}', ca: '{{dir}}/ca.pem' }),
    start: behindTls,
  },
  'asks-twice-when-slow': {
    what: 'If a provider sends nothing for 1.2 s, as declared, the gateway calls it a second time, uses the first answer and cancels the other request. Its records do not list attempts.',
    target: (target) => {
      const { capabilities, observability } = target
      const { attempts: _, ...log } = observability.log!
      return {
        ...target,
        observability: { ...observability, log },
        capabilities: {
          ...capabilities,
          time_outs: { ...capabilities.time_outs, first_event_ms: SILENCE_MS, answer_ms: SILENCE_MS },
        },
      }
    },
    start: hedging,
  },
} satisfies Record<string, MustPass>
