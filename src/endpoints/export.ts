// GET /api/usage/export: every call that matches the filters, newest first, as a file. JSON contains whole
// records, CSV contains columns, of the record or of FOCUS. The file is streamed from the store, so that a million calls
// take no memory.
import { z } from 'zod'
import { clientName } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { roundUsd } from '../core/money.ts'
import { endOf, periodStart } from '../core/period.ts'
import { CALL_FIELDS, type CallRecord, type Field } from '../core/record.ts'
import { TOKEN_PARTS } from '../core/served.ts'
import type { OtherEndpoint } from '../http/endpoint.ts'
import { NOSNIFF, untilRead } from '../http/reply.ts'
import { escaped, safeJson } from '../terminal/clean.ts'
import { isEstimate, isMinimum } from '../terminal/numbers.ts'
import type { ReadContext } from './context.ts'
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

type Cell = string | number | boolean

/** A call that has ended, whose cost is at least partly known. */
type Charge = CallRecord & { readonly completed_at: string; readonly cost_usd: number }

/** Returns true for a call with a row. FOCUS has no unknown costs, and replayed calls cost nothing. */
export const isCharge = (call: CallRecord): call is Charge =>
  call.completed_at !== null && call.cost_usd !== null && !call.replayed

/** Amount paid. A subscription covers the rest. */
const billed = ({ cost_usd, flat_usd }: Charge): number => roundUsd(Math.max(0, cost_usd - (flat_usd ?? 0)))

/** Quantity, as a decimal number, and its unit: tokens, or one request if the tokens are not known. */
function consumed({ tokens: { input, output } }: Charge): [quantity: string, unit: string] {
  if (input === null && output === null) return ['1.0', 'Requests']
  return [((input ?? 0) + (output ?? 0)).toFixed(1), 'Tokens']
}

/** Formats a time in whole seconds, as the specification wants it. */
const seconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
const second = (iso: string): number => Math.floor(Date.parse(iso) / 1_000) * 1_000

/**
 * Columns of FOCUS 1.2, the FinOps Open Cost and Usage Specification, in alphabetical order, then our own, which begin with
 * `x_`; null is an empty cell.
 */
const FOCUS_COLUMNS: Readonly<Record<string, (call: Charge) => Cell | null>> = {
  BilledCost: billed,
  BillingAccountId: ({ resolved_provider }) => resolved_provider,
  BillingAccountName: ({ resolved_provider }) => resolved_provider,
  BillingCurrency: () => 'USD',
  BillingPeriodEnd: ({ created_at }) => seconds(endOf('month', Date.parse(created_at))!),
  BillingPeriodStart: ({ created_at }) => seconds(periodStart('month', Date.parse(created_at))!),
  ChargeCategory: () => 'Usage',
  ChargeClass: () => null,
  ChargeDescription: ({ endpoint, resolved_provider, resolved_model }) =>
    `${endpoint} by ${resolved_provider}/${resolved_model}`,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: ({ created_at, completed_at }) =>
    seconds(Math.max(second(created_at), second(completed_at)) + 1_000),
  ChargePeriodStart: ({ created_at }) => seconds(second(created_at)),
  CommitmentDiscountStatus: () => null, // rules about other columns read it
  ConsumedQuantity: (call) => consumed(call)[0],
  ConsumedUnit: (call) => consumed(call)[1],
  ContractedCost: ({ cost_usd }) => cost_usd,
  EffectiveCost: billed,
  InvoiceId: () => null,
  InvoiceIssuerName: ({ resolved_provider }) => resolved_provider,
  ListCost: ({ cost_usd }) => cost_usd,
  PricingQuantity: (call) => consumed(call)[0],
  PricingUnit: (call) => consumed(call)[1],
  ProviderName: ({ resolved_provider }) => resolved_provider,
  PublisherName: ({ resolved_provider }) => resolved_provider,
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: ({ resolved_model, endpoint }) => resolved_model || endpoint,
  ServiceSubcategory: () => 'Generative AI',
  SubAccountId: ({ key_name }) => key_name,
  SubAccountName: ({ key_name }) => key_name,
  Tags: ({ route, session_id, client, purpose }) =>
    JSON.stringify(
      Object.fromEntries(
        Object.entries({ route, session: session_id, client: client && clientName(client), purpose })
          .filter(([, value]) => value !== null)
          .map(([name, value]) => [`waybill/${name}`, value]),
      ),
    ),
  x_CallId: ({ id }) => id,
  x_CostIsEstimate: isEstimate,
  x_CostIsMinimum: isMinimum,
  x_InputTokens: ({ tokens }) => tokens.input,
  x_OutputTokens: ({ tokens }) => tokens.output,
}
