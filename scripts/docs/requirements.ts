// Lists the tests of each requirement: reads the tables of docs/contract.md and the names of all tests. A
// test covers a requirement if its name contains the id. Does not examine the tests themselves. `npm run docs
// -- requirements` prints the table.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRequirements } from '../../conformance/checks/requirements.ts'

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

if (import.meta.main) process.stdout.write(requirementsPage(join(import.meta.dirname, '../..')).page)
