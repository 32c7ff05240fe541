// `waybill conform --list` and `waybill conform explain ID…`: print the requirements for people. Start
// nothing.
import {
  PROFILES,
  profileRows,
  type Requirement,
  readRequirements,
} from '../../conformance/checks/requirements.ts'
import { table } from '../terminal/table.ts'
import { wrapped } from '../terminal/width.ts'

/** Maximum width, in characters, because wider text is hard to read. */
const MAX_WIDTH = 100

/** Prints each requirement on a separate line. */
export function printRequirements(): void {
  const rows = readRequirements().requirements.map((row) => [
    row.id,
    levelIn(row),
    row.scope,
    row.excluded === undefined ? row.text : `${row.text} [no check: ${row.excluded}]`,
  ])
  process.stdout.write(table([['ID', 'LEVEL', 'SCOPE', 'REQUIREMENT'], ...rows], { columns: null }))
}

/**
 * Explains requirements by id or slug, including earlier slugs. Returns the exit code: 2 for an unknown id.
 */
export function explainRequirements(ids: readonly string[]): number {
  const { requirements } = readRequirements()
  const found = ids.map((name) =>
    requirements.find(({ id, slug, was }) => id === name.toUpperCase() || slug === name || was === name),
  )
  const unknown = ids.filter((_, index) => !found[index])
  if (unknown.length > 0) {
    const hint = '`waybill conform --list` lists them all'
    process.stderr.write(`waybill: no such requirement: ${unknown.join(', ')}; ${hint}\n`)
    return 2
  }
  const columns = Math.min(MAX_WIDTH, process.stdout.columns ?? MAX_WIDTH)
  process.stdout.write(found.map((row) => pageOf(row!, columns)).join('\n'))
  return 0
}

function pageOf(row: Requirement, columns: number): string {
  const profiles = PROFILES.filter((name) =>
    profileRows(readRequirements(), name).some(({ id }) => id === row.id),
  )
  const asked = row.check === undefined ? 'not tested by this suite' : `profiles ${profiles.join(', ')}`
  const part = (title: string, text: string | undefined) =>
    text === undefined ? [] : ['', title, ...wrapped(text, columns - 2).map((line) => `  ${line}`)]
  return [
    `${row.id} ${row.slug}`,
    `${levelIn(row)} for ${row.scope}; ${asked}`,
    '',
    ...wrapped(row.text, columns),
    ...part('Applies to a target file that declares', row.needs),
    ...part('Why there is no check', row.excluded),
    ...part('Why it matters', row.why),
    ...part('How it is tested', row.test),
    ...part('What of it is not tested', row.unchecked),
    ...part('What usually causes a failure', row.causes),
    ...(row.links.length > 0 ? ['', 'The standard', ...row.links.map((link) => `  ${link}`)] : []),
    '',
  ].join('\n')
}

const levelIn = ({ level, level_waybill }: Requirement): string =>
  level_waybill === undefined ? level : `${level} (Waybill: ${level_waybill})`
