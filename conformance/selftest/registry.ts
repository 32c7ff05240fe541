// All must-fail and must-pass gateways by name: the rows of the YAML files in both folders, and the tables of the other
// files there.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { MustFail, MustPass } from './gateway.ts'
import { readRows } from './mutate.ts'

/** Gateway with its file: `selftest/must-fail/keep.yaml`. */
type Entry<Row> = readonly [name: string, row: Row, file: string]

async function readTables<Row>(folder: string): Promise<Entry<Row>[]> {
  const entries: Entry<Row>[] = []
  for (const file of readdirSync(join(import.meta.dirname, folder))) {
    const path = join(import.meta.dirname, folder, file)
    const table: Record<string, Row> = file.endsWith('.yaml') ? readRows(path) : (await import(path)).gateways
    for (const [name, row] of Object.entries(table)) entries.push([name, row, `selftest/${folder}/${file}`])
  }
  return entries
}

const failing = await readTables<MustFail>('must-fail')
const passing = await readTables<MustPass>('must-pass')

export const mustFail: ReadonlyMap<string, MustFail> = new Map(failing.map(([name, row]) => [name, row]))
export const mustPass: ReadonlyMap<string, MustPass> = new Map(passing.map(([name, row]) => [name, row]))

/** Returns the file of a gateway. */
export const fileOf = (name: string): string => [...failing, ...passing].find(([each]) => each === name)![2]
