// Writes results as a table for a terminal. Pure.
import { styleText } from 'node:util'
import measure from 'fast-string-truncated-width'
import { readProfile } from '../checks/requirements.ts'
import type { Outcome, Results, Verdict } from './judge.ts'
import { oneLine } from './text.ts'

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
