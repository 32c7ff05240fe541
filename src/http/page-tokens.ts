// Tokens that the page in the browser sends instead of a key. The tokens are random, have the read rights of
// their key, and are refused for calls. A token is issued for a key, or for a code that works once, within a
// minute; with such a code, `waybill ui` opens a signed-in page. Stored only in memory, as digests.
// Independent of HTTP.
import { hash, randomBytes } from 'node:crypto'
import type { Caller } from './caller.ts'

export const TOKEN_PREFIX = 'wbp-'
export const CODE_PREFIX = 'wbc-'

const TOKEN_MS = 12 * 3_600_000
const CODE_MS = 60_000
/**
 * Maximum tokens, and maximum codes, of one key. The oldest ones of the key are dropped first, so that no key
 * signs out another key's pages.
 */
const MAX_TOKENS_PER_KEY = 100

export interface Granted {
  /** The token or code in plain text, which is not stored. */
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface PageTokens {
  grant(caller: Caller): Granted
  code(caller: Caller): Granted
  /** Returns the owner of a token; null if it is unknown or no longer valid. */
  find(token: string): Caller | null
  /** Returns the owner of a code, and invalidates the code. */
  redeem(code: string): Caller | null
  forget(token: string): void
  /** Signs all pages out after the configured keys have changed. */
  clear(): void
}

export function createPageTokens(now: () => number): PageTokens {
  const holders = new Map<string, { readonly caller: Caller; readonly expiresAt: number }>()
  /** Digests issued for a key, separately for tokens and codes; some may have expired. */
  const given = new Map<string, string[]>()
  const digestOf = (text: string) => hash('sha256', text, 'hex')

  const give = (prefix: string, { name, role }: Caller, ms: number): Granted => {
    const text = prefix + randomBytes(32).toString('base64url')
    const expiresAt = now() + ms
    const group = `${prefix}${name ?? ''}`
    const own = (given.get(group) ?? []).filter((digest) => holders.has(digest))
    while (own.length >= MAX_TOKENS_PER_KEY) holders.delete(own.shift()!)
    const digest = digestOf(text)
    holders.set(digest, { caller: { name, role }, expiresAt })
    given.set(group, [...own, digest])
    return { text, expiresAt }
  }
  const find = (text: string): Caller | null => {
    const held = holders.get(digestOf(text))
    return held && held.expiresAt > now() ? held.caller : null
  }
  return {
    grant: (caller) => give(TOKEN_PREFIX, caller, TOKEN_MS),
    code: (caller) => give(CODE_PREFIX, caller, CODE_MS),
    find: (token) => (token.startsWith(TOKEN_PREFIX) ? find(token) : null),
    redeem(code) {
      const caller = code.startsWith(CODE_PREFIX) ? find(code) : null
      holders.delete(digestOf(code))
      return caller
    },
    forget: (token) => void holders.delete(digestOf(token)),
    clear() {
      holders.clear()
      given.clear()
    },
  }
}
