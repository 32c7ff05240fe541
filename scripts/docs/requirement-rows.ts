// Generates text from conformance/requirements/requirements.yaml: the tables of docs/contract.md, and
// frozen.txt. Pure.
import type { Requirement } from '../../conformance/checks/requirements.ts'

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
