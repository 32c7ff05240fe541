// Texts of reports: plain, as HTML, as commands that repeat a request, as transcripts of exchanges, and as a table for a
// terminal. Pure.
import { readFileSync } from 'node:fs'
import { styleText } from 'node:util'
import measure from 'fast-string-truncated-width'
import type { LedgerEntry } from '../../mocks/ledger.ts'
import { packageFile } from '../../src/shared/package-root.ts'
import { escaped, safeJson } from '../../src/terminal/clean.ts'
import { readProfile } from '../checks/requirements.ts'
import { type Exchange, stepText } from '../evidence/evidence.ts'
import type { Outcome, Results, Verdict } from './judge.ts'

/**
 * Returns the text as a single line, without terminal control sequences and CI commands. A CI command has no
 * effect even if the terminal wraps the line.
 */
const oneLine = (text: string): string => defused(escaped(text.replace(/\s+/g, ' ')))

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

/** The built package has no sources, so it has copies next to the page's files. */
const FILES = import.meta.url.endsWith('.ts')
  ? ['src/page/base.css', 'conformance/judge/report.css']
  : ['dist/page/base.css', 'dist/page/report.css']

export const style = (): string => FILES.map((file) => readFileSync(packageFile(file), 'utf8')).join('\n')

/** Maximum characters of a body shown, or in a command; the evidence has all of it. */
export const MAX_BODY_LENGTH = 2_000

export const CONTROL = 'http://127.0.0.1:9411'

/** Returns commands that repeat the request to the gateway; `file` is the evidence of its check. */
export function curl({ n, request }: Pick<Exchange, 'n' | 'request'>, start: object, file: string): string {
  const { method, path, headers, body } = request
  const url = 'url' in start ? quoted(String(start.url) + path) : `"$GATEWAY"${quoted(path)}`
  const parts = Object.entries(headers).map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`)
  const data =
    body === null
      ? ''
      : body.length > MAX_BODY_LENGTH
        ? ` \\\n  --data-raw "$(jq -r '.exchanges[] | select(.n == ${n}) | .request.body' ${quoted(file)})"`
        : ` \\\n  --data-raw ${quoted(body)}`
  if (method === 'WEBSOCKET')
    return `npx wscat -c ${url}${parts.join('')}${data.replace('--data-raw', '-x')} -w 5`
  const how = method === 'GET' ? '' : method === 'HEAD' ? '--head ' : `-X ${method} `
  return `curl -i ${how}${url}${parts.join('')}${data}`
}

/** Returns the command that scripts the same answer in the mock; null without a script. */
export function scriptCommand({ nonce, script: answers }: Exchange): string | null {
  if (nonce === null || !answers) return null
  return `curl -X PUT ${CONTROL}/script/${nonce} --data-raw ${quoted(JSON.stringify(answers))}`
}

/** Quotes a word for a shell; names of secrets become variables. */
const quoted = (word: string): string =>
  `'${word.replaceAll("'", `'\\''`)}'`
    .replace(/\[secret:([\w.-]+)\]/g, (_, name: string) => `'"$${variable(name)}"'`)
    .replace(/^''(?=.)|(?<=.)''$/g, '')

/** Returns the variable of a secret: `key.client` -> `KEY_CLIENT`. */
const variable = (name: string): string => name.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()

/** Returns the anchor of `#3` or `@7`; `of` distinguishes the checks. */
const anchor = (of: string, ref: string): string => `${of}-${ref.replace('#', 'c').replace('@', 'w')}`
export const link = (of: string, ref: string): string =>
  `<a href="#${anchor(of, ref)}">${escapeText(ref)}</a>`

/** Formats an exchange. `ref` as in findings; `again` repeats the request in a shell. */
export function exchangeOf(
  of: string,
  ref: string,
  exchange: Omit<Exchange, 'chunks' | 'utf8'>,
  again: string,
  shown = MAX_BODY_LENGTH,
): string {
  const { request, status, error, end, headers, body, at, end_at } = exchange
  const seen = status === null ? escapeText(error ?? end) : `${status}${end === 'complete' ? '' : `, ${end}`}`
  return `<details class="exchange"><summary><b>${escapeText(ref)}</b> ${escapeText(request.method)} ${escapeText(brief(request.path, 60))} <small>${escapeText(brief(stepText(exchange), 60))}</small> <em>${seen}</em> <small>${Math.round(end_at - at)} ms</small></summary>
${block(again, anchor(of, ref))}
${block(head(headers))}${block(brief(body, shown))}</details>`
}

export function entryLines(
  of: string,
  ref: string,
  entry: Omit<LedgerEntry, 'headers'>,
  shown = MAX_BODY_LENGTH,
): string {
  const { kind, provider, model, stream, problems, answer, credential, body } = entry
  return `<details class="exchange"><summary><b>${escapeText(ref)}</b> ${escapeText(provider)} / ${escapeText(model ?? 'no model')} <small>${kind}${stream ? ', streamed' : ''}</small> <em>${answer.status ?? 'no answer'}</em></summary>
<p class="note" id="${anchor(of, ref)}">key ${credential}; answered from ${escapeText(answer.from)}; ${answer.bytes} bytes${answer.complete ? '' : ', not to the end'}${endOf(entry)}${problems.length > 0 ? `; ${escapeText(problems.join('; '))}` : ''}</p>
${block(brief(JSON.stringify(body, null, 2) ?? '', shown))}${block(brief(answer.body ?? '', shown))}</details>`
}

/**
 * Returns the side that ended the connection before the answer was complete. Older evidence does not say when
 * the mock ended a connection.
 */
const endOf = ({ answer, peer_left_at }: Pick<LedgerEntry, 'answer' | 'peer_left_at'>): string =>
  answer.cut_at != null
    ? '; the mock cut the connection, as the check told it to'
    : peer_left_at === null
      ? ''
      : '; the gateway closed the connection'

const head = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

type Style = Parameters<typeof styleText>[0]

/** Mark and colour of each outcome, so that colour alone never carries the meaning. */
const LOOKS: Readonly<Record<Outcome, readonly [mark: string, style: Style]>> = {
  pass: ['✓', 'green'],
  fail: ['✗', 'red'],
  warn: ['!', 'yellow'],
  'not-applicable': ['–', 'gray'],
  untestable: ['?', 'red'],
  'harness-error': ['‼', 'magenta'],
  disabled: ['·', 'gray'],
}

/** Outcomes without their own line. */
const UNLISTED: ReadonlySet<Outcome> = new Set(['not-applicable', 'disabled'])

/**
 * Beginning of the most common reason why a requirement does not apply. The names of capabilities follow it.
 */
const UNDECLARED = 'the target file does not declare'

const INDENT = '    '

/** Returns causes of several failures: `27 of 35: each streamed call was answered with 500 {…}`. */
export const causesIn = ({ causes, verdicts }: Pick<Results, 'causes' | 'verdicts'>): string[] => {
  const failed = verdicts.filter(({ outcome }) => ['fail', 'warn', 'untestable'].includes(outcome)).length
  return causes.map(({ what, verdicts: explained }) => `${explained.length} of ${failed}: ${what}`)
}

interface TerminalOptions {
  readonly color: boolean
  /** Width of the terminal, cells. */
  readonly columns: number
}

/**
 * Returns the whole report: one line for each verdict, with a reason unless the verdict is a pass.
 * Requirements that do not apply for the same reason share a line; disabled requirements are only counted.
 */
export function resultsTable(results: Results, { color, columns }: TerminalOptions): string {
  const paint = (style: Style, text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text
  const width = Math.max(20, columns - INDENT.length)
  /** Wraps text into at most three lines, between words if possible. Longer text ends in an ellipsis. */
  const wrap = (text: string): string[] => {
    const lines: string[] = []
    let rest = text
    while (lines.length < 2 && measure(rest).width > width) {
      const { index } = measure(rest, { limit: width })
      const space = rest.lastIndexOf(' ', index)
      const cut = space > index / 2 ? space : index
      lines.push(rest.slice(0, cut))
      rest = rest.slice(cut).trimStart()
    }
    const { index, truncated } = measure(rest, { limit: width, ellipsis: '…' })
    return [...lines, truncated ? `${rest.slice(0, index)}…` : rest]
  }
  const line = ({ id, slug, outcome, level, reason, scored }: Verdict): string => {
    const [mark, style] = LOOKS[outcome]
    const head = `${paint(style, mark)} ${id.padEnd(8)} ${slug.padEnd(34)}`
    const said =
      outcome === 'pass'
        ? ''
        : `${outcome}${level === 'SHOULD' ? ', SHOULD' : ''}${scored ? '' : ', not scored'}`
    const lines = [said === '' ? head.trimEnd() : `${head} ${paint(style, said)}`]
    if (outcome !== 'pass') lines.push(...wrap(oneLine(reason)).map((part) => `${INDENT}${part}`))
    return lines.join('\n')
  }
  const { target, profile, set, live, conclusion, reason, counts, inferences, duration } = results
  const seconds = (duration / 1000).toFixed(1)
  const { untested } = readProfile(profile)
  const said = Object.entries(counts).filter(([, count]) => count > 0)
  const inapplicable = Map.groupBy(
    results.verdicts.filter(({ outcome }) => outcome === 'not-applicable'),
    ({ reason }) => (reason.startsWith(UNDECLARED) ? `${UNDECLARED} what they need` : oneLine(reason)),
  )
  const style: Style = conclusion === 'conformant' ? 'green' : conclusion === 'partial' ? 'yellow' : 'red'
  return [
    '',
    oneLine(`${target.name}${target.version ? ` ${target.version}` : ''}, profile ${profile}, set ${set}`),
    '',
    ...results.verdicts.filter(({ outcome }) => !UNLISTED.has(outcome)).map(line),
    ...[...inapplicable].flatMap(([reason, verdicts]) => [
      paint('gray', `– not applicable: ${verdicts.map(({ id }) => id).join(' ')}`),
      ...wrap(reason).map((part) => `${INDENT}${part}`),
    ]),
    '',
    ...causesIn(results).flatMap((cause) => wrap(oneLine(cause))),
    ...wrap(`${conclusion}: ${oneLine(reason)}`).map((part, index) =>
      index === 0 ? part.replace(conclusion, paint(['bold', style], conclusion)) : part,
    ),
    said.map(([outcome, count]) => `${count} ${outcome}`).join(', '),
    ...(live
      ? [
          `${live.made.calls} calls of at most ${live.announced.calls}; the answers reported ${live.reported.output_tokens} tokens of output, of at most ${live.announced.output_tokens}, and ${live.reported.input_tokens} of input; ${seconds} s`,
        ]
      : [
          `${inferences.total} calls to providers, ${inferences.accounted} of them attributed to a check; ${seconds} s`,
          target.sealed
            ? 'Sealed: the gateway could reach nothing but the mock.'
            : 'Not sealed, as only an image can be: calls to other destinations than the mock would not be seen.',
        ]),
    ...wrap(untested ?? ''),
    '',
  ].join('\n')
}
