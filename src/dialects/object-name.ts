// Spellings of an object's name. JSON may escape any character, an address may encode any, and some clients of Google
// write the whole address of a file where others write its name. Pure.

/**
 * A needlessly escaped or encoded character of a name or an address (a letter, a digit, one of `-./:_`), an escaped
 * slash, or the sign of a further encoding.
 */
const CODE = '(?:2[d-f]|3[0-9a]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])'
const SPELLED = new RegExp(String.raw`\\u00(${CODE})|%(${CODE}|25(?=[2-7][0-9a-f]))|\\(/)`, 'gi')
/** Maximum depth of encodings, such as `%2561` for `%61`, that is read. */
const MAX_DEPTH = 3

/** Returns a text with the characters of names written plainly. */
export function plainText(text: string): string {
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const plain = text.replace(SPELLED, (_, escaped, encoded, slash) =>
      slash ? '/' : String.fromCharCode(Number.parseInt(escaped ?? encoded, 16)),
    )
    if (plain === text) break
    text = plain
  }
  return text
}

/** Returns an id or an address as readers of addresses see it, which ignore line ends and spaces around it. */
export const plainAddress = (written: string): string =>
  plainText(written)
    .replace(/[\t\r\n]/g, '')
    .trim()

/** A file of Google at the end of an address. */
const GOOGLE_FILE = /(?:^|[\\/])files[\\/]+([\w-]+)[\\/]*(?:[?#].*)?$/i

/** Returns the name under which an object is on record, for any spelling of its id or address. */
export function objectName(written: string): string {
  const plain = plainAddress(written)
  const [, id] = GOOGLE_FILE.exec(plain) ?? []
  return id === undefined ? plain : `files/${id}`
}
