// Gateways that use HTTP in an unusual way.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as ask, createServer } from 'node:http'
import { join } from 'node:path'
import type { Readable, Transform } from 'node:stream'
import { constants, createBrotliCompress, createDeflateRaw, createGzip, createZstdCompress } from 'node:zlib'
import { parse } from 'yaml'
import { sleep } from '../../../src/shared/clock.ts'
import type { InProcess } from '../../launch/in-process.ts'
import type { MustPass } from '../gateway.ts'
import { startWaybill } from '../reference.ts'

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

/** Proxy in front of the gateway: compresses every answer, and flushes each event immediately. */
const compressing =
  ([name, ...steps]: Coding): InProcess['start'] =>
  async (directory, env) => {
    const { url, ...gateway } = await startWaybill(directory, { ...env, WAYBILL_PORT: '0' })
    const server = createServer((request, response) => {
      const { method, url: path, headers } = request
      const upstream = ask(`${url}${path}`, { method, headers, agent: false }, (incoming) => {
        const { 'content-length': _, ...rest } = incoming.headers
        response.writeHead(incoming.statusCode!, { ...rest, 'content-encoding': name })
        incoming.on('error', () => response.destroy())
        steps.reduce<Readable>((body, step) => body.pipe(step()), incoming).pipe(response)
      })
      upstream.on('error', () => response.destroy())
      response.on('close', () => upstream.destroy())
      request.pipe(upstream)
    })
    server.listen(portIn(directory), '127.0.0.1')
    await once(server, 'listening')
    return {
      async close() {
        server.close()
        server.closeAllConnections()
        await gateway.close()
      },
    }
  }

/** Returns the port in a gateway's configuration. */
const portIn = (directory: string): number =>
  parse(readFileSync(join(directory, 'waybill.yaml'), 'utf8')).server.port

export const mustPass = {
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
} satisfies Record<string, MustPass>
