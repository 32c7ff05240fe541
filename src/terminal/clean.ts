// Makes foreign text safe for a terminal: removes control sequences and cuts the text to the available cells.
// Independent of colours and segments; the caller measures widths.

/** Maximum length of a label, in characters. This limit also bounds the work for a hostile label. */
const MAX_LABEL_LENGTH = 512

/**
 * Characters to remove: controls (C0, C1, escape), formatting (bidi, zero width), surrogates, private use,
 * line separators. A string, because a regular expression literal would be compiled on every start.
 */
const STEERING = '[\\p{C}\\p{Zl}\\p{Zp}]'
/**
 * Text of ASCII and the status line's own marks. Each character takes one cell, so no width tables are
 * needed.
 */
const ORDINARY = /^[\x20-\x7e·→↷↑↓…⚠]*$/

/** Returns the label without characters that control the terminal or reverse text (LINE-07). */
export const cleanLabel = (label: string): string => clean(label.slice(0, MAX_LABEL_LENGTH))

/** Removes the same characters from a string of any length. The result is one line. */
export const clean = (text: string): string =>
  isOrdinary(text) ? text : text.replace(new RegExp(STEERING, 'gu'), '')

/** Writes each of these characters as a JSON escape, so that nothing is lost. */
export const escaped = (text: string): string =>
  isOrdinary(text)
    ? text
    : text.replace(new RegExp(STEERING, 'gu'), (character) =>
        [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
      )

/**
 * Writes each of these characters in JSON as its escape, which every parser reads as the same character. Line
 * breaks between members stay.
 */
export const safeJson = (json: string): string => json.replace(new RegExp(`(?!\n)${STEERING}`, 'gu'), escaped)

/** Returns the number of terminal cells that a string takes. */
export type Measure = (text: string) => number

/** Returns true if every character takes one cell and none controls the terminal. */
export const isOrdinary = (text: string): boolean => ORDINARY.test(text)

/** Cuts a string to `limit` cells. A cut text ends in `…`. */
export function cut(text: string, limit: number, cells: Measure): string {
  if (cells(text) <= limit) return text
  let kept = ''
  for (const character of text) {
    if (cells(kept + character) >= limit) break
    kept += character
  }
  return `${kept}…`
}
