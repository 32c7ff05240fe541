// Conditions of a filter, as SQL that every engine accepts, with ? for each value. Uses the fields of the
// record; independent of the engine.
import { CALL_FIELDS, type Field } from '../../core/record.ts'
import type { CallFilter } from '../reads.ts'

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
