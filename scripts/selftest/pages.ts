// Formats the results of the gateways that test the suite as Markdown pages of the site. Pure.
import { checks } from '../../conformance/checks/registry.ts'
import { withoutDialect } from '../../conformance/checks/requirements.ts'
import { fileOf, mustFail, mustPass } from '../../conformance/selftest/registry.ts'
import type { MustFailResults, MustPassResults } from './results.ts'

/** Findings that no gateway can fail, each with the reason why the check has it. */
export const GUARDS: Readonly<Record<string, string>> = {
  'FAIL-06/hostile-requests-were-made': 'counts what the suite itself did',
  'PURE-08/calls-reach-the-mock': 'a run whose calls do not arrive ends earlier (SUITE-01)',
}

export function mustFailPage({ whole_run, gateways }: MustFailResults): string {
  const kills = Object.entries(gateways)
    .flatMap(([name, { caught }]) =>
      Object.entries(caught).map(([finding, said]) => ({ finding, name, said })),
    )
    .toSorted((a, b) => (`${a.finding} ${a.name}` < `${b.finding} ${b.name}` ? -1 : 1))
  const findings = new Set(kills.map(({ finding }) => finding)).size
  const requirements = [...checks.keys()].filter((id) => withoutDialect(id) === id).length
  const again = Object.values(gateways).filter(({ date }) => date > whole_run.date).length
  const survivors = Object.values(gateways).filter(({ survived }) => Object.keys(survived).length > 0).length
  return [
    '# What the checks catch',
    '',
    'This tests the checks themselves. Each must-fail gateway is the reference gateway with one error. The check that is meant to catch it must fail, and each finding of each check must have failed for at least one of them.',
    '',
    `${mustFail.size} gateways, ${requirements} checks, ${findings} findings made false, ${kills.length} kills, ${survivors} survivors. All ran with \`npm run selftest -- must-fail\` on ${whole_run.date} (${whole_run.seconds} s, ${whole_run.at_once} at a time, ${whole_run.again_alone} again alone), and ${again} again since.`,
    '',
    '## What each finding catches',
    '',
    '| finding | gateway | what the report says |',
    '|---|---|---|',
    ...kills.map(({ finding, name, said }, index) => {
      const first = kills[index - 1]?.finding !== finding
      return `| ${first ? finding : ''} | [${name}](../../conformance/${fileOf(name)}) | ${cell(said)} |`
    }),
    '',
    '## Findings that no gateway can make false',
    '',
    ...Object.entries(GUARDS).map(([id, why]) => `- ${id}: ${why}`),
    '',
    '## The gateways',
    '',
    '| gateway | what is wrong with it | meant for |',
    '|---|---|---|',
    ...[...mustFail]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([name, { what, caughtBy }]) => `| ${name} | ${cell(what)} | ${caughtBy.join(', ')} |`),
    '',
  ].join('\n')
}

export function mustPassPage({ whole_run, gateways }: MustPassResults): string {
  const rows = Object.entries(gateways)
  const wronglyFailed = rows.filter(([, { failed }]) => Object.keys(failed).length > 0).length
  return [
    '# What the checks must accept',
    '',
    'This protects gateways from wrong checks. Each of these gateways does something in an unusual but correct way. No check that applies to every gateway may fail one of them.',
    '',
    `${rows.length} gateways, ${whole_run.verdicts} verdicts, ${wronglyFailed} gateways wrongly failed: \`npm run selftest -- must-pass\`, ${whole_run.date}, ${whole_run.seconds} s, ${whole_run.at_once} at a time.`,
    '',
    '| gateway | what is unusual | passed | wrongly failed by | warned by, as allowed |',
    '|---|---|---|---|---|',
    ...rows.map(([name, { passed, warned, failed }]) => {
      const what = mustPass.get(name)?.what ?? 'no longer tried'
      return `| ${name} | ${cell(what)} | ${passed} | ${Object.keys(failed).join(', ')} | ${warned.join(', ')} |`
    }),
    '',
  ].join('\n')
}

const cell = (text: string): string => text.replace(/[|<>`*_]/g, (sign) => `\\${sign}`)
