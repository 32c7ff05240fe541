// Results as JUnit XML: a failure is a failure element, a skip a skipped element, trouble an error element. Pure.
import { create } from 'xmlbuilder2'
import type { Results, Verdict } from '../judge.ts'

export function junit({ target, profile, verdicts, counts, duration }: Results): string {
  const suite = create({ version: '1.0', encoding: 'UTF-8' })
    .ele('testsuites')
    .ele('testsuite', {
      name: `${target.name}, profile ${profile}`,
      tests: verdicts.length,
      failures: counts.fail + counts.untestable,
      errors: counts['harness-error'],
      skipped: counts['not-applicable'] + counts.disabled,
      time: duration / 1000,
    })
  for (const verdict of verdicts) {
    const { id, slug, duration } = verdict
    const test = suite.ele('testcase', {
      classname: `waybill.${id.split('-')[0]}`,
      name: `${id} ${slug}`,
      time: duration / 1000,
    })
    const { element, attributes, text } = outcomeOf(verdict)
    if (element !== null) test.ele(element, attributes).txt(text)
  }
  return `${suite.end({ prettyPrint: true })}\n`
}

/** The child element that tells viewers what became of a test; none for a pass. */
function outcomeOf({ outcome, reason, findings, text: sentence }: Verdict) {
  const bad = findings.filter(({ ok }) => !ok).map(({ what, see = [] }) => `${what} ${see.join(' ')}`)
  const text = printable([sentence, reason, ...bad].join('\n'))
  const attributes = { message: printable(reason), type: outcome }
  switch (outcome) {
    case 'pass':
      return { element: null, attributes: {}, text: '' }
    case 'fail':
    case 'untestable':
      return { element: 'failure', attributes, text }
    case 'harness-error':
      return { element: 'error', attributes, text }
    case 'warn':
      return { element: 'system-out', attributes: {}, text }
    default:
      return { element: 'skipped', attributes: { message: printable(reason) }, text: '' }
  }
}

/** Without the characters that XML 1.0 cannot hold. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
