// GET /api/usage/export: every call that matches the filters, newest first, as a file. JSON contains whole
// records, CSV contains columns, of the record or of FOCUS. The file is streamed from the store, so that a million calls
// take no memory.
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { CALL_FIELDS, type CallRecord, type Field } from '../core/record.ts'
import { TOKEN_PARTS } from '../core/token-parts.ts'
import type { OtherEndpoint } from '../http/endpoint.ts'
import { NOSNIFF, untilRead } from '../http/reply.ts'
import { escaped, safeJson } from '../terminal/clean.ts'
import type { ReadContext } from './context.ts'
import { FOCUS_COLUMNS, isCharge } from './focus.ts'
import { callList, invalid, listArguments, readsOf } from './query.ts'

/** Number of rows in one read. */
const ROWS_PER_READ = 500
/** Maximum concurrent exports of one key, and of all keys, because each occupies the reading thread. */
const [MAX_OF_KEY, MAX_EXPORTS] = [2, 8]

/** Columns of a table: fields of the record, and token counts after a dot. */
const COLUMNS = Object.entries<Field>(CALL_FIELDS).flatMap(([name, { kind }]) =>
  kind === 'tokens' ? TOKEN_PARTS.map((part) => `${name}.${part}`) : [name],
)

const query = callList.omit({ cursor: true, limit: true }).extend({
  form: z
    .enum(['csv', 'json', 'focus'])
    .default('csv')
    .describe('focus: CSV with the columns of FOCUS 1.2, without calls of unknown cost'),
  columns: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(COLUMNS, `expected a list of ${COLUMNS.join(', ')}`)))
    .optional()
    .describe('Columns of a CSV file; default: all.'),
})

/** Names of the keys of the running exports. */
const open: (string | null)[] = []

export const exported = {
  method: 'GET',
  path: '/api/usage/export',
  summary: 'every call that matches the filters, as a file; `?form=csv|json|focus`, `columns=`',
  mediaType: 'text/csv',
  query,
  async handle({ caller, query: text }, response, context) {
    const { form, columns = COLUMNS, ...filters } = query.parse(Object.fromEntries(new URLSearchParams(text)))
    if (form !== 'csv' && text.includes('columns='))
      throw invalid('columns', `a file in the form ${form} always has the same columns`)
    const [filter] = listArguments({ ...filters, limit: ROWS_PER_READ, cursor: undefined }, caller)
    const calls = readsOf(filters, context)
    const { idle } = context.config.resilience
    const own = open.filter((name) => name === caller.name).length
    if (own >= MAX_OF_KEY || open.length >= MAX_EXPORTS)
      throw new GatewayError(
        'overloaded',
        `${own >= MAX_OF_KEY ? 'Two exports of this key' : 'Eight exports'} are already running. Try again when one has finished.`,
        { retryAfter: 10 },
      )
    open.push(caller.name)
    try {
      let page = await calls.list(filter, { limit: ROWS_PER_READ }) // started before the headers, because it may fail
      response.writeHead(200, {
        'content-type': form === 'json' ? 'application/json' : 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${FILES[form]}"`,
        'cache-control': 'no-store',
        ...NOSNIFF,
      })
      if (response.req.method === 'HEAD') {
        response.end()
        return
      }
      const names = form === 'focus' ? Object.keys(FOCUS_COLUMNS) : columns
      response.write(form === 'json' ? '[' : `${names.join(',')}\r\n`)
      for (let isFirst = true; ; isFirst = false) {
        const rows =
          form === 'json'
            ? page.data
                .map((record, n) => `${isFirst && n === 0 ? '' : ','}\n${safeJson(JSON.stringify(record))}`)
                .join('')
            : (form === 'csv' ? page.data : page.data.filter(isCharge))
                .map((record) => `${names.map((name) => cell(record, name)).join(',')}\r\n`)
                .join('')
        if (!response.write(rows)) await untilRead(response, caller.name, idle)
        if (!page.has_more || response.destroyed) break
        page = await calls.list(filter, { limit: ROWS_PER_READ, cursor: page.next_cursor! })
      }
      response.end(form === 'json' ? '\n]\n' : '')
    } finally {
      open.splice(open.indexOf(caller.name), 1)
    }
  },
} satisfies OtherEndpoint<ReadContext>

const FILES = { csv: 'calls.csv', json: 'calls.json', focus: 'focus.csv' }

function cell(record: CallRecord, name: string): string {
  const focus = FOCUS_COLUMNS[name]
  if (focus && isCharge(record)) return csvCell(focus(record) ?? '')
  const [field, part] = name.split('.') as [keyof CallRecord, (typeof TOKEN_PARTS)[number] | undefined]
  const value = part === undefined ? record[field] : record.tokens[part]
  if (value === null || value === undefined) return ''
  return csvCell(typeof value === 'object' ? JSON.stringify(value) : value)
}

/**
 * Prefixes that some spreadsheet interprets as a formula, even after invisible characters, and in the
 * full-width forms of Chinese and Japanese keyboards.
 */
const FORMULA = /^([\p{Z}\p{C}]*[=+\-@＝＋－＠﹦﹢﹣﹫]|[\t\r])/u

/**
 * Puts an apostrophe before a string that looks like a formula, because clients choose their model ids. Writes control
 * and bidi characters as escapes.
 */
export function csvCell(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value)
  const harmless = escaped(FORMULA.test(value) ? `'${value}` : value)
  return /[",]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
