// Results of the self-tests on disk and as pages of the site, the option `--only`, and the sample of a run that has no time
// for all cases: first those that the last day's commits affect, then by the commit's hash. The same commit selects the same cases.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { checks } from '../../conformance/checks/registry.ts'
import { readRequirements, requirementsFor, withoutDialect } from '../../conformance/checks/requirements.ts'
import { fileOf, mustFail, mustPass } from '../../conformance/selftest/registry.ts'
import { ownTargets, readTarget } from '../../conformance/target/read.ts'

const texts = z.record(z.string(), z.string())
const counts = { date: z.string(), seconds: z.number(), at_once: z.number() }

const mustFailSchema = z.strictObject({
  /** Latest run of all gateways; some may have been repeated since. */
  whole_run: z.strictObject({ ...counts, again_alone: z.number() }),
  gateways: z.record(
    z.string(),
    z.strictObject({
      date: z.string(),
      /** Finding -> the report's sentence. */
      caught: texts,
      /** Check or finding that did not catch the gateway -> the report's sentence. */
      survived: texts,
    }),
  ),
})
export type MustFailResults = z.output<typeof mustFailSchema>

const mustPassSchema = z.strictObject({
  whole_run: z.strictObject({ ...counts, verdicts: z.number() }),
  gateways: z.record(
    z.string(),
    z.strictObject({
      passed: z.number(),
      /** Requirements that warn, as allowed by the gateway's entry. */
      warned: z.array(z.string()),
      /** Requirement -> the suite's reason. */
      failed: texts,
    }),
  ),
})
export type MustPassResults = z.output<typeof mustPassSchema>

const file = (name: string): URL => new URL(`../../docs/selftest/${name}.json`, import.meta.url)
const read = (name: string): unknown => JSON.parse(readFileSync(file(name), 'utf8'))

export const readMustFail = (): MustFailResults => mustFailSchema.parse(read('must-fail'))
export const readMustPass = (): MustPassResults => mustPassSchema.parse(read('must-pass'))

/** Writes each gateway on its own line, so that a diff shows the changes. */
function write(name: string, { whole_run, gateways }: MustFailResults | MustPassResults): void {
  const lines = Object.entries(gateways)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map((entry) => entry.map((each) => JSON.stringify(each)).join(': '))
  writeFileSync(
    file(name),
    `{\n"whole_run": ${JSON.stringify(whole_run)},\n"gateways": {\n${lines.join(',\n')}\n}\n}\n`,
  )
}
export const writeMustFail = (results: MustFailResults): void => write('must-fail', results)
export const writeMustPass = (results: MustPassResults): void => write('must-pass', results)

/**
 * Returns the requirements that `--only A,B --only C` names; undefined without the option. Throws for an
 * unknown requirement, because an empty run would find nothing wrong.
 */
export function requirementsNamed(given: readonly string[] | undefined): string[] | undefined {
  const ids = given?.flatMap((each) => each.split(','))
  const known = new Set(
    requirementsFor(readRequirements(), 'waybill', readTarget(join(ownTargets, 'waybill.yaml'))).map(
      ({ id }) => id,
    ),
  )
  const unknown = ids?.filter((id) => !known.has(id)) ?? []
  if (unknown.length > 0)
    throw new Error(`--only: ${unknown.join(', ')} is no requirement of conformance/requirements`)
  return ids
}

/** Returns the requirements of `--only`, or exits with a one-line error. */
export function onlyOption(script: string, given: readonly string[] | undefined): string[] | undefined {
  try {
    return requirementsNamed(given)
  } catch (cause) {
    process.stderr.write(`${script}: ${(cause as Error).message}\n`)
    process.exit(2)
  }
}

export interface Sample {
  readonly names: readonly string[]
  /** Message with the numbers of selected and existing cases, and the command for the rest. */
  readonly about: string
}

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()

/** Returns at most `size` names, beginning with those affected by a change. */
export function sample(
  all: readonly string[],
  size: number,
  isConcerned: (name: string, changed: ReadonlySet<string>) => boolean,
): Sample {
  if (!Number.isInteger(size) || size < 1) throw new Error('--sample: must be a whole number from 1 on')
  const commit = git('rev-parse', 'HEAD')
  const base = git('rev-list', '-1', '--before=1 day ago', 'HEAD')
  const changed = new Set(base ? git('diff', '--name-only', base, 'HEAD').split('\n') : [])
  const concerned = new Set(all.filter((name) => isConcerned(name, changed)))
  const place = (name: string): string =>
    `${concerned.has(name) ? 0 : 1} ${createHash('sha256').update(`${commit} ${name}`).digest('hex')}`
  const order = new Map(all.map((name) => [name, place(name)]))
  const names = all.toSorted((a, b) => (order.get(a)! < order.get(b)! ? -1 : 1)).slice(0, size)
  const tried = names.filter((name) => concerned.has(name)).length
  const about = `a sample of ${names.length} of ${all.length}, by commit ${commit.slice(0, 7)}: ${tried} of the ${concerned.size} that the last day's changes concern, ${names.length - tried} others; without --sample: all`
  return { names, about }
}

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
