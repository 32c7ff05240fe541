// Makes tool call ids that every dialect accepts, `^[a-zA-Z0-9_-]{1,40}$`. An id that does not fit becomes
// `wb_` and its bytes in base64url. The provider's own id is restored without storing anything.
import { createHash, randomUUID } from 'node:crypto'

const FITS = /^[a-zA-Z0-9_-]{1,40}$/
const MARK = 'wb_'
/** Maximum bytes after the mark. */
const MAX_ID_BYTES = 27

/** Returns the id for a client. An id too long for base64url is replaced by a digest (see `isReplaced`). */
export function safeId(id: string): string {
  if (FITS.test(id) && !id.startsWith(MARK)) return id
  const bytes = Buffer.from(id, 'utf8')
  return bytes.length <= MAX_ID_BYTES
    ? `${MARK}${bytes.toString('base64url')}`
    : `wbx_${createHash('sha256').update(bytes).digest('base64url').slice(0, 36)}`
}

/**
 * Returns the id for a provider. Providers accept longer ids than clients, and these ids are never converted
 * back.
 */
export const idForProvider = (id: string): string => (FITS_PROVIDER.test(id) ? id : safeId(id))
const FITS_PROVIDER = /^[a-zA-Z0-9_-]{1,64}$/

/** Returns the id for Mistral, which accepts only ids of exactly nine letters and digits. */
export const idForMistral = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id)
    ? id
    : createHash('sha256').update(id).digest('base64').replace(/[+/]/g, '').slice(0, 9)

/** Returns true if the provider's own id cannot be restored. Calls and results still have equal ids. */
export const isReplaced = (id: string): boolean => safeId(id).startsWith('wbx_') && !id.startsWith('wbx_')

/** Restores the provider's own id. */
export function originalId(id: string): string {
  if (!id.startsWith(MARK) || !FITS.test(id)) return id
  const bytes = Buffer.from(id.slice(MARK.length), 'base64url')
  const original = bytes.toString('utf8')
  // A foreign id with our prefix is left unchanged.
  return original !== '' && safeId(original) === id ? original : id
}

/** Makes an id for a provider's call without an id. */
export const newCallId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`
