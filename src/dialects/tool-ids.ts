// Ids of tool calls that every side accepts, `^[a-zA-Z0-9_-]{1,40}$`, and that come back as the provider's own without
// anything being remembered: an id that does not fit is written as `wb_` and its bytes in base64url.
import { createHash, randomUUID } from 'node:crypto'

const FITS = /^[a-zA-Z0-9_-]{1,40}$/
const MARK = 'wb_'
/** Bytes that fit behind the mark. */
const MOST = 27

/** The id that a client gets. One that is too long to be written so is replaced by a digest: see `isReplaced`. */
export function safeId(id: string): string {
  if (FITS.test(id) && !id.startsWith(MARK)) return id
  const bytes = Buffer.from(id, 'utf8')
  return bytes.length <= MOST
    ? `${MARK}${bytes.toString('base64url')}`
    : `wbx_${createHash('sha256').update(bytes).digest('base64url').slice(0, 36)}`
}

/** The id in a request to a provider, which takes longer ones than clients do; it is never read back. */
export const idForProvider = (id: string): string => (FITS_PROVIDER.test(id) ? id : safeId(id))
const FITS_PROVIDER = /^[a-zA-Z0-9_-]{1,64}$/

/** The same for Mistral, which takes nine letters and digits and nothing else; its own are such. */
export const idForMistral = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id)
    ? id
    : createHash('sha256').update(id).digest('base64').replace(/[+/]/g, '').slice(0, 9)

/** Whether the provider will not get its own id back. Calls and results agree all the same. */
export const isReplaced = (id: string): boolean => safeId(id).startsWith('wbx_') && !id.startsWith('wbx_')

/** The provider's own id. */
export function originalId(id: string): string {
  if (!id.startsWith(MARK) || !FITS.test(id)) return id
  const bytes = Buffer.from(id.slice(MARK.length), 'base64url')
  const original = bytes.toString('utf8')
  // An id of another origin that begins like ours is left as it is.
  return original !== '' && safeId(original) === id ? original : id
}

/** For a provider that gives its calls no ids. */
export const newCallId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`
