// All must-pass gateways by name: the rows of *.yaml, and the tables of the other files here.
import type { MustPass } from '../gateway.ts'
import { readTables } from '../mutate.ts'

const tables = await readTables<MustPass>(import.meta.dirname, 'mustPass')

export const mustPass: ReadonlyMap<string, MustPass> = new Map(
  [...tables.values()].flatMap((table) => Object.entries(table)),
)

/** Returns the file of a gateway's table: `selftest/must-pass/keep.yaml`. */
export const fileOf = (name: string): string =>
  `selftest/must-pass/${[...tables].find(([, table]) => Object.hasOwn(table, name))![0]}`
