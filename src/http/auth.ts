// Authenticates callers: keys are known only as digests and compared in constant time.

import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { KeyConfig } from '../config/load.ts'
import { GatewayError } from '../core/errors.ts'
import type { Caller } from './caller.ts'
import { type PageTokens, TOKEN_PREFIX } from './page-tokens.ts'

/** OpenAI's message: some clients recognize a wrong key by it (LiteLLM). */
const INCORRECT = 'Incorrect API key provided'

/** `read` also admits a token of the page. Throws `invalid_api_key`, or `forbidden` for a token in a call. */
export type Authenticate = (request: IncomingMessage, use?: 'call' | 'read', keyInQuery?: unknown) => Caller

/** Returns the check for the configured keys, and for the tokens issued for them. */
export function createAuth(keys: readonly KeyConfig[], tokens?: Pick<PageTokens, 'find'>): Authenticate {
  const digests = keys.map(({ name, role, digest }) => ({
    name,
    role,
    digest: Buffer.from(digest.slice('sha256:'.length), 'hex'),
  }))

  return (request, use = 'call', keyInQuery) => {
    if (digests.length === 0) return { name: null, role: 'admin' }
    const key = presented(request, keyInQuery)
    if (!key) {
      throw new GatewayError(
        'invalid_api_key',
        `${INCORRECT}: none was sent. Send one as \`Authorization: Bearer KEY\`.`,
      )
    }
    if (key.startsWith(TOKEN_PREFIX)) {
      if (use === 'call')
        throw new GatewayError(
          'forbidden',
          'A page token can read the record, but cannot make calls. Send a gateway key.',
        )
      const holder = tokens?.find(key)
      if (holder) return holder
    }
    const digest = hash('sha256', key, 'buffer')
    let caller: Caller | null = null
    for (const known of digests) {
      // No early exit: the time must not reveal which key was nearly right.
      if (timingSafeEqual(known.digest, digest)) caller = { name: known.name, role: known.role }
    }
    if (!caller) throw new GatewayError('invalid_api_key', `${INCORRECT}: it is not known here.`)
    return caller
  }
}

/**
 * Returns the key from `Authorization: Bearer KEY`, from a header of its own, or from the query if allowed.
 * Two different keys are refused.
 */
function presented({ headers }: IncomingMessage, keyInQuery: unknown): string | null {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  const all = [bearer, headers['x-api-key'], headers['x-goog-api-key'], keyInQuery].flat().filter(Boolean)
  if (new Set(all).size > 1)
    throw new GatewayError(
      'invalid_api_key',
      `${INCORRECT}: \`Authorization\`, \`x-api-key\` and similar headers contain different keys. Send only one of them.`,
    )
  return typeof all[0] === 'string' ? all[0] : null
}
