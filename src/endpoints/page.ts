// The page in the browser: the same document at the address of every view, and the two files that it loads.
// These files contain no data and need no key. Defines the names and headers of the files; `src/page` makes
// their content.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { OtherEndpoint } from '../http/endpoint.ts'
import type { PageFile, ReadContext } from './context.ts'

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const

/** Allows only the page's own files, and prevents text from becoming markup or code. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
}

/** Reads the files on the first request, and caches them. */
export function readPage(directory: URL): ReadContext['pageFiles'] {
  let files: ReadonlyMap<string, PageFile> | null = null
  return () => {
    try {
      files ??= new Map(
        Object.entries(TYPES).map(([name, type]) => {
          const bytes = readFileSync(new URL(name, directory))
          const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
          return [name, { bytes, type, etag }]
        }),
      )
    } catch {
      return null
    }
    return files
  }
}

const served = (path: string, summary: string): OtherEndpoint<ReadContext> => ({
  method: 'GET',
  path,
  summary,
  keyless: true,
  mediaType: 'text/html',
  query: z.looseObject({}), // the page reads this header to choose what to show
  handle({ rest, request }, response, { pageFiles }) {
    const { bytes, type, etag } = fileOf(pageFiles(), path === '/page/*' ? rest : 'index.html')
    const headers = { ...HEADERS, etag }
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, headers).end()
      return
    }
    response.writeHead(200, { ...headers, 'content-type': type, 'content-length': bytes.length })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  },
})

function fileOf(files: ReturnType<ReadContext['pageFiles']>, name: string): PageFile {
  if (files === null)
    throw new GatewayError('not_found', 'The page was not built. Run `npm run build` and start again.')
  const file = files.get(name)
  if (!file) throw new GatewayError('not_found', 'The page has no file of this name.')
  return file
}

/** Answers a browser at an address without a view; the page shows the error. */
export const nowhere: OtherEndpoint<ReadContext>['handle'] = ({ request }, response, { pageFiles }) => {
  const { bytes, type } = fileOf(pageFiles(), 'index.html')
  response.writeHead(404, { ...HEADERS, 'content-type': type, 'content-length': bytes.length })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

/** Paths of the page's views. */
const VIEWS = [
  '/',
  '/calls',
  '/calls/*',
  '/sessions',
  '/sessions/*',
  '/routes',
  '/costs',
  '/recordings',
  '/health',
]

export const PAGE = [
  ...VIEWS.map((path) => served(path, 'a view of the page')),
  served('/page/*', 'a file of the page'),
]
