// Results as JUnit XML, a test case for each finding: a failure is a failure element, a skip a skipped element, trouble
// an error element. Pure.
import { create } from 'xmlbuilder2'
import { byFinding } from '../by-finding.ts'
import { sentenceOf } from '../check.ts'
import type { Results, Verdict } from '../judge.ts'

export function junit({ target, profile, verdicts, duration }: Results): string {
  const cases = verdicts.flatMap(casesOf)
  const count = (element: Case['element']) => cases.filter((each) => each.element === element).length
  const suite = create({ version: '1.0', encoding: 'UTF-8' })
    .ele('testsuites')
    .ele('testsuite', {
      name: `${target.name}, profile ${profile}`,
      tests: cases.length,
      failures: count('failure'),
      errors: count('error'),
      skipped: count('skipped'),
      time: duration / 1000,
    })
  for (const { classname, name, time, element, message, type, text } of cases) {
    const test = suite.ele('testcase', { classname, name, time })
    if (element === 'system-out') test.ele(element).txt(text)
    else if (element !== null) test.ele(element, { message, ...(type && { type }) }).txt(text)
  }
  return `${suite.end({ prettyPrint: true })}\n`
}

interface Case {
  readonly classname: string
  readonly name: string
  readonly time: number
  /** The child element that tells viewers what became of a test; none for a pass. */
  readonly element: 'failure' | 'error' | 'skipped' | 'system-out' | null
  readonly message: string
  readonly type?: string
  readonly text: string
}

/** One for each finding; one for the whole where its findings do not say all. */
function casesOf(verdict: Verdict): Case[] {
  const { id, slug, outcome, reason, duration, text: sentence } = verdict
  const common = { classname: `waybill.${id.split('-')[0]}`, time: duration / 1000 }
  const whole = (element: Case['element']): Case[] => [
    {
      ...common,
      name: `${id} ${slug}`,
      element,
      message: printable(reason),
      type: outcome,
      text: printable(`${sentence}\n${reason}`),
    },
  ]
  if (outcome === 'harness-error') return whole('error')
  if (outcome === 'untestable') return whole('failure')
  if (outcome === 'not-applicable' || outcome === 'disabled')
    return whole('skipped').map(({ type: _, ...each }) => ({ ...each, text: '' }))
  return byFinding(verdict).map((answered, index): Case => {
    const bad = answered.findings.filter(({ ok }) => !ok)
    const message = printable(bad[0] ? sentenceOf(bad[0]) : '')
    const text = printable([sentence, ...bad.flatMap(inFull)].join('\n'))
    const failed = outcome === 'warn' ? 'system-out' : 'failure'
    const element = answered.state === 'holds' ? null : answered.state === 'open' ? 'skipped' : failed
    // The time is that of the whole check: it is counted once.
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

/** A finding on lines of its own: what was looked at, what was expected, what was seen, and where that is shown. */
const inFull = ({ what, expected, actual, see = [] }: Verdict['findings'][number]): string[] => [
  what,
  ...(expected === undefined ? [] : [`  expected: ${expected}`]),
  ...(actual === undefined ? [] : [`  seen:     ${actual}`]),
  ...(see.length > 0 ? [`  shown by: ${see.join(' ')}`] : []),
]

/** Without the characters that XML 1.0 cannot hold. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
