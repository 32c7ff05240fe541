// Mapping of the fields of `src/core/record.ts` to table columns: their names, how they are written, and how they are
// read; and the conditions of a filter, with ? for each value. Every engine accepts this SQL. Uses the kinds of fields,
// but no particular field.
import type { Tokens } from '../../core/call.ts'
import { roundUsd } from '../../core/money.ts'
import { CALL_FIELDS, type Field, type Kind } from '../../core/record.ts'
import { TOKEN_PARTS } from '../../core/served.ts'
import type { CallFilter } from '../reads.ts'

type SqlValue = string | number | null
export type Row = Readonly<Record<string, SqlValue>>

export interface Column {
  readonly name: string
  readonly type: 'TEXT' | 'INTEGER' | 'REAL'
  readonly notNull: boolean
}

/** Kinds that have one column with the field's name. */
type Plain = Exclude<Kind, 'tokens' | 'price'>
const TYPES: Readonly<Record<Plain, Column['type']>> = {
  id: 'TEXT',
  text: 'TEXT',
  enum: 'TEXT',
  decision: 'TEXT',
  words: 'TEXT',
  usage: 'TEXT',
  time: 'INTEGER',
  boolean: 'INTEGER',
  count: 'INTEGER',
  status: 'INTEGER',
  ms: 'REAL',
  usd: 'REAL',
}

type Fields = Readonly<Record<string, Field>>

/** A price has its own row, which many calls share. */
export function columnsOf(fields: Fields): Column[] {
  return Object.entries(fields).flatMap(([name, { kind, nullable = false }]): Column[] => {
    if (kind === 'price') return [{ name: 'price_id', type: 'INTEGER', notNull: false }]
    if (kind !== 'tokens') return [{ name, type: TYPES[kind], notNull: !nullable }]
    return TOKEN_PARTS.map((part) => ({
      name: `tokens_${part}`,
      type: part === 'source' ? 'TEXT' : 'INTEGER',
      notNull: false,
    }))
  })
}

/** Columns written when a row is opened or closed, with their values in the same order. */
interface Writing<Given> {
  readonly columns: readonly string[]
  values(given: Given): SqlValue[]
}

/** `priceId` finds or creates the row of a price from its JSON. */
export function writingOf<Given>(
  fields: Readonly<Record<string, { readonly kind: Kind; readonly nullable?: true }>>,
  on: 'open' | 'close',
  priceId: (snapshot: string) => SqlValue = () => null,
): Writing<Given> {
  const written = Object.entries(fields as Fields).flatMap(([name, field]) => {
    const of = field[on] as ((given: Given) => unknown) | undefined
    return of ? [{ name, field, of }] : []
  })
  return {
    columns: written.flatMap(({ name, field }) => columnsOf({ [name]: field }).map((column) => column.name)),
    values(given) {
      const values: SqlValue[] = []
      for (const { field, of } of written) {
        const value = of(given)
        if (field.kind === 'tokens')
          for (const part of TOKEN_PARTS) values.push((value as Tokens | null)?.[part] ?? null)
        else if (field.kind === 'price') values.push(value === null ? null : priceId(JSON.stringify(value)))
        else if (field.kind === 'decision') values.push(JSON.stringify(value))
        else if (field.kind === 'words' || field.kind === 'usage')
          values.push(value === null ? null : JSON.stringify(value))
        else if (field.kind === 'boolean') values.push(value ? 1 : 0)
        else values.push(value as SqlValue)
      }
      return values
    },
  }
}

/** Returns a function that converts a row to JSON. The row contains the price as JSON text. */
export function readerOf<Json>(fields: Fields): (row: Row) => Json {
  const parts = Object.entries(fields).map(([name, { kind }]) => ({ name, read: READ[kind] }))
  return (row) => {
    const json: Record<string, unknown> = {}
    for (const { name, read } of parts) json[name] = read(row, name)
    return json as Json
  }
}

const asIs = (row: Row, name: string): unknown => row[name]
const text = (row: Row, name: string): unknown =>
  typeof row[name] === 'string' ? JSON.parse(row[name]) : null

const READ: Readonly<Record<Kind, (row: Row, name: string) => unknown>> = {
  id: asIs,
  text: asIs,
  enum: asIs,
  count: asIs,
  status: asIs,
  ms: asIs,
  usd: (row, name) => (typeof row[name] === 'number' ? roundUsd(row[name]) : null),
  decision: text,
  words: text,
  usage: text,
  price: text,
  boolean: (row, name) => row[name] === 1,
  time: (row, name) => (typeof row[name] === 'number' ? new Date(row[name]).toISOString() : null),
  tokens: (row) => Object.fromEntries(TOKEN_PARTS.map((part) => [part, row[`tokens_${part}`]])),
}

/** Returns true for a filter on calls outside main conversations, which have their own index. */
export const isAside = ({ purpose }: CallFilter): boolean => purpose !== undefined && purpose !== 'main'

export function conditions(filter: CallFilter): { where: string[]; values: unknown[] } {
  const where: string[] = []
  const values: unknown[] = []
  const add = (sql: string, value: unknown) => {
    where.push(sql)
    values.push(value)
  }
  for (const [column, field] of Object.entries<Field>(CALL_FIELDS)) {
    const value = field.filter && filter[field.filter as keyof CallFilter]
    if (value === undefined) continue
    if (field.filterNone && value === 'none') where.push(`${column} IS NULL`)
    else if (field.filterNone && value === 'some') where.push(`${column} IS NOT NULL`)
    else if (value === 'ok' && field.kind === 'status') where.push(`state = 'completed'`)
    else if (value === 'error' && field.kind === 'status') where.push(`state IN ('failed', 'interrupted')`)
    else if (field.kind === 'count') where.push(`${column} > 0`)
    else if (column === 'client' && !String(value).includes('/')) {
      // The name of a program, without its version; a whole `User-Agent` has an index.
      where.push('(client = ? OR substr(client, 1, ?) = ?)')
      values.push(value, [...String(value)].length + 1, `${value}/`)
    } else add(`${column} = ?`, value)
  }
  if (isAside(filter)) where.push(`purpose <> 'main'`) // the engine chooses the index by this exact wording
  return { where, values }
}
