// Text that came from elsewhere, made fit for a terminal: nothing that steers it, and no more cells than there are.
// Knows no colour and no segment.
import measure from 'fast-string-truncated-width'

/** No label is worth more; also bounds the work for a hostile one. Characters. */
const LONGEST = 512

/** Controls (C0, C1, escape), formatting (bidi, zero width), surrogates, private use, line separators. */
const STEERING = /[\p{C}\p{Zl}\p{Zp}]/gu
/** ASCII, and the marks that the line itself makes: one cell each, known without asking the tables. */
const ORDINARY = /^[\x20-\x7e·→↷↑↓…⚠]*$/

/** A label without any character that steers the terminal or turns text around (LINE-07). */
export function plain(label: string): string {
  const text = label.slice(0, LONGEST)
  return ORDINARY.test(text) ? text : text.replace(STEERING, '')
}

/** Width in terminal cells: CJK and emoji take two. */
export const cells = (text: string): number => (ORDINARY.test(text) ? text.length : measure(text).width)

/** As much of a text as goes into `limit` cells, `…` where something is missing. */
export function cut(text: string, limit: number): string {
  if (cells(text) <= limit) return text
  let kept = ''
  for (const character of text) {
    if (cells(kept + character) >= limit) break
    kept += character
  }
  return `${kept}…`
}
