// Writes the results of a run for all readers: as JUnit XML with one test case for each finding, as Markdown for the
// summary of a CI job and a comment on a pull request, as a badge, and as JSON and HTML.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sentenceOf } from '../checks/check.ts'
import { byFinding, type Comparison, comparisonText } from './compare.ts'
import { type FailureText, failuresOf } from './failures.ts'
import { html } from './html.ts'
import type { Conclusion, Results, Verdict } from './judge.ts'
import type { KeptRun } from './rejudge.ts'
import { asCode, causesIn, inMarkdown, jsonFile, manyLines } from './text.ts'

const FILES: Readonly<Record<string, (kept: KeptRun, comparison: Comparison | null) => string>> = {
  'results.json': ({ results }) => jsonFile(results),
  'junit.xml': ({ results }) => junit(results),
  'index.html': html,
  'summary.md': markdown,
  'comment.md': comment,
  'badge.json': ({ results }) => jsonFile(badge(results), 0),
}

/**
 * Writes `results.json`, `junit.xml`, `index.html`, `summary.md`, `comment.md` and `badge.json` into a
 * directory; `comparison` compares them with an earlier run.
 */
export function writeReports(directory: string, kept: KeptRun, comparison: Comparison | null = null): void {
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(FILES))
    writeFileSync(join(directory, name), text(kept, comparison))
}

/**
 * Makes the directory and removes the verdict of an earlier run, so that it cannot be mistaken for the next
 * run's verdict.
 */
export function clearReports(directory: string): void {
  mkdirSync(directory, { recursive: true })
  for (const name of [...Object.keys(FILES), 'run.json']) rmSync(join(directory, name), { force: true })
}

const COLORS: Readonly<Record<Conclusion, string>> = {
  conformant: 'brightgreen',
  partial: 'yellow',
  'not conformant': 'red',
  error: 'lightgrey',
}

export const badge = ({ profile, set, conclusion, counts }: Results) => ({
  schemaVersion: 1,
  label: `waybill ${profile} ${set}`,
  message: conclusion === 'not conformant' ? `${counts.fail + counts.untestable} failed` : conclusion,
  color: COLORS[conclusion],
})

export function junit({ target, profile, verdicts, duration }: Results): string {
  const cases = verdicts.flatMap(casesOf)
  const count = (element: Case['element']) => cases.filter((each) => each.element === element).length
  const suite = attributes({
    name: `${target.name}, profile ${profile}`,
    tests: cases.length,
    failures: count('failure'),
    errors: count('error'),
    skipped: count('skipped'),
    time: duration / 1000,
  })
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite${suite}>
${cases.map(testcase).join('\n')}
  </testsuite>
</testsuites>
`
}

function testcase({ classname, name, time, element, message, type, text }: Case): string {
  const start = `    <testcase${attributes({ classname, name, time })}`
  if (element === null) return `${start}/>`
  const child = element === 'system-out' ? '' : attributes({ message, ...(type && { type }) })
  return `${start}>\n      <${element}${child}>${escaped(text)}</${element}>\n    </testcase>`
}

const attributes = (values: Readonly<Record<string, string | number>>): string =>
  Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(`${value}`)}"`)
    .join('')

/** Escapes markup and the white space that an XML parser would change. The text has no character that XML forbids. */
const escaped = (text: string): string =>
  manyLines(text).replace(/[&<>"\t\n]/g, (character) => `&#${character.charCodeAt(0)};`)

interface Case {
  readonly classname: string
  readonly name: string
  readonly time: number
  /** Child element with the outcome of a test; null for a pass. */
  readonly element: 'failure' | 'error' | 'skipped' | 'system-out' | null
  readonly message: string
  readonly type?: string
  readonly text: string
}

/** Returns one case for each finding, or one for the verdict if its findings do not cover it. */
function casesOf(verdict: Verdict): Case[] {
  const { id, slug, outcome, reason, duration, text: sentence } = verdict
  const common = { classname: `waybill.${id.split('-')[0]}`, time: duration / 1000 }
  const whole = (element: Case['element']): Case[] => [
    {
      ...common,
      name: `${id} ${slug}`,
      element,
      message: reason,
      type: outcome,
      text: `${sentence}\n${reason}`,
    },
  ]
  if (outcome === 'harness-error') return whole('error')
  if (outcome === 'untestable') return whole('failure')
  if (outcome === 'not-applicable' || outcome === 'disabled')
    return whole('skipped').map(({ type: _, ...each }) => ({ ...each, text: '' }))
  return byFinding(verdict).map((answered, index): Case => {
    const bad = answered.findings.filter(({ ok }) => !ok)
    const message = bad[0] ? sentenceOf(bad[0]) : ''
    const text = [sentence, ...bad.flatMap(inFull)].join('\n')
    const failed = outcome === 'warn' ? 'system-out' : 'failure'
    const element = answered.state === 'holds' ? null : answered.state === 'open' ? 'skipped' : failed
    // The time belongs to the whole check, so it is counted once.
    return {
      ...common,
      time: index === 0 ? common.time : 0,
      name: answered.id,
      element,
      message,
      text,
      ...(element === 'failure' && { type: outcome }),
    }
  })
}

/** Returns a finding over several lines: subject, expected, seen, and the exchanges that show it. */
const inFull = ({ what, expected, actual, see = [] }: Verdict['findings'][number]): string[] => [
  what,
  ...(expected === undefined ? [] : [`  expected: ${expected}`]),
  ...(actual === undefined ? [] : [`  seen:     ${actual}`]),
  ...(see.length > 0 ? [`  shown by: ${see.join(' ')}`] : []),
]

/** Returns the summary of a CI job. */
export function markdown(kept: KeptRun, comparison: Comparison | null = null): string {
  const { target, reproduce } = kept.results
  const failures = failuresOf(kept)
  return [
    `## ${inMarkdown(target.name)}: ${kept.results.conclusion}`,
    '',
    ...opening(kept, comparison),
    ...(failures.length > 0 ? [...table(failures), ''] : []),
    ...(reproduce ? [`Again: ${asCode(reproduce)}`, ''] : []),
  ].join('\n')
}

/** Returns the comment for a pull request, with changes first and the rest folded. */
export function comment(kept: KeptRun, comparison: Comparison | null = null): string {
  const { target, conclusion, profile } = kept.results
  const failures = failuresOf(kept)
  const mark = conclusion === 'conformant' ? '✅' : conclusion === 'partial' ? '🟡' : '❌'
  return [
    `### ${mark} ${inMarkdown(target.name)}: ${conclusion} (profile ${profile})`,
    '',
    ...opening(kept, comparison),
    ...(failures.length > 0
      ? [
          `<details><summary>${failures.length} did not hold</summary>`,
          '',
          ...table(failures),
          '',
          '</details>',
          '',
        ]
      : []),
  ].join('\n')
}

function opening({ results }: KeptRun, comparison: Comparison | null): string[] {
  const { profile, reason, counts, inferences } = results
  const summary = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`)
  return [
    `Profile ${profile}. ${cell(reason)}. ${summary.join(', ')}. ${inferences.total} calls to providers.`,
    '',
    ...causesIn(results).flatMap((cause) => [`**${cell(cause)}**`, '']),
    ...(comparison
      ? [`Since the run of ${comparison.earlier.started_at}: ${inMarkdown(comparisonText(comparison))}.`, '']
      : []),
  ]
}

/** Returns a row for each failed finding, or one for the verdict if no finding failed. */
function table(failures: readonly FailureText[]): string[] {
  const rows = failures.flatMap(({ verdict: { id, slug, level, outcome, text, reason }, findings }) =>
    (findings.length > 0
      ? findings
      : [{ id: `${id} ${slug}`, what: null, expected: text, seen: reason }]
    ).map(
      (each) =>
        `| ${each.id} | ${level} | ${outcome} | ${cell(each.what === null ? each.expected : `${each.what}: ${each.expected}`)} | ${cell(each.seen)} |`,
    ),
  )
  return ['| finding | level | outcome | expected | seen |', '|---|---|---|---|---|', ...rows]
}

/** Truncates before escaping, so that no escape is cut. */
const cell = (text: string): string => inMarkdown(text.length > 300 ? `${text.slice(0, 300)}…` : text)
