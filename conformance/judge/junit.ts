// Writes results as JUnit XML, one test case for each finding, with elements for failures, skipped tests and
// errors. Pure.

import { sentenceOf } from '../checks/check.ts'
import { byFinding } from './baseline.ts'
import type { Results, Verdict } from './judge.ts'
import { manyLines } from './text.ts'

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
