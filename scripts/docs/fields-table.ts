// Formats the fields of `src/core/record.ts` as a table for the documentation.
import type { Field, Kind } from '../../src/core/record.ts'

const TYPES: Readonly<Record<Kind, string>> = {
  id: 'string',
  text: 'string',
  enum: '',
  time: 'time',
  boolean: 'boolean',
  count: 'integer',
  status: 'integer',
  ms: 'number',
  usd: 'number',
  tokens: 'object',
  words: 'list of words',
  usage: 'object',
  decision: 'object',
  price: 'object',
}

export function fieldsTable(fields: Readonly<Record<string, Field>>): string {
  const hasFilters = Object.values(fields).some(({ filter }) => filter)
  const head = hasFilters
    ? ['| field | type | filter | meaning |', '|---|---|---|---|']
    : ['| field | type | meaning |', '|---|---|---|']
  const rows = Object.entries(fields).map(([name, field]) => {
    const filter = hasFilters ? [field.filter ? `\`${field.filter}\`` : ''] : []
    return `| ${[`\`${name}\``, typeOf(field), ...filter, field.about].join(' | ')} |`
  })
  return [...head, ...rows].join('\n')
}

function typeOf({ kind, values, nullable }: Field): string {
  const type = values ? values.map((value) => `\`${value}\``).join(' ') : TYPES[kind]
  return nullable ? `${type}/null` : type
}
