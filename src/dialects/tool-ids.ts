// Makes ids of tool calls that every dialect accepts, `^[a-zA-Z0-9_-]{1,40}$`, and restores the provider's
// own without storing anything: an id that does not fit becomes `wb_` and its bytes in base64url.
import { createHash, randomUUID } from 'node:crypto'

const FITS = /^[a-zA-Z0-9_-]{1,40}$/
const MARK = 'wb_'
/** Maximum bytes after the mark. */
const MAX_ID_BYTES = 27

/** Returns the id for a client. An id that is too long for this is replaced by a digest: see `isReplaced`. */
export function safeId(id: string): string {
  if (FITS.test(id) && !id.startsWith(MARK)) return id
  const bytes = Buffer.from(id, 'utf8')
  return bytes.length <= MAX_ID_BYTES
    ? `${MARK}${bytes.toString('base64url')}`
    : `wbx_${createHash('sha256').update(bytes).digest('base64url').slice(0, 36)}`
}

/** Returns the id for a provider, which accepts longer ones than clients do; it is never converted back. */
export const idForProvider = (id: string): string => (FITS_PROVIDER.test(id) ? id : safeId(id))
const FITS_PROVIDER = /^[a-zA-Z0-9_-]{1,64}$/

/** Does the same for Mistral, which accepts exactly nine letters and digits, as in its own ids. */
export const idForMistral = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id)
    ? id
    : createHash('sha256').update(id).digest('base64').replace(/[+/]/g, '').slice(0, 9)

/** Returns true if the provider will not get its own id back. Calls and results still agree. */
export const isReplaced = (id: string): boolean => safeId(id).startsWith('wbx_') && !id.startsWith('wbx_')

/** Restores the provider's own id. */
export function originalId(id: string): string {
  if (!id.startsWith(MARK) || !FITS.test(id)) return id
  const bytes = Buffer.from(id.slice(MARK.length), 'base64url')
  const original = bytes.toString('utf8')
  // A foreign id that begins like ours is left as it is.
  return original !== '' && safeId(original) === id ? original : id
}

/** Makes an id for a provider that gives its calls none. */
export const newCallId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`
