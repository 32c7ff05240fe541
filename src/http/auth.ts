// Authenticates callers. Keys are stored only as digests, and are compared in constant time.

import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { KeyConfig } from '../config/load.ts'
import { GatewayError } from '../core/errors.ts'
import { callerCredential, GATEWAY_KEY_HEADER } from '../credentials/caller-credential.ts'
import { type Caller, type PageTokens, TOKEN_PREFIX, uploaderAt } from './caller.ts'
import { createKeyFinder } from './guards.ts'

/** OpenAI's message, by which some clients recognize a wrong key (LiteLLM). */
const INCORRECT = 'Incorrect API key provided'

/**
 * Returns the caller. `read` also admits a page token. Throws `invalid_api_key`, or `forbidden` for a page
 * token in a call.
 */
export type Authenticate = (request: IncomingMessage, use?: 'call' | 'read', keyInQuery?: unknown) => Caller

const ANYONE: Caller = { name: null, role: 'admin' }

/**
 * Returns the authentication for the configured keys and the page tokens issued for them. Looks for the caller's
 * own credential only if `takesCallers`: some provider takes one.
 */
export function createAuth(
  keys: readonly KeyConfig[],
  tokens?: Pick<PageTokens, 'find'>,
  takesCallers = false,
): Authenticate {
  const digests = keys.map(({ name, role, digest }) => ({
    name,
    role,
    digest: Buffer.from(digest.slice('sha256:'.length), 'hex'),
  }))

  const holdsKey = createKeyFinder(keys, tokens ?? { find: () => null })

  return (request, use = 'call', keyInQuery) => {
    const { headers } = request
    if (digests.length === 0)
      return takesCallers ? { ...ANYONE, credential: callerCredential(headers, holdsKey, () => {}) } : ANYONE
    const apart = headers[GATEWAY_KEY_HEADER]
    const key = apart === undefined ? presented(request, keyInQuery) : singleKeyIn(apart)
    if (!key) {
      const uploader = use === 'call' ? uploaderAt(request.url ?? '', keys) : null
      if (uploader) return { name: uploader.name, role: uploader.role }
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
      // Compares all keys without an early exit, because the time must not reveal which key almost matched.
      if (timingSafeEqual(known.digest, digest)) caller = { name: known.name, role: known.role }
    }
    if (!caller) throw new GatewayError('invalid_api_key', `${INCORRECT}: it is not known here.`)
    if (apart === undefined || !takesCallers) return caller
    return { ...caller, credential: callerCredential(headers, holdsKey, refuseSeveral) }
  }
}

/** Returns the key from `X-Gateway-Key`, which contains nothing else. */
function singleKeyIn(value: string | string[]): string {
  if (typeof value === 'string' && /^[^\s,]+$/.test(value)) return value
  throw new GatewayError(
    'invalid_api_key',
    `${INCORRECT}: \`X-Gateway-Key\` takes one gateway key and nothing else.`,
  )
}

const refuseSeveral = (header: string): never => {
  throw new GatewayError(
    'invalid_request',
    `\`${header}\` holds more than one credential. Send the gateway's key as \`X-Gateway-Key\`, and your own alone.`,
  )
}

/**
 * Returns the key from `Authorization: Bearer KEY`, from a separate header, or from the query if allowed.
 * Refuses two different keys.
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
