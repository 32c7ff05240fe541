// Makes foreign text safe for a terminal: no control sequences, and no more cells than available. Knows no
// colour and no segment, and not how wide a character is.

/** Maximum characters of a label; also bounds the work for a hostile one. */
const MAX_LABEL_LENGTH = 512

/**
 * Controls (C0, C1, escape), formatting (bidi, zero width), surrogates, private use, line separators. A
 * string, because the classes of a literal would be built at parse time, on every start.
 */
const STEERING = '[\\p{C}\\p{Zl}\\p{Zp}]'
/** ASCII, and the marks that the line itself uses: one cell each, known without the tables. */
const ORDINARY = /^[\x20-\x7e·→↷↑↓…⚠]*$/

/** Returns the label without characters that control the terminal or reverse text (LINE-07). */
export const cleanLabel = (label: string): string => clean(label.slice(0, MAX_LABEL_LENGTH))

/** Does the same for a text of any length; the result is one line. */
export const clean = (text: string): string =>
  isOrdinary(text) ? text : text.replace(new RegExp(STEERING, 'gu'), '')

/** Does the same, but writes each such character as a JSON escape, so that nothing is lost. */
export const escaped = (text: string): string =>
  isOrdinary(text)
    ? text
    : text.replace(new RegExp(STEERING, 'gu'), (character) =>
        [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
      )

/** Returns how many terminal cells a text takes. */
export type Measure = (text: string) => number

/** Returns true if every character takes one cell and none controls the terminal. */
export const isOrdinary = (text: string): boolean => ORDINARY.test(text)

/** Returns as much of a text as fits into `limit` cells, ending in `…` if cut. */
export function cut(text: string, limit: number, cells: Measure): string {
  if (cells(text) <= limit) return text
  let kept = ''
  for (const character of text) {
    if (cells(kept + character) >= limit) break
    kept += character
  }
  return `${kept}…`
}
