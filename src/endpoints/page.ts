// The page in the browser: the same document at the address of every view, the two files that it loads, and how it signs
// in. The files contain no data and need no key; `src/page` makes their content.
//
// POST /page/sign-in accepts a gateway key, or a code that `waybill ui` obtained with a key at /page/code. It returns a
// read token that expires after some hours; /page/sign-out revokes it. Keys, codes and tokens are sent in `Authorization`,
// so nothing is stored in a cookie or in a URL that reaches a server.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { CODE_PREFIX, type Granted, TOKEN_PREFIX } from '../http/caller.ts'
import type { AdmittedOther, OtherEndpoint } from '../http/endpoint.ts'
import { replyJson } from '../http/reply.ts'
import type { PageFile, ReadContext } from './context.ts'
import { noQuery } from './query.ts'

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

const bearer = ({ request }: AdmittedOther): string =>
  /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''

/**
 * On trusted addresses (https, or this machine), browsers send `sec-fetch-site`. Elsewhere, the Origin
 * identifies the page, and the guard has checked it.
 */
function refuseOtherPages({ request }: AdmittedOther): void {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin')
    throw new GatewayError('host_not_allowed', 'Only the page of this gateway may sign in here.')
}

/** Accepts a key in the same way as other endpoints. A page token cannot create another token. */
function holderOfKey(admitted: AdmittedOther) {
  refuseOtherPages(admitted)
  if (bearer(admitted).startsWith(TOKEN_PREFIX))
    throw new GatewayError(
      'forbidden',
      'Sign in with a gateway key; a page token cannot be exchanged for another.',
    )
  return admitted.authenticate()
}

const reply = (response: ServerResponse, { text, expiresAt }: Granted, more: object = {}): void =>
  replyJson(
    response,
    200,
    JSON.stringify({ ...more, expires_at: new Date(expiresAt).toISOString(), token: text }),
  )

const post = { method: 'POST', mediaType: 'application/json', keyless: true, query: noQuery } as const

export const SIGN_IN: readonly OtherEndpoint<ReadContext>[] = [
  {
    ...post,
    path: '/page/sign-in',
    summary: 'exchanges a key or a code in `Authorization` for a page token, which can read for twelve hours',
    handle(admitted, response, { pageTokens }) {
      const shown = bearer(admitted)
      let caller: ReturnType<typeof holderOfKey>
      if (shown.startsWith(CODE_PREFIX)) {
        refuseOtherPages(admitted)
        const redeemed = pageTokens.redeem(shown)
        if (!redeemed)
          throw new GatewayError(
            'invalid_api_key',
            'This link has already been used or is older than a minute. Run `waybill ui` again.',
          )
        caller = redeemed
      } else caller = holderOfKey(admitted)
      reply(response, pageTokens.grant(caller), { name: caller.name, role: caller.role })
    },
  },
  {
    ...post,
    path: '/page/code',
    summary:
      'exchanges a key in `Authorization` for a code for `waybill ui`, which signs in one page within a minute',
    handle(admitted, response, { pageTokens }) {
      reply(response, pageTokens.code(holderOfKey(admitted)))
    },
  },
  {
    ...post,
    path: '/page/sign-out',
    summary: 'invalidates the page token in `Authorization`',
    handle(admitted, response, { pageTokens }) {
      refuseOtherPages(admitted)
      pageTokens.forget(bearer(admitted))
      replyJson(response, 200, '{}')
    },
  },
]
