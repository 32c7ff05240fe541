// Signs in the page. POST /page/sign-in accepts a gateway key, or a code that `waybill ui` obtained with a key at
// /page/code. Signing in returns a read token that expires after some hours; /page/sign-out revokes the token.
// Keys, codes and tokens are sent in `Authorization`, so nothing is stored in a cookie or in a URL that reaches a
// server.
import type { ServerResponse } from 'node:http'
import { GatewayError } from '../core/errors.ts'
import { CODE_PREFIX, type Granted, TOKEN_PREFIX } from '../http/caller.ts'
import type { AdmittedOther, OtherEndpoint } from '../http/endpoint.ts'
import { replyJson } from '../http/reply.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

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
