// GET /api/usage/export: every call that matches the filters, newest first, as a file: whole records as JSON, or columns as
// CSV. Written as it is read, so that a million calls take no memory.
import { once } from 'node:events'
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { OtherEndpoint } from '../http/endpoint.ts'
import { CALL_FIELDS, type CallRecord, type Field } from '../record.ts'
import type { ReadContext } from './context.ts'
import { callList, invalid, listArguments, readsOf } from './query.ts'

/** Rows that are read at a time. */
const ROWS = 500
/** Exports at the same time: each keeps the thread that reads busy. */
const MOST = 2

const TOKENS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning', 'source'] as const

/** What a column of a table can be: a field of the record, or one of its tokens behind a dot. */
const COLUMNS = Object.entries<Field>(CALL_FIELDS).flatMap(([name, { kind }]) =>
  kind === 'tokens' ? TOKENS.map((part) => `${name}.${part}`) : [name],
)

const query = callList.omit({ cursor: true, limit: true }).extend({
  form: z.enum(['csv', 'json']).default('csv'),
  columns: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(COLUMNS, `expected a list of ${COLUMNS.join(', ')}`)))
    .optional()
    .describe('Columns of a CSV file; default: all.'),
})

let open = 0

export const exported = {
  method: 'GET',
  path: '/api/usage/export',
  summary: 'every call that matches the filters, as a file; `?form=csv|json`, `columns=`',
  mediaType: 'text/csv',
  query,
  async handle({ caller, query: text }, response, context) {
    const { form, columns = COLUMNS, ...filters } = query.parse(Object.fromEntries(new URLSearchParams(text)))
    if (form === 'json' && text.includes('columns='))
      throw invalid('columns', 'a JSON file always has whole records')
    const [filter] = listArguments({ ...filters, limit: ROWS, cursor: undefined }, caller)
    const calls = readsOf(filters, context)
    if (open >= MOST)
      throw new GatewayError(
        'overloaded',
        'Two exports are already running. Try again when one has finished.',
        {
          retryAfter: 10,
        },
      )
    open++
    try {
      let page = await calls.list(filter, { limit: ROWS }) // before the headers: it may fail
      response.writeHead(200, {
        'content-type': form === 'csv' ? 'text/csv; charset=utf-8' : 'application/json',
        'content-disposition': `attachment; filename="calls.${form}"`,
        'cache-control': 'no-store',
      })
      if (response.req.method === 'HEAD') {
        response.end()
        return
      }
      response.write(form === 'csv' ? `${columns.join(',')}\r\n` : '[')
      for (let isFirst = true; ; isFirst = false) {
        const rows =
          form === 'csv'
            ? page.data.map((record) => `${columns.map((name) => cell(record, name)).join(',')}\r\n`).join('')
            : page.data
                .map((record, n) => `${isFirst && n === 0 ? '' : ','}\n${JSON.stringify(record)}`)
                .join('')
        if (!response.write(rows)) await Promise.race([once(response, 'drain'), once(response, 'close')])
        if (!page.has_more || response.destroyed) break
        page = await calls.list(filter, { limit: ROWS, cursor: page.next_cursor! })
      }
      response.end(form === 'csv' ? '' : '\n]\n')
    } finally {
      open--
    }
  },
} satisfies OtherEndpoint<ReadContext>

function cell(record: CallRecord, name: string): string {
  const [field, part] = name.split('.') as [keyof CallRecord, (typeof TOKENS)[number] | undefined]
  const value = part === undefined ? record[field] : record.tokens[part]
  if (value === null || value === undefined) return ''
  return csvCell(typeof value === 'object' ? JSON.stringify(value) : value)
}

/** A text that a spreadsheet would take for a formula has an apostrophe before it: model ids are the clients' to choose. */
export function csvCell(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value)
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
