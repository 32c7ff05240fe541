// Spellings of an object's name. JSON may escape any character, an address may encode any, and some clients of Google
// write the whole address of a file where others write its name. Pure.

/** Codes of a letter, a digit and `-./:_`. */
const CODE = '(2[d-f]|3[0-9a]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])'
const ESCAPED = new RegExp(String.raw`\\u00${CODE}|\\/`, 'gi')
/** An encoded character, or the percent sign of a further encoding, such as `%2561`. */
const ENCODED = new RegExp(`%(?:${CODE}|25(?=[2-7][0-9a-f]))`, 'gi')
/** Maximum number of encodings of one character that are read. */
const MAX_ENCODINGS = 3

const characterOf = (code: string): string => String.fromCharCode(Number.parseInt(code, 16))

/** Returns JSON text with the characters of names written without escapes. */
export const withoutEscapes = (text: string): string =>
  text.includes('\\u00') || text.includes('\\/')
    ? text.replace(ESCAPED, (_, code?: string) => (code ? characterOf(code) : '/'))
    : text

/** Returns an id or an address as its readers see it, who ignore encodings, line ends, and spaces around it. */
function plainGeminiAddress(written: string): string {
  let plain = withoutEscapes(written)
  for (let count = 0; count < MAX_ENCODINGS && plain.includes('%'); count++)
    plain = plain.replace(ENCODED, (_, code?: string) => (code ? characterOf(code) : '%'))
  return plain.replace(/[\t\r\n]/g, '').trim()
}

/** A file of Google at the end of an address. */
const GOOGLE_FILE = /(?:^|[\\/])files[\\/]+([\w-]+)[\\/]*(?:[?#].*)?$/i

/** Returns the name under which an object is on record, for any spelling of its id or address. */
export function objectName(written: string): string {
  const plain = plainGeminiAddress(written)
  const [, id] = GOOGLE_FILE.exec(plain) ?? []
  return id === undefined ? plain : `files/${id}`
}

/** Returns the host of an address; undefined if it has no scheme. */
const hostOf = (plain: string): string | undefined =>
  /^[a-z][a-z\d+.-]*:[\\/]*(?:[^\\/?#]*@)?([^\\/?#:]*)/i.exec(plain)?.[1]

/** Returns true for a file of Google's Files API, in any spelling. Every account can read any other address. */
export function isGoogleFile(uri: string): boolean {
  const plain = plainGeminiAddress(uri)
  const host = hostOf(plain)
  return /files[\\/]/i.test(plain) && (host === undefined || /(^|\.)googleapis\.com\.?$/i.test(host))
}

/** Returns true for the whole address of a file of Google's Files API. */
export const isGoogleFileAddress = (address: string): boolean =>
  isGoogleFile(address) && /generativelanguage/i.test(hostOf(plainGeminiAddress(address)) ?? '')

/** Returns true for an address with a scheme. Google also accepts the name of a file where it expects an address. */
export const hasScheme = (address: string): boolean => hostOf(plainGeminiAddress(address)) !== undefined
