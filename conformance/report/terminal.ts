// Results as a table for a terminal. Pure.
import { styleText } from 'node:util'
import measure from 'fast-string-truncated-width'
import type { Outcome, Results, Verdict } from '../judge.ts'

type Style = Parameters<typeof styleText>[0]

/** What stands for an outcome: never colour alone. */
const LOOKS: Readonly<Record<Outcome, readonly [mark: string, style: Style]>> = {
  pass: ['✓', 'green'],
  fail: ['✗', 'red'],
  warn: ['!', 'yellow'],
  'not-applicable': ['–', 'gray'],
  untestable: ['?', 'red'],
  'harness-error': ['‼', 'magenta'],
  disabled: ['·', 'gray'],
}

export interface Look {
  readonly color: boolean
  /** Width of the terminal, cells. */
  readonly columns: number
}

/** The whole report; every verdict a line, everything but a pass with its reason. What was left out is only counted. */
export function table(results: Results, { color, columns }: Look): string {
  const paint = (style: Style, text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text
  const fit = (text: string, indent: number) => {
    const { index, truncated } = measure(text, { limit: Math.max(20, columns - indent), ellipsis: '…' })
    return truncated ? `${text.slice(0, index)}…` : text
  }
  const line = ({ id, slug, outcome, level, reason, scored }: Verdict): string => {
    const [mark, style] = LOOKS[outcome]
    const head = `${paint(style, mark)} ${id.padEnd(8)} ${slug.padEnd(34)}`
    const quiet = outcome === 'pass' || outcome === 'not-applicable' || outcome === 'disabled'
    const said =
      outcome === 'pass'
        ? ''
        : `${outcome}${level === 'SHOULD' ? ', SHOULD' : ''}${scored ? '' : ', not scored'}`
    const lines = [`${head} ${paint(style, said)}`.trimEnd()]
    if (!quiet) lines.push(`    ${fit(reason.replace(/\s+/g, ' '), 4)}`)
    return lines.join('\n')
  }
  const { target, profile, conclusion, reason, counts, inferences, duration } = results
  const said = Object.entries(counts).filter(([, count]) => count > 0)
  const style: Style = conclusion === 'conformant' ? 'green' : conclusion === 'partial' ? 'yellow' : 'red'
  return [
    '',
    `${target.name}${target.version ? ` ${target.version}` : ''}, profile ${profile}`,
    '',
    ...results.verdicts.filter(({ outcome }) => outcome !== 'disabled').map(line),
    '',
    `${paint(['bold', style], conclusion)}: ${reason}`,
    said.map(([outcome, count]) => `${count} ${outcome}`).join(', '),
    `${inferences.total} inferences, ${inferences.accounted} of them accounted to a check; ${(duration / 1000).toFixed(1)} s`,
    target.sealed
      ? 'The target was sealed: a zero at the witness is a zero everywhere.'
      : 'The target was not sealed: a zero is a zero at the witness.',
    '',
  ].join('\n')
}
