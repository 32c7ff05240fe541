// `npm run gateways -- versions [NAME…]`: asks several versions of a project the same requirements (`--quick`), asks
// again where they differ, and stores docs/scoreboard/versions: results.json, and the evidence of each difference.
// `npm run docs` makes docs/what-broke-when.md of them. projects.yaml has the versions and the sentences.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { z } from 'zod'
import { readRequirements, requirementsFor, withoutDialect } from '../../conformance/checks/requirements.ts'
import { type KeptRun, rejudge } from '../../conformance/judge/rejudge.ts'
import { readTarget } from '../../conformance/target/read.ts'
import { conformPeer, installGateway, readPeer } from './gateway.ts'
import { NOTED, SIGNS, targetFile, withoutPath } from './scoreboard.ts'
import { proofOf } from './scoreboard-evidence.ts'

const folder = fileURLToPath(new URL('../../docs/scoreboard/versions/', import.meta.url))

const projectsSchema = z.strictObject({
  asked: z.array(z.string()),
  projects: z.record(
    z.string(),
    z.strictObject({
      versions: z.array(z.string()),
      lacks: z
        .strictObject({ versions: z.array(z.string()), ids: z.string(), note: z.string() })
        .optional()
        .describe('Versions without a path, the pattern of the requirements that need it, and a sentence.'),
      looked_at: z.record(z.string(), z.string()).describe('Requirement id -> what the transcripts show.'),
    }),
  ),
})
export const readProjects = (): z.output<typeof projectsSchema> =>
  projectsSchema.parse(parse(readFileSync(join(folder, 'projects.yaml'), 'utf8')))

/** Outcomes of several versions of a project. */
export interface ComparedVersions {
  readonly title: string
  readonly homepage: string
  readonly date: string
  readonly suite: string
  readonly environment: string
  readonly versions: readonly string[]
  /** Version -> why it was not asked, or not to the end. */
  readonly troubles: Readonly<Record<string, string>>
  /** Number of asked requirements. */
  readonly asked: number
  /** Requirements whose outcomes differ in the first run, with those of the second. */
  readonly rows: readonly {
    readonly id: string
    readonly slug: string
    readonly level: string
    readonly first: readonly (string | null)[]
    readonly second: readonly (string | null)[]
  }[]
}

const resultsFile = join(folder, 'results.json')
export const readCompared = (): Readonly<Record<string, ComparedVersions>> =>
  existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {}

/** Compares the versions of these projects, or of all, and stores the results. */
export async function compareVersions(scratch: string, names: readonly string[]): Promise<void> {
  const { asked, projects } = readProjects()
  for (const name of names.length > 0 ? names : Object.keys(projects)) {
    const compared = await compareProject(name, projects[name]!.versions, asked, scratch)
    const results = Object.entries({ ...readCompared(), [name]: compared })
    const known = Object.fromEntries(results.filter(([each]) => Object.hasOwn(projects, each)))
    writeFileSync(resultsFile, withoutPath(scratch)(`${JSON.stringify(known, null, 2)}\n`))
  }
}

async function compareProject(
  name: string,
  versions: readonly string[],
  asked: readonly string[],
  scratch: string,
): Promise<ComparedVersions> {
  const target = readTarget(targetFile(name))
  const ids = requirementsFor(readRequirements(), 'core', target)
    .map(({ id }) => id)
    .filter((id) => asked.includes(withoutDialect(id)))
  const troubles: Record<string, string> = {}
  /** Runs a version. Returns null if it ended before its first check; `troubles` has the reason of an early end. */
  const ask = async (version: string, only: readonly string[], time: number): Promise<KeptRun | null> => {
    const directory = join(scratch, `${name}@${version}`)
    const report = join(scratch, 'reports', `${name}@${version}-${time}`)
    rmSync(report, { recursive: true, force: true })
    const peer = await readPeer(name, version)
    if (!installGateway(name, peer, directory)) {
      troubles[version] = 'It cannot be installed.'
      return null
    }
    const file = join(scratch, `${name}@${version}.yaml`)
    writeFileSync(file, JSON.stringify({ extends: targetFile(name), version }))
    const said = await conformPeer([file, '--quick', '--only', ...only, '--report', report], peer, directory)
    if (existsSync(join(report, 'results.json'))) {
      const kept = rejudge(report)
      if (kept.run.stopped !== null) troubles[version] = kept.run.stopped.split(' It printed')[0]!
      return kept
    }
    troubles[version] = said.trim().split('\n').at(-1)!.slice(0, 280)
    return null
  }
  const first: (KeptRun | null)[] = []
  for (const version of versions) first.push(await ask(version, ids, 1))
  const outcomesOf = (runs: readonly (KeptRun | null)[], id: string) =>
    runs.map((run) => run?.results.verdicts.find((verdict) => verdict.id === id)?.outcome ?? null)
  const different = ids.filter((id) => differ(outcomesOf(first, id)))
  const second: (KeptRun | null)[] = []
  for (const [index, version] of versions.entries())
    second.push(first[index] && different.length > 0 ? await ask(version, different, 2) : null)
  const proofs = versions.flatMap((version, index) =>
    (first[index]?.results.verdicts ?? [])
      .filter(({ id, findings }) => different.includes(id) && findings.length > 0)
      .map((verdict) => JSON.stringify({ version, ...proofOf(verdict, first[index]!) })),
  )
  mkdirSync(folder, { recursive: true })
  const text = withoutPath(scratch)(proofs.map((line) => `${line}\n`).join(''))
  writeFileSync(join(folder, `${name}.jsonl.gz`), gzipSync(text, { level: 9 }))
  const { results, run } = first.find((each) => each !== null)!
  return {
    title: target.name,
    homepage: target.homepage ?? '',
    date: results.started_at.slice(0, 10),
    suite: run.suite,
    environment: Object.values(results.environment).join(', '),
    versions,
    troubles,
    asked: ids.length,
    rows: different.map((id) => {
      const { slug, level } = results.verdicts.find((verdict) => verdict.id === id)!
      return { id, slug, level, first: outcomesOf(first, id), second: outcomesOf(second, id) }
    }),
  }
}

const differ = (outcomes: readonly (string | null)[]): boolean =>
  new Set(outcomes.map(kindOf).filter((kind) => kind !== null)).size > 1

/**
 * Joins the outcomes that say the same: a requirement that cannot be tested does not hold. Returns null for an
 * outcome that says nothing about the gateway.
 */
const kindOf = (outcome: string | null): 'pass' | 'fail' | null => {
  if (outcome === 'pass') return 'pass'
  return outcome !== null && outcome !== 'harness-error' && NOTED.includes(outcome) ? 'fail' : null
}

/** Returns the outcomes that both runs have; null where they differ. */
export const repeated = ({ first, second }: ComparedVersions['rows'][number]): (string | null)[] =>
  first.map((outcome, index) => {
    const kind = kindOf(outcome)
    return kind !== null && kind === kindOf(second[index] ?? null) ? outcome : null
  })

/** Splits the rows of a project into those whose difference the second run repeats, and the others. */
const countedRows = (rows: ComparedVersions['rows']) => ({
  counted: rows.filter((row) => differ(repeated(row))),
  others: rows.filter((row) => !differ(repeated(row))),
})

/** Returns the page docs/what-broke-when.md. Pure. */
export function versionsPage(
  compared: ReturnType<typeof readCompared>,
  { projects }: ReturnType<typeof readProjects>,
): string {
  return [
    '# What broke when',
    '',
    '<!-- Written by `npm run docs` from docs/scoreboard/versions. -->',
    '',
    'Several versions of the same gateway, asked the same requirements of [the contract](contract.md) with the same target file (`--quick`). A table has the requirements whose outcomes differ. A difference counts only if a second run repeats both outcomes. Each version was installed on the day of the run, with the newest versions of everything that it does not pin, so a difference may come from a dependency. How to read a verdict, and how to correct one, is on [the scoreboard](scoreboard/README.md).',
    '',
    '`✓` holds, `✗` does not hold (MUST), `!` does not hold (SHOULD), `?` differed between the two runs, says nothing, or was not asked. `npm run gateways -- versions NAME` in a clone repeats the runs of a project; `waybill conform NAME@VERSION --install --only ID` repeats one cell.',
    '',
    ...Object.entries(compared).flatMap(([name, each]) => section(name, each, projects[name])),
  ].join('\n')
}

function section(
  name: string,
  compared: ComparedVersions,
  { lacks, looked_at: lookedAt = {} }: Partial<ReturnType<typeof readProjects>['projects'][string]> = {},
): string[] {
  const { title, homepage, date, suite, environment, versions, troubles, asked } = compared
  const needed = new RegExp(lacks?.ids ?? '$^')
  const rows = compared.rows.map((row) => ({
    ...row,
    first: row.first.map((outcome, n) =>
      needed.test(row.id) && lacks!.versions.includes(versions[n]!) ? null : outcome,
    ),
  }))
  const { counted, others } = countedRows(
    rows.filter((row) => !row.first.includes(null) || differ(repeated(row))),
  )
  const about = `[${title}](${homepage}), ${date}, suite ${suite}, ${environment}; ${asked} requirements asked. The evidence is in \`docs/scoreboard/versions/${name}.jsonl.gz\`.`
  const cells = (row: ComparedVersions['rows'][number]) =>
    repeated(row).map((outcome) => SIGNS[outcome ?? ''] ?? '?')
  const table = [
    `| | ${versions.join(' | ')} |`,
    `|---|${versions.map(() => '---').join('|')}|`,
    ...counted.map((row) => `| ${row.id} ${row.slug} | ${cells(row).join(' | ')} |`),
  ]
  return [
    `## ${title}`,
    '',
    about,
    '',
    ...(counted.length > 0 ? table : [`No difference between ${versions.join(', ')}.`]),
    '',
    ...counted.map(
      ({ id, level }) =>
        `- **${id}** (${level}): ${lookedAt[id]?.trim() ?? '*not looked at yet, not to be quoted*'}`,
    ),
    ...(lacks ? [`- ${lacks.note}`] : []),
    ...Object.entries(troubles).map(
      ([version, why]) => `- Version ${version} was not asked everything: ${why}`,
    ),
    ...(others.length > 0
      ? [`- Not repeated, so not counted: ${others.map(({ id }) => id).join(', ')}.`]
      : []),
    '',
  ]
}
