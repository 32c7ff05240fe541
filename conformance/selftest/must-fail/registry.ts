// All must-fail gateways by name: the rows of *.yaml, and the tables of the other files here.
import type { MustFail } from '../gateway.ts'
import { readTables } from '../mutate.ts'

const tables = await readTables<MustFail>(import.meta.dirname, 'mustFail')

export const mustFail: ReadonlyMap<string, MustFail> = new Map(
  [...tables.values()].flatMap((table) => Object.entries(table)),
)

/** Returns the file of a gateway's table: `selftest/must-fail/keep.yaml`. */
export const fileOf = (name: string): string =>
  `selftest/must-fail/${[...tables].find(([, table]) => Object.hasOwn(table, name))![0]}`
