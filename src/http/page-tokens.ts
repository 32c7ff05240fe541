// What the page in the browser sends instead of a key: a random token that can read what its key can and is refused for
// calls. It is issued for a key, or for a code that works once, within a minute, so that `waybill ui` can open a signed-in
// page. Kept as digests, in memory only. Knows no HTTP.
import { hash, randomBytes } from 'node:crypto'
import type { Caller } from './auth.ts'

export const TOKEN_PREFIX = 'wbp-'
export const CODE_PREFIX = 'wbc-'

const TOKEN_MS = 12 * 3_600_000
const CODE_MS = 60_000
/** Of tokens and codes together; the oldest go first. */
const MOST = 1_000

export interface Granted {
  /** The token or code itself; it is not kept. */
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface PageTokens {
  grant(caller: Caller): Granted
  code(caller: Caller): Granted
  /** Who a token was given to; null where it is not known, or no longer good. */
  find(token: string): Caller | null
  /** Who a code was given to; it is good for this once. */
  redeem(code: string): Caller | null
  forget(token: string): void
  /** Other keys are configured: all pages sign in again. */
  clear(): void
}

export function createPageTokens(now: () => number): PageTokens {
  const holders = new Map<string, { readonly caller: Caller; readonly expiresAt: number }>()
  const digestOf = (text: string) => hash('sha256', text, 'hex')

  const give = (prefix: string, { name, role }: Caller, ms: number): Granted => {
    const text = prefix + randomBytes(32).toString('base64url')
    const expiresAt = now() + ms
    for (const [digest, held] of holders) if (held.expiresAt <= now()) holders.delete(digest)
    while (holders.size >= MOST) holders.delete(holders.keys().next().value!)
    holders.set(digestOf(text), { caller: { name, role }, expiresAt })
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
    clear: () => holders.clear(),
  }
}
