// Measures and wraps any text in terminal cells. CJK and emoji take two cells. Loaded only for a label with unusual
// characters, because the tables cost 1 ms of start-up time (LINE-09).
import measure from 'fast-string-truncated-width'
import { isOrdinary } from './clean.ts'

/** A `Measure`. */
export const cells = (text: string): number => (isOrdinary(text) ? text.length : measure(text).width)

/** Breaks a text between words into lines of at most `columns` cells. Breaks only words that are longer than a line. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1) ?? ''} ${word}`.trim()
    if (lines.length > 0 && cells(longer) <= columns) {
      lines[lines.length - 1] = longer
      continue
    }
    let part = ''
    for (const character of word)
      if (part !== '' && cells(part + character) > columns) {
        lines.push(part)
        part = character
      } else part += character
    lines.push(part)
  }
  return lines
}
