// Makes text that a gateway may have chosen safe to show: in a terminal, the output of a CI job, Markdown.
// Pure.
import { escaped } from '../../src/terminal/clean.ts'

/** Returns text on one line, without terminal control sequences or CI commands, however it wraps. */
export const oneLine = (text: string): string => defused(escaped(text.replace(/\s+/g, ' ')))

/** Returns the same with line breaks and tabs. */
export const manyLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => defused(line.split('\t').map(escaped).join('\t')))
    .join('\n')

/**
 * Defuses `::warning::` and `##[error]`, which are commands at the start of a line: any place may become one.
 */
const defused = (text: string): string =>
  text.replace(/::(?=[a-z])/gi, ': :').replace(/##(?=\[|vso)/gi, '# #')

/** Escapes text for Markdown: no link, image, mention, markup, cell or heading begins in it. */
export const inMarkdown = (text: string): string =>
  oneLine(text).replace(
    /[^\p{L}\p{N} .,;:()?'"%$=/-]|:(?=\/\/)|(?<=\bwww)\./giu,
    (sign) => `&#${sign.codePointAt(0)};`,
  )

/** Returns text in backticks. */
export const asCode = (text: string): string => `\`${oneLine(text).replaceAll('`', "'")}\``
