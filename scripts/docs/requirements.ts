// Pages and tables of the requirements: the tests of each, the tables of docs/contract.md with frozen.txt, and the page of a
// profile. A test covers a requirement if its name contains the id; does not examine the tests themselves.
// `npm run docs -- requirements` prints the table of the tests.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  PROFILES,
  type Profile,
  profileRows,
  type Requirement,
  type Requirements,
  readProfile,
  readRequirements,
} from '../../conformance/checks/requirements.ts'

/** Requirements that no test names yet, with the reason. An entry with a test is an error. */
const GAPS: Readonly<Record<string, string>> = {
  'LIFE-06': 'needs the package and the image, which are tested where they are built',
  'LINE-09':
    'missed: 1.40 times an empty program instead of 1.3 (`npm run bench -- status-line`, docs/status-line.md)',
}

interface ContractRow {
  readonly id: string
  readonly sentence: string
}

interface NamedTest {
  readonly file: string
  readonly name: string
}

/** Returns the rows of the contract's tables: the first cell is the id, the last the sentence. */
export function requirementsIn(contract: string): ContractRow[] {
  return contract
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length > 3 && /^[A-Z]+-\d\d$/.test(cells[1]!))
    .map((cells) => ({ id: cells[1]!, sentence: cells.at(-2)! }))
}

/** Returns the names of the tests in a source text, as written there. */
export const testNamesIn = (source: string): string[] =>
  [...source.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)].map(([, , name]) => name!)

/**
 * Returns the page and the problems: a requirement without a test or a reason, an outdated reason, an unknown
 * id.
 */
export function requirementsPage(root: string): { page: string; problems: string[] } {
  const requirements = requirementsIn(readFileSync(join(root, 'docs/contract.md'), 'utf8'))
  const tests: NamedTest[] = globSync('{src,mocks,conformance,scripts}/**/*{.,.slow-}test.ts', { cwd: root })
    .sort()
    .flatMap((file) => testNamesIn(readFileSync(join(root, file), 'utf8')).map((name) => ({ file, name })))
  const checked = readRequirements().requirements.flatMap(({ check }) =>
    check === undefined
      ? []
      : [{ file: 'waybill conform', name: `the suite, run on Waybill itself (${check})` }],
  )
  return tableOf(requirements, [...tests, ...checked], GAPS)
}

/** Returns the page and the problems for these requirements, tests and known gaps. Pure. */
export function tableOf(
  requirements: readonly ContractRow[],
  tests: readonly NamedTest[],
  gaps: Readonly<Record<string, string>>,
): { page: string; problems: string[] } {
  const problems: string[] = []
  const rows: string[] = []
  for (const { id, sentence } of requirements) {
    const holding = tests.filter(({ name }) => idsIn(name).includes(id))
    const gap = gaps[id]
    if (holding.length === 0 && gap === undefined) problems.push(`${id} is named by no test: ${sentence}`)
    if (holding.length > 0 && gap !== undefined) problems.push(`${id} has a test, but is still a known gap`)
    const cell = holding.length > 0 ? holding.map(cellOf).join('<br>') : `none yet: ${gap ?? 'unknown'}`
    rows.push(`| ${id} | ${sentence} | ${cell} |`)
  }
  const known = new Set(requirements.map(({ id }) => id))
  const families = new Set(requirements.map(({ id }) => familyOf(id)))
  for (const { file, name } of tests)
    for (const id of idsIn(name))
      if (families.has(familyOf(id)) && !known.has(id))
        problems.push(`${file}: "${name}" names ${id}, which the contract does not have`)
  const page = [
    '# Requirements and their tests',
    '',
    'Made from the tables of [the contract](../../docs/contract.md) and the names of the tests.',
    '',
    '| id | requirement | held by |',
    '|---|---|---|',
    ...rows,
    '',
  ]
  return { page: page.join('\n'), problems }
}

const familyOf = (id: string): string => id.split('-')[0]!

const idsIn = (name: string): string[] => name.match(/\b[A-Z]+-\d\d\b/g) ?? []

const cellOf = ({ file, name }: NamedTest): string =>
  `\`${file}\`: ${name
    .replace(/\s*\([A-Z]+-\d\d[^)]*\)/g, '')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')}`

const ROW = /^\| ([A-Z]+)-\d\d \|/

const levelOf = ({ level, level_waybill }: Requirement): string =>
  level_waybill === undefined ? level : `${level}, ${level_waybill} for Waybill`

/** Rows for other programs, and rows from a specification, are on the pages of their profiles. */
const isInContract = ({ scope }: Requirement): boolean =>
  scope !== 'model servers' && scope !== 'named profiles'

/**
 * Returns the contract with the rows of each family; a table has 3 columns if all of its rows bind only
 * Waybill.
 */
export function withRows(contract: string, requirements: readonly Requirement[]): string {
  const lines = contract.split('\n')
  const families = Map.groupBy(requirements.filter(isInContract), ({ id }) => id.split('-')[0]!)
  for (const [family, rows] of families) {
    const first = lines.findIndex((line) => ROW.exec(line)?.[1] === family)
    if (first === -1)
      throw new Error(`docs/contract.md has no table for ${family}; write one with a first row`)
    const count = lines.slice(first).findIndex((line) => ROW.exec(line)?.[1] !== family)
    const isShort = lines[first - 1] === '|---|---|---|'
    const table = rows.map((row) => {
      const { id, scope, needs = '', text } = row
      const cells = isShort ? [id, levelOf(row), text] : [id, levelOf(row), scope, needs, text]
      return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')
    })
    lines.splice(first, count, ...table)
  }
  return lines.join('\n')
}

const FROZEN = `# Every id that was ever given, and the set from which on it decides; - while it is only reported. Then the rows that
# profiles name, with the set from which on they decide there. Written by \`npm run docs\`, which adds lines and versions, and refuses to change or remove one.
`

/**
 * Returns frozen.txt. Throws an Error if an id is removed, from the list or from a profile, or if the version
 * from which it decides has changed.
 */
export function frozenIds(
  before: string,
  requirements: readonly Requirement[],
  profiles: Readonly<
    Record<string, readonly { readonly id: string; readonly since?: number | undefined }[]>
  > = {},
): string {
  const own = new Map(requirements.map(({ id, since }) => [id, since]))
  const now = new Map([
    ...requirements.map(({ id, since }) => [id, String(since ?? '-')] as const),
    ...Object.entries(profiles).flatMap(([name, rows]) =>
      rows.map(({ id, since }) => [`${name} ${id}`, String(since ?? own.get(id) ?? '-')] as const),
    ),
  ])
  for (const [, id, version] of before.matchAll(/^((?:[a-z-]+ )?[A-Z]+-\d\d) (\S+)$/gm)) {
    if (!now.has(id!)) throw new Error(`${id} was given and cannot be taken back`)
    if (version !== '-' && now.get(id!) !== version)
      throw new Error(`${id} decides since ${version}, which cannot be changed`)
  }
  return FROZEN + [...now].map(([id, version]) => `${id} ${version}\n`).join('')
}

/** Profiles that apply to any gateway. */
export const PUBLIC_PROFILES = PROFILES.filter((name) => name !== 'waybill')

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/**
 * Removes the part of a sentence in brackets that applies to one gateway, as in `gets a 4xx (Waybill: 404)`.
 */
export const forEveryone = (text: string): string =>
  text.replaceAll(/ ?\([^()]*\bWaybill\b[^()]*(?:\([^()]*\)[^()]*)*\)/g, '')

/** Returns the rows of all profiles except Waybill's as data for programs. */
export function profilesJson(requirements: Requirements, set: string): string {
  const profiles = Object.fromEntries(
    PUBLIC_PROFILES.map((name) => {
      const { title, about, untested, live, dialect, rows: named } = readProfile(name)
      const sources = new Map(named.map((row) => [row.id, row]))
      const rows = profileRows(requirements, name).map((row) => {
        const { id, slug, level, needs, text, links, check } = row
        const { says, source, since = row.since } = sources.get(id) ?? {}
        return {
          ...{ id, slug, level, since: since === undefined ? null : `${since}.0`, needs: needs ?? null },
          ...{ text: forEveryone(text), tested: check !== undefined, links, says, source },
        }
      })
      return [name, { title, about, untested, live, dialect, rows }]
    }),
  )
  return `${JSON.stringify({ set, profiles }, null, 2)}\n`
}

/** Returns the overview page of the profiles: versions, changes, and the way to propose a change. */
export function profilesIndex(requirements: Requirements): string {
  const rows = PUBLIC_PROFILES.flatMap((name) => profileRows(requirements, name))
  const ids = [...new Map(rows.map((row) => [row.id, row])).values()]
  const sets = [...new Set(ids.flatMap(({ since }) => since ?? []))].sort((a, b) => b - a)
  const added = (set: number | undefined) => ids.filter(({ since }) => since === set).map(({ id }) => id)
  return [
    '# The requirements, by profile',
    '',
    'These documents list the requirements for a gateway or a model server, and favour no product. A profile is a list of requirements for one purpose. A run of the suite is a run of one profile with one set.',
    '',
    ...PUBLIC_PROFILES.map(
      (name) => `- [\`${name}\`](../../conformance/profiles/${name}.yaml): ${readProfile(name).about.trim()}`,
    ),
    '',
    'For programs: [profiles.json](/files/profiles.json) has the same rows.',
    '',
    '## Versions',
    '',
    'A set is frozen when the suite is released. A requirement is never changed so that it demands more, and its id is never reused. A stricter requirement gets its own id and counts from the next set on. Set 5.0 is frozen with release 1.0.0-rc.1 and will get no further requirements, so that a report of today means the same as a report of next year.',
    '',
    'A requirement enters a set under three conditions: a wrong gateway fails each of its findings, an unusual but right gateway passes, and it was run against gateways of others, with each failure read in its transcript. Until then the requirement runs and is reported as not scored.',
    '',
    '| set | requirements that came with it |',
    '|---|---|',
    `| next (run, not scored) | ${added(undefined).join(', ') || 'none'} |`,
    ...sets.map((set) => `| ${set}.0 | ${added(set).join(', ')} |`),
    '',
    '## Propose a change',
    '',
    'Open an issue or a pull request with the sentence, the gateways that it binds, the reason why it matters, and its source: a specification, or an observed need of a client. A proposal is accepted with a check that a wrong gateway fails and an unusual but right gateway passes. If a requirement judges your gateway wrongly, please say so: doubt counts for the gateway, and a requirement that only one design can meet is a mistake.',
    '',
  ].join('\n')
}

/** Returns the page, which names no gateway because it describes any target. */
export function profilePage(name: Profile, requirements: Requirements): string {
  const { title, about, untested, live, rows: named } = readProfile(name)
  const sources = new Map(named.map((row) => [row.id, row]))
  const rows = profileRows(requirements, name)
  const line = (row: Requirement): string => {
    const { id, slug, level, needs, text, check } = row
    const source = sources.get(id)
    const since = source?.since ?? row.since
    const cells = [
      `${id} ${slug}`,
      level,
      since === undefined ? 'next' : `${since}.0`,
      needs ?? '',
      forEveryone(text) + (check === undefined ? ' *Not tested.*' : ''),
      ...(named.length === 0 ? [] : [source ? `${source.says} ([source](${source.source}))` : '']),
    ]
    return `| ${cells.map(cell).join(' | ')} |`
  }
  const head = [
    'id',
    'level',
    'since set',
    'needs',
    'sentence',
    ...(named.length === 0 ? [] : ['what the source says']),
  ]
  return [
    `# Profile \`${name}\`: ${title}`,
    '',
    about,
    ...(untested === undefined ? [] : ['', untested]),
    ...(live
      ? [
          '',
          'There is no mock behind the target: a run first says how many calls it makes, makes real calls, and needs `--live`.',
        ]
      : []),
    '',
    '*Needs* names the declarations of a target file without which a row does not apply. A row counts from its set on. Before its set, and in `next`, the row runs and is reported as not scored. Sets are frozen: `--set 4.0` selects the rows of set 4.0, without later rows.',
    '',
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---|').join('')}`,
    ...rows.map(line),
    '',
  ].join('\n')
}

if (import.meta.main) process.stdout.write(requirementsPage(join(import.meta.dirname, '../..')).page)
