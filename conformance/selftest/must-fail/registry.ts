// All must-fail gateways by name: the rows of *.yaml, and the tables of the other files here.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { MustFail } from '../gateway.ts'
import { readRows } from '../mutate.ts'

type Table = Readonly<Record<string, MustFail>>

const tableOf = async (file: string): Promise<Table> =>
  file.endsWith('.yaml')
    ? readRows(join(import.meta.dirname, file))
    : ((await import(`./${file}`)) as { mustFail: Table }).mustFail

/** Gateways by the file of their table. */
const tables = new Map<string, Table>()
for (const file of readdirSync(import.meta.dirname))
  if (file !== 'registry.ts') tables.set(file, await tableOf(file))

export const mustFail: ReadonlyMap<string, MustFail> = new Map(
  [...tables.values()].flatMap((table) => Object.entries(table)),
)

/** Returns the file of a gateway's table: `selftest/must-fail/keep.yaml`. */
export const fileOf = (name: string): string =>
  `selftest/must-fail/${[...tables].find(([, table]) => Object.hasOwn(table, name))![0]}`
