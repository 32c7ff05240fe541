// Replaces text with meaningless text of the same form: x for every letter, 1 for every digit. Each character
// keeps its length in UTF-8, so that every byte offset stays valid. Blanking twice changes nothing.

/**
 * Blanks a text. White space and ASCII punctuation stay, so JSON within a text keeps its structure.
 * Characters beyond ASCII become × (2 bytes), ✕ (3) or 𝐱 (4).
 */
export const blank = (text: string): string =>
  text
    .replace(/[a-z]/g, 'x')
    .replace(/[A-Z]/g, 'X')
    .replace(/[0-9]/g, '1')
    .replace(/[\u0080-\u07ff]/g, '×')
    .replace(/[\u0800-\ud7ff\ue000-\uffff]/g, '✕')
    // Each half of a pair is also replaced separately: a stream may split the pair, and the halves must still
    // match.
    .replace(/[\ud800-\udbff]/g, '\ud835')
    .replace(/[\udc00-\udfff]/g, '\udc31')

/**
 * Parts of JSON in addition to punctuation: escapes, the three literals in the place of a value, exponents.
 */
const JSON_PARTS =
  /(\\u[\da-fA-F]{4}|\\["\\/bfnrt]|(?<=(?:^|[:,[])\s*)(?:true|false|null)(?=\s*(?:$|[,}\]]))|(?<=\d)[eE](?=[+-]?\d))/

/** Blanks JSON text or a piece of it, and keeps it valid. A boolean becomes true. */
export const blankJsonText = (text: string): string =>
  text
    .split(JSON_PARTS)
    .map((piece, i) => {
      if (i % 2 === 0) return blank(piece)
      if (piece === 'false') return 'true '
      return piece.startsWith('\\u') ? '\\u00d7' : piece
    })
    .join('')

/**
 * Blanks the content of a JSON string, including escapes, which keep their form and length. `change` must
 * keep the number of code units and their length in UTF-8, as the two functions above do.
 */
export function blankInString(inner: string, change: (text: string) => string): string {
  if (!inner.includes('\\')) return change(inner)
  const written = inner.match(/\\u[\da-fA-F]{4}|\\[^u]|[^\\]/g) ?? []
  const changed = change(written.map((unit) => (unit.length === 1 ? unit : decoded(unit))).join(''))
  return written
    .map((unit, i) => {
      const now = changed[i]!
      if (unit.length === 1 || now === decoded(unit)) return unit.length === 1 ? now : unit
      return `\\u${now.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
    .join('')
}

const decoded = (unit: string): string => JSON.parse(`"${unit}"`)

/**
 * Variants of a blanked character that keep two names distinct. The first is the character itself. Blanking a
 * variant again does not change it.
 */
const VARIANTS: readonly [first: string, count: number][] = [
  ['1', 9],
  ['×', 40],
  ['✕', 60],
  ['\udc31', 40],
]
const LETTERS = 'xyzabcdefghijklmnopqrstuvw'

/**
 * Returns the `nth` variant of a blanked name; 0 is the blanked name itself. Returns the last variant if
 * there are no more.
 */
export function variantOf(blanked: string, nth: number): string {
  const units = blanked.split('')
  let rest = nth
  for (let i = units.length - 1; i >= 0 && rest > 0; i--) {
    const unit = units[i]!
    const letter = unit === 'x' ? LETTERS : unit === 'X' ? LETTERS.toUpperCase() : null
    const [, count = 1] = VARIANTS.find(([first]) => first === unit) ?? []
    const size = letter?.length ?? count
    const step = rest % size
    units[i] = letter?.[step] ?? String.fromCharCode(unit.charCodeAt(0) + step)
    rest = Math.floor(rest / size)
  }
  return units.join('')
}
