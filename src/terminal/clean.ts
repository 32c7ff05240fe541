// Makes text from elsewhere safe for a terminal: no control sequences, and no more cells than there are.
// Knows no colour and no segment, and not how wide a character is.

/** No label is worth more; also bounds the work for a hostile one. Characters. */
const LONGEST = 512

/** Controls (C0, C1, escape), formatting (bidi, zero width), surrogates, private use, line separators. No literal,
 * because its classes would be built when the file is parsed, for every start. */
const STEERING = '[\\p{C}\\p{Zl}\\p{Zp}]'
/** ASCII, and the marks that the line itself makes: one cell each, known without asking the tables. */
const ORDINARY = /^[\x20-\x7e·→↷↑↓…⚠]*$/

/** A label without any character that steers the terminal or turns text around (LINE-07). */
export const plain = (label: string): string => clean(label.slice(0, LONGEST))

/** The same for a text of any length: one line, whatever it held. */
export const clean = (text: string): string =>
  isOrdinary(text) ? text : text.replace(new RegExp(STEERING, 'gu'), '')

/** The same with each such character written as an escape, as JSON does it: nothing is lost, and nothing steers. */
export const escaped = (text: string): string =>
  isOrdinary(text)
    ? text
    : text.replace(new RegExp(STEERING, 'gu'), (character) =>
        [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
      )

/** Says how many terminal cells a text takes. */
export type Measure = (text: string) => number

/** Every character takes one cell, and none steers the terminal. */
export const isOrdinary = (text: string): boolean => ORDINARY.test(text)

/** As much of a text as goes into `limit` cells, `…` where something is missing. */
export function cut(text: string, limit: number, cells: Measure): string {
  if (cells(text) <= limit) return text
  let kept = ''
  for (const character of text) {
    if (cells(kept + character) >= limit) break
    kept += character
  }
  return `${kept}…`
}
