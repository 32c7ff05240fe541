// Tokens in the address of an upload in parts, for clients that send the parts without a key, as Google's own
// addresses allow (its Python client). A token belongs to one upload and one key, and opens nothing else. It is made
// from both, so it is stored nowhere, and every gateway with the same keys accepts it.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { KeyConfig } from '../config/load.ts'

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
