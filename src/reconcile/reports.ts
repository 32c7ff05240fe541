// Fetches and reads providers' own reports of usage and cost. A saved report is read in the same way. Only
// reads; no request here can cause an inference.
import { signalAfter } from '../shared/boundary.ts'
import type { Bill, Line } from './bill.ts'

type Json = Readonly<Record<string, unknown>>

interface ReportSource {
  /** Environment variable with a key that may read the report. */
  readonly keyName: string
  readonly baseUrl: string
  headers(key: string): Readonly<Record<string, string>>
  /** Returns the first pages to fetch. */
  paths(range: Range): readonly string[]
  /** Reads one page. */
  read(page: Json, bill: BillBuilder): void
}

/** A range of UTC days, in ms since the epoch; excludes `until`. */
export interface Range {
  readonly since: number
  readonly until: number
}

/** Collects lines and problems. */
class BillBuilder implements Bill {
  readonly lines: Line[] = []
  readonly #problems = new Map<string, number>()

  get problems(): readonly string[] {
    return [...this.#problems].map(([text, times]) => (times > 1 ? `${text} (${times} times)` : text))
  }

  add(day: string, model: string, amounts: Partial<Line>): void {
    if (this.lines.length >= MAX_LINES) throw new ReportError(`the report has more than ${MAX_LINES} lines`)
    this.lines.push({ day, model, usd: null, input: null, output: null, calls: null, ...amounts })
  }

  problem(text: string): void {
    this.#problems.set(text, (this.#problems.get(text) ?? 0) + 1)
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const objects = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : [])
const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000', '')
const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Days outside of these are mistakes, or times in another unit. */
const [FIRST_DAY, LAST_DAY] = [Date.UTC(2000), Date.UTC(2200)]

/**
 * Returns the UTC day of a report's time, which is a string with its zone or a number of seconds. Null for
 * any other value.
 */
function dayOf(value: unknown): string | null {
  const ms =
    typeof value === 'number' ? value * 1000 : typeof value === 'string' ? Date.parse(value) : Number.NaN
  return ms >= FIRST_DAY && ms < LAST_DAY ? day(ms) : null
}

/** Returns an amount in US dollars. Reports a problem and returns null for another currency. */
function dollars(value: unknown, currency: unknown, bill: BillBuilder): number | null {
  const usd = typeof value === 'string' ? Number(value) : value
  if (typeof usd !== 'number' || !Number.isFinite(usd)) {
    bill.problem('an amount of the report is no number')
    return null
  }
  if (currency === undefined || String(currency).toLowerCase() === 'usd') return usd
  bill.problem(
    `an amount is in ${String(currency).slice(0, 8).toUpperCase()}, not in US dollars, and is not compared`,
  )
  return null
}

/** Calls a function with each result of each bucket and its day. */
function buckets(
  page: Json,
  start: string,
  bill: BillBuilder,
  each: (result: Json, day: string) => void,
): void {
  for (const bucket of objects(page.data)) {
    const day = dayOf(bucket[start])
    if (day === null) bill.problem('a part of the report has no day')
    else for (const result of objects(bucket.results)) each(result, day)
  }
}

const anthropic: ReportSource = {
  keyName: 'ANTHROPIC_ADMIN_KEY',
  baseUrl: 'https://api.anthropic.com',
  headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  paths({ since, until }) {
    const days = `starting_at=${iso(since)}&ending_at=${iso(until)}&bucket_width=1d&limit=31`
    return [
      `/v1/organizations/usage_report/messages?${days}&group_by[]=model`,
      `/v1/organizations/cost_report?${days}&group_by[]=description`,
    ]
  },
  read(page, bill) {
    buckets(page, 'starting_at', bill, (result, day) => {
      const model = text(result.model)
      if ('amount' in result) {
        const cents = dollars(result.amount, result.currency, bill)
        const name =
          model && result.cost_type !== 'web_search' ? model : `(${text(result.cost_type) ?? 'other'})`
        if (cents !== null) bill.add(day, name, { usd: cents / 100 })
        return
      }
      const created = isObject(result.cache_creation) ? Object.values(result.cache_creation) : []
      const input = [result.uncached_input_tokens, result.cache_read_input_tokens, ...created].map(count)
      bill.add(day, model ?? '(unknown)', {
        input: input.reduce((sum, tokens) => sum + tokens, 0),
        output: count(result.output_tokens),
      })
    })
  },
}

const openai: ReportSource = {
  keyName: 'OPENAI_ADMIN_KEY',
  baseUrl: 'https://api.openai.com/v1',
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  paths({ since, until }) {
    const days = `start_time=${since / 1000}&end_time=${until / 1000}&bucket_width=1d&limit=31`
    return [
      `/organization/usage/completions?${days}&group_by=model`,
      `/organization/costs?${days}&group_by=line_item`,
    ]
  },
  read(page, bill) {
    buckets(page, 'start_time', bill, (result, day) => {
      if (isObject(result.amount)) {
        const usd = dollars(result.amount.value, result.amount.currency, bill)
        // A line item is named like `gpt-5.4-2026-03-05, input`, or after a tool.
        const [name = '', kind] = (text(result.line_item) ?? '').split(', ')
        if (usd !== null) bill.add(day, kind === undefined ? `(${toolOf(name)})` : name, { usd })
        return
      }
      bill.add(day, text(result.model) ?? '(unknown)', {
        input: count(result.input_tokens),
        output: count(result.output_tokens),
        calls: count(result.num_model_requests),
      })
    })
  },
}

const toolOf = (name: string): string =>
  /(web|file)[ _]search/i.exec(name)?.[0].toLowerCase().replace(' ', '_') ?? (name || 'other')

const openrouter: ReportSource = {
  keyName: 'OPENROUTER_MANAGEMENT_KEY',
  baseUrl: 'https://openrouter.ai/api/v1',
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  paths: ({ since, until }) =>
    Array.from(
      { length: (until - since) / 86_400_000 },
      (_, n) => `/activity?date=${day(since + n * 86_400_000)}`,
    ),
  read(page, bill) {
    for (const row of objects(page.data)) {
      const date = text(row.date)?.slice(0, 10)
      if (!date || dayOf(date) === null) {
        bill.problem('a part of the report has no day')
        continue
      }
      bill.add(date, text(row.model) ?? '(unknown)', {
        usd: count(row.usage) + count(row.byok_usage_inference),
        input: count(row.prompt_tokens),
        output: count(row.completion_tokens),
        calls: count(row.requests),
      })
    }
  },
}

/** Reports by the name of their provider. */
export const REPORTS = { anthropic, openai, openrouter } as const satisfies Record<string, ReportSource>
export type ReportName = keyof typeof REPORTS

/** A report that cannot be fetched or read. */
class ReportError extends Error {}

/** Maximum pages of one report. A year by day has twelve. */
const MAX_PAGES = 1_000
const PAGE_TIMEOUT_MS = 30_000
/** Maximum bytes of a page once it is decompressed. A month of Anthropic's by day has less than 1 MiB. */
const MAX_PAGE_BYTES = 32 * 2 ** 20
/** Maximum lines of a report. */
const MAX_LINES = 2_000_000

interface FetchOptions {
  readonly name: ReportName
  readonly range: Range
  readonly key: string
  /** Base URL in place of the provider's own address. */
  readonly baseUrl?: string | undefined
}

/** Fetches a whole report. Throws ReportError. */
export async function fetchReport({ name, range, key, baseUrl }: FetchOptions): Promise<Bill> {
  const source = REPORTS[name]
  const bill = new BillBuilder()
  let pages = 0
  for (const path of source.paths(range)) {
    const seen = new Set<string>()
    for (let next: string | null = ''; next !== null; ) {
      if (++pages > MAX_PAGES) throw new ReportError(`the report of ${name} has more than ${MAX_PAGES} pages`)
      const url = `${baseUrl ?? source.baseUrl}${path}${next && `&page=${encodeURIComponent(next)}`}`
      const page = await fetchPage(url, source.headers(key), name)
      source.read(page, bill)
      next = page.has_more === true ? text(page.next_page) : null
      if (page.has_more === true && (next === null || seen.has(next)))
        throw new ReportError(
          `the report of ${name} leads from page to page without an end; nothing was compared`,
        )
      if (next !== null) seen.add(next)
    }
  }
  return bill
}

async function fetchPage(
  url: string,
  headers: Readonly<Record<string, string>>,
  name: string,
): Promise<Json> {
  let response: Response
  try {
    response = await fetch(url, { headers, redirect: 'error', signal: signalAfter(PAGE_TIMEOUT_MS) })
  } catch {
    throw new ReportError(
      `${new URL(url).origin} does not answer, so the report of ${name} cannot be fetched`,
    )
  }
  if (!response.ok)
    throw new ReportError(
      `${name} refused its report with status ${response.status}; ${REPORTS[name as ReportName].keyName} must hold a key that may read it`,
    )
  const json = await jsonIn(response, name)
  if (!isObject(json)) throw new ReportError(`the report of ${name} is not JSON, or ends in the middle`)
  return json
}

/** Returns the JSON of a page; null if it has none. Reads no further than the limit, also if it is compressed. */
async function jsonIn(response: Response, name: string): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > MAX_PAGE_BYTES) break
      chunks.push(chunk)
    }
    if (size <= MAX_PAGE_BYTES) return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return null
  }
  throw new ReportError(`a page of the report of ${name} is longer than ${MAX_PAGE_BYTES} bytes`)
}

/** Decodes a saved report: UTF-8, or UTF-16 with its mark, as Excel writes it. Throws ReportError. */
export function decodeReport(bytes: Buffer): string {
  const mark = bytes.subarray(0, 2).toString('hex')
  if (mark === 'fffe') return new TextDecoder('utf-16le').decode(bytes)
  if (mark === 'feff') return new TextDecoder('utf-16be').decode(bytes)
  if (bytes.subarray(0, 1_000).includes(0))
    throw new ReportError(
      'the file is not text in UTF-8, or in UTF-16 with a mark at its beginning; save it as UTF-8',
    )
  return new TextDecoder().decode(bytes) // without the mark that some programs write
}

/** Reads a saved report, either pages as JSON or lines as CSV with a header. Throws ReportError. */
export function readReport(name: ReportName, content: string): Bill {
  const bill = new BillBuilder()
  const begin = content.trimStart()
  if (!begin.startsWith('{') && !begin.startsWith('[')) return readCsv(content, bill)
  let json: unknown
  try {
    json = JSON.parse(content)
  } catch {
    throw new ReportError('the file ends in the middle, or is not JSON')
  }
  const pages = Array.isArray(json) ? objects(json) : isObject(json) ? [json] : []
  if (!pages.some(({ data }) => Array.isArray(data)))
    throw new ReportError(`the file has no \`data\`, so it is no report of ${name}`)
  for (const page of pages) REPORTS[name].read(page, bill)
  if (pages.at(-1)?.has_more === true) bill.problem('the report has further pages, which are not in the file')
  return bill
}

/** Column names in exports, in lower case. */
const COLUMNS: Readonly<Record<'day' | 'model' | 'usd' | 'input' | 'output' | 'calls', readonly string[]>> = {
  day: ['day', 'date', 'usage_date_utc', 'start_time', 'starting_at'],
  model: ['model', 'line_item', 'model_version'],
  usd: ['usd', 'cost_usd', 'cost', 'amount', 'usage'],
  input: ['input', 'input_tokens', 'prompt_tokens', 'tokens_prompt'],
  output: ['output', 'output_tokens', 'completion_tokens', 'tokens_completion'],
  calls: ['calls', 'requests', 'num_model_requests'],
}

function readCsv(content: string, bill: BillBuilder): Bill {
  const [header, ...rows] = content
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map(cellsOf)
  const names = header?.map((name) => name.trim().toLowerCase()) ?? []
  const at = (column: keyof typeof COLUMNS) => names.findIndex((name) => COLUMNS[column].includes(name))
  const columns = {
    day: at('day'),
    model: at('model'),
    usd: at('usd'),
    input: at('input'),
    output: at('output'),
    calls: at('calls'),
  }
  if (columns.day < 0 || columns.model < 0 || columns.usd < 0)
    throw new ReportError(
      'the file needs columns for the day (`date`), the model (`model`) and the cost (`cost_usd`)',
    )
  const currency = names.indexOf('currency')
  for (const row of rows) {
    if (row.length < names.length) {
      bill.problem('a line of the report has too few cells: the file may end in the middle')
      continue
    }
    const day = dayOf(row[columns.day])
    const usd = dollars(row[columns.usd], currency < 0 ? undefined : row[currency], bill)
    if (day === null) bill.problem('a part of the report has no day')
    if (day === null || usd === null) continue
    const tokens = (column: number) => (column < 0 ? null : count(Number(row[column])))
    bill.add(day, row[columns.model]!, {
      usd,
      input: tokens(columns.input),
      output: tokens(columns.output),
      calls: tokens(columns.calls),
    })
  }
  return bill
}

/** Splits a line of CSV. A quoted cell may contain commas. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  )
