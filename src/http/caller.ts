// The sender of a request, identified by its key, and the tokens that stand for a key.
//
// A page in the browser sends a token instead of a key. Tokens of pages are random, have the read rights of their key,
// and are refused for calls. They are issued for a key, or for a code that works once, within a minute; with such a
// code, `waybill ui` opens a signed-in page. Stored only in memory, as digests.
//
// A client sends the parts of an upload without a key, as Google's own addresses allow (its Python client). The address
// then has a token that belongs to one upload and one key, and opens nothing else. It is made from both, so it is
// stored nowhere, and every gateway with the same keys accepts it.

import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { KeyConfig } from '../config/load.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import { chance } from '../shared/chance.ts'

/**
 * Authenticated sender. Without configured keys, every caller is the operator: `{ name: null, role: 'admin'
 * }`.
 */
export interface Caller {
  readonly name: string | null
  readonly role: 'client' | 'admin'
  /** The caller's own credential, for a provider with `auth: caller`. */
  readonly credential?: CallerCredential | null
}

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
    const text = prefix + chance.bytes(32).toString('base64url')
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

const PARAMETER = 'waybill_upload'

/** Returns the ids of the uploads that an address or its query names. A part of an upload names one. */
export const uploadsIn = (address: string): string[] =>
  new URLSearchParams(address.replace(/^[^?]*\?/, '')).getAll('upload_id')

const tokenFor = (uploadId: string, { digest }: KeyConfig): Buffer =>
  createHmac('sha256', digest).update(`part of upload ${uploadId}`).digest()

/** Returns a query with the token of a key; unchanged if the gateway has no such key. */
export function withUploadToken(
  query: string,
  uploadId: string,
  keys: readonly KeyConfig[],
  keyName: string | null,
): string {
  const key = keys.find(({ name }) => name === keyName)
  return key ? `${query}&${PARAMETER}=${tokenFor(uploadId, key).toString('base64url')}` : query
}

/** Returns the query without a token. */
export const withoutUploadToken = (query: string): string =>
  query
    .split('&')
    .filter((pair) => !new URLSearchParams(pair).has(PARAMETER))
    .join('&')

/** Returns the key whose token is in the address of a part; null if there is none. */
export function uploaderAt(url: string, keys: readonly KeyConfig[]): KeyConfig | null {
  if (!url.startsWith('/upload/')) return null
  const [uploadId, ...others] = uploadsIn(url)
  const text = new URL(url, 'http://localhost').searchParams.get(PARAMETER)
  if (uploadId === undefined || others.length > 0 || !text) return null
  const token = Buffer.from(text, 'base64url')
  const isOf = (key: KeyConfig) => {
    const own = tokenFor(uploadId, key)
    return own.length === token.length && timingSafeEqual(own, token)
  }
  return keys.find(isOf) ?? null
}
