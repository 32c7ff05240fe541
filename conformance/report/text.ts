// Text that a gateway may have chosen, made fit for where it is read: a terminal, the output of a CI job, Markdown. Pure.
import { escaped } from '../../src/terminal/clean.ts'

/** On one line; nothing steers a terminal, and nothing is a command of a CI server, however it is wrapped. */
export const oneLine = (text: string): string => defused(escaped(text.replace(/\s+/g, ' ')))

/** The same with its line breaks and tabs. */
export const manyLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => defused(line.split('\t').map(escaped).join('\t')))
    .join('\n')

/** `::warning::` and `##[error]` at the start of a line are commands, and any place may become one. */
const defused = (text: string): string =>
  text.replace(/::(?=[a-z])/gi, ': :').replace(/##(?=\[|vso)/gi, '# #')

/** As text of Markdown: no link, image, mention, markup, cell or heading begins in it. */
export const inMarkdown = (text: string): string =>
  oneLine(text).replace(
    /[^\p{L}\p{N} .,;:()?'"%$=/-]|:(?=\/\/)|(?<=\bwww)\./giu,
    (sign) => `&#${sign.codePointAt(0)};`,
  )

/** Between backticks. */
export const asCode = (text: string): string => `\`${oneLine(text).replaceAll('`', "'")}\``
