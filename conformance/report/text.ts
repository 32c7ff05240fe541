// Makes text from a gateway safe for terminals, the output of CI jobs, and Markdown. Pure.
import { escaped, safeJson } from '../../src/terminal/clean.ts'

/**
 * Returns the text as a single line, without terminal control sequences and CI commands. A CI command has no
 * effect even if the terminal wraps the line.
 */
export const oneLine = (text: string): string => defused(escaped(text.replace(/\s+/g, ' ')))

/** Returns safe text that keeps line breaks and tabs. */
export const manyLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => defused(line.split('\t').map(escaped).join('\t')))
    .join('\n')

/**
 * Defuses `::warning::` and `##[error]`, which are commands at the start of a line. Any place may become the
 * start of a line.
 */
const defused = (text: string): string =>
  text.replace(/::(?=[a-z])/gi, ': :').replace(/##(?=\[|vso)/gi, '# #')

/** Escapes text for Markdown, so that it cannot start a link, image, mention, markup, cell or heading. */
export const inMarkdown = (text: string): string =>
  oneLine(text).replace(
    /[^\p{L}\p{N} .,;:()?'"%$=/-]|:(?=\/\/)|(?<=\bwww)\./giu,
    (sign) => `&#${sign.codePointAt(0)};`,
  )

/** Returns text in backticks. */
export const asCode = (text: string): string => `\`${oneLine(text).replaceAll('`', "'")}\``

/** Returns the content of a JSON file, safe to print. */
export const jsonFile = (content: unknown, indent = 2): string =>
  `${safeJson(JSON.stringify(content, null, indent))}\n`
