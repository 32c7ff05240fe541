// Parts of generated pages such as the report and the scoreboard: the document around them, escaped text, and
// the marks of verdicts.
import type { Verdict } from '../judge/judge.ts'
import { style } from './style.ts'
import { manyLines } from './text.ts'

export const MARKS: Readonly<Record<Verdict['outcome'], string>> = {
  pass: '✓',
  fail: '✗',
  warn: '!',
  'not-applicable': '–',
  untestable: '?',
  'harness-error': '‼',
  disabled: '·',
}

/** Returns a self-contained document. */
export const page = (title: string, body: string, more = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)}</title>
<style>${style()}</style>
${more}</head>
<body>
${body}
</body>
</html>
`

export const escapeText = (raw: string): string =>
  manyLines(raw).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
/** Returns a sentence; text in backticks becomes code. */
export const prose = (raw: string): string => escapeText(raw).replace(/`([^`]+)`/g, '<code>$1</code>')
export const brief = (long: string, limit: number): string =>
  long.length > limit ? `${long.slice(0, limit)}… (${long.length} characters)` : long
/** Returns words as a class name. */
export const slug = (words: string): string => words.replaceAll(' ', '-')

/** Returns a block of text that may scroll, focusable by keyboard; empty for empty text. */
export const block = (raw: string, id = ''): string =>
  raw === '' ? '' : `<pre tabindex="0"${id && ` id="${id}"`}>${escapeText(raw)}</pre>`
