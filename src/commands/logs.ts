// `waybill logs`: prints the newest calls in the terminal. With --follow, also prints each new call once, as
// it ends. Includes refused calls. `waybill export`: writes every matching call to stdout, as CSV or JSON. Both read a
// running gateway and nothing else.

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { z } from 'zod'
import { PURPOSES, timeOfId } from '../core/call.ts'
import type { FieldFilter } from '../core/record.ts'
import { terminalColumns } from '../terminal/environment.ts'
import { nearest } from '../yaml/wording.ts'
import { ANSWER_MS, GatewayAccessError, gatewayAt, namedGateway, streamFrom } from './gateway-client.ts'
import { createCallTable, refusedCall, type ShownCall, shownCall, shownRefusal } from './logs-table.ts'
import { complain, readTime, json as toJson, UsageError } from './output.ts'

interface LogsOptions {
  readonly url?: string
  /** File with the gateway's address; without the file, the default address is used. */
  readonly config: string
  readonly keyFile?: string
  readonly follow?: boolean
  readonly json?: boolean
  /** Number of calls to start with. */
  readonly limit: string
  /** Times in the format of `readTime`. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** Additional filters, by their names in the request log; undefined if not given. */
  readonly filters: { readonly [Name in keyof FieldFilter]?: string | undefined }
  readonly env: Readonly<Record<string, string | undefined>>
}

const POLL_MS = 1_000
/**
 * A call is recorded only after its body has arrived, with the time at which the body began to arrive. Each
 * read therefore overlaps the previous one a little. One read in `FAR_EVERY` goes back as far as a body may
 * take to arrive (Node's limit for a request is five minutes).
 */
const NEAR_MS = 10_000
const FAR_MS = 310_000
const FAR_EVERY = 15
const PAGE = '200'

const refusedOf = z.looseObject({ data: z.array(refusedCall) })
const pageOf = z.looseObject({ data: z.array(shownCall), next_cursor: z.string().nullable() })
type Page = z.infer<typeof pageOf>

/** Resolves at the end, when the reader has closed, or on Ctrl-C. Rejects if the gateway does not answer. */
export async function logs({
  url,
  config,
  keyFile,
  follow = false,
  json = false,
  limit,
  since,
  until,
  filters,
  env,
}: LogsOptions): Promise<void> {
  const { stdout } = process
  const stop = new AbortController()
  stdout.on('error', () => stop.abort()) // the reader has closed
  process.once('SIGINT', () => stop.abort())

  const base = namedGateway(url, config, env)
  const narrowed = filtersOf({ follow, limit, since, until, filters })
  const ask = gatewayAt(base, env, keyFile)
  const get = <Answer>(path: string, shape: z.ZodType<Answer>) =>
    ask(path, shape, AbortSignal.any([stop.signal, AbortSignal.timeout(ANSWER_MS)]))
  const list = (query: Record<string, string>) =>
    get(`/api/usage/request-logs?${new URLSearchParams({ ...narrowed, ...query })}`, pageOf)

  // A refused call has a time, but no fields for other filters. Lines of JSON contain only records.
  const isNarrow = Object.keys(narrowed).some((name) => name !== 'since' && name !== 'until')
  const refused = async (): Promise<ShownCall[]> => {
    if (json || isNarrow) return []
    const path = `/api/usage/refused-calls?limit=${PAGE}`
    const { data } = await get(path, refusedOf).catch((error) => {
      if (error instanceof GatewayAccessError && error.status === 404) return { data: [] } // an older gateway
      throw error
    })
    const [from, to] = [narrowed.since ?? '', narrowed.until ?? 'until the end']
    return data.filter(({ created_at: at }) => at >= from && at < to).map(shownRefusal)
  }

  const width = stdout.isTTY ? (terminalColumns(env) ?? stdout.columns) : null
  const table = createCallTable(width, (format, text) => styleText(format, text, { stream: stdout }))
  const print = (calls: readonly ShownCall[]) => {
    for (const call of calls) stdout.write(`${json ? toJson(call) : table.row(call)}\n`)
  }
  try {
    const newest = (await list({ limit })).data.reverse()
    const refusals = await refused()
    const begin = [...newest, ...refusals].sort(byTime).slice(-Number(limit))
    if (begin.length === 0) complain(await nothingFound(narrowed, filters, get))
    if (!json) stdout.write(`${table.header()}\n`)
    if (!follow) return print(begin)
    print(begin.filter(isOver))
    await followCalls({ list, refused, newest, refusals, print, signal: stop.signal })
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
}

const modelList = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), owned_by: z.string(), type: z.string().optional() })),
})

/** Returns a sentence instead of an empty list. Throws UsageError if the given route does not exist. */
async function nothingFound(
  narrowed: Readonly<Record<string, string>>,
  { route, provider, model }: LogsOptions['filters'],
  get: <Answer>(path: string, shape: z.ZodType<Answer>) => Promise<Answer>,
): Promise<string> {
  if (Object.keys(narrowed).length === 0) return 'there are no calls on record yet'
  const { data } = await get('/v1/models', modelList)
  const routes = data.filter(({ type }) => type === 'route').map(({ id }) => id)
  if (route !== undefined && !routes.includes(route)) {
    const near = nearest(route, routes)
    throw new UsageError(
      `the gateway has no route ${JSON.stringify(route)}, and no call on record went by it; ${near === null ? `there are: ${routes.join(', ')}` : `did you mean ${near}?`}`,
    )
  }
  const targets = data.filter(({ type }) => type !== 'route')
  const known = {
    provider: [provider, targets.map(({ owned_by }) => owned_by)],
    model: [model, targets.map(({ id, owned_by }) => id.slice(owned_by.length + 1))],
  } as const
  const hints = Object.entries(known).flatMap(([name, [given, names]]) => {
    const near = given === undefined || names.includes(given) ? null : nearest(given, names)
    return near === null ? [] : [`for --${name}, did you mean ${near}?`]
  })
  return ['no call on record matches', ...hints].join('; ')
}

/** Returns the filters of the request log. Throws UsageError. */
function filtersOf({
  follow,
  limit,
  since,
  until,
  filters,
}: Pick<LogsOptions, 'follow' | 'limit' | 'since' | 'until' | 'filters'>): Record<string, string> {
  if (!/^\d+$/.test(limit) || Number(limit) < 1 || Number(limit) > 200)
    throw new UsageError(`--limit takes a number from 1 to 200, not ${JSON.stringify(limit)}`)
  if (follow && until !== undefined)
    throw new UsageError('--follow shows new calls, so it cannot be combined with --until')
  const { status } = filters
  if (status !== undefined && !/^(ok|error|[1-5]\d\d)$/.test(status))
    throw new UsageError(`--status takes ok, error or an HTTP status, not ${JSON.stringify(status)}`)
  const { purpose } = filters
  if (purpose !== undefined && !(PURPOSES as readonly string[]).includes(purpose))
    throw new UsageError(`--purpose takes ${PURPOSES.join(', ')}, not ${JSON.stringify(purpose)}`)
  const now = Date.now()
  const [from, to] = [readTime('--since', since, now), readTime('--until', until, now)]
  if (from !== undefined && to !== undefined && from >= to)
    throw new UsageError('--since must be before --until')
  const given = Object.entries({ ...filters, since: from?.toISOString(), until: to?.toISOString() })
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

interface Following {
  readonly list: (query: Record<string, string>) => Promise<Page>
  readonly refused: () => Promise<ShownCall[]>
  /** Calls read at the start. The calls that had ended have been printed. */
  readonly newest: readonly ShownCall[]
  readonly refusals: readonly ShownCall[]
  readonly print: (calls: readonly ShownCall[]) => void
  readonly signal: AbortSignal
}

/** Prints each call once, at its end. Rejects if the gateway does not answer, or on abort. */
async function followCalls({ list, refused, newest, refusals, print, signal }: Following): Promise<never> {
  const printed = new Set<string>(newest.filter(isOver).map(({ id }) => id))
  /** Id and start of calls that were seen open. Such calls may end long after they have left the window. */
  const open = new Map<string, number>(
    newest.filter((call) => !isOver(call)).map(({ id }) => [id, timeOfId(id)]),
  )
  const first = newest[0] ? timeOfId(newest[0].id) : Date.now() - NEAR_MS
  let known = new Set(refusals.map(({ id }) => id))
  let looked = Date.now()
  for (let look = 1; ; look++) {
    const far = look % FAR_EVERY === 0
    const since = Math.min(Math.max(first, looked - (far ? FAR_MS : NEAR_MS)), ...open.values())
    const calls = await whenReadable(() => listAll(list, new Date(since).toISOString()), signal)
    looked = Date.now()
    for (const { id } of calls.filter((call) => !isOver(call))) open.set(id, timeOfId(id))
    const over = calls.filter((call) => isOver(call) && !printed.has(call.id))
    const now = await whenReadable(refused, signal)
    print([...over, ...now.filter(({ id }) => !known.has(id))].sort(byEnd))
    known = new Set(now.map(({ id }) => id))
    for (const { id } of over) {
      printed.add(id)
      open.delete(id)
    }
    if (far) for (const id of printed) if (timeOfId(id) < since) printed.delete(id)
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** Reads calls. Retries while the gateway is slow or cannot read its record, and reports this once. */
async function whenReadable(read: () => Promise<ShownCall[]>, signal: AbortSignal): Promise<ShownCall[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof GatewayAccessError && ['unreadable', 'slow'].includes(error.kind))) throw error
      if (tries === 1) complain(`${error.reason}. Asking again.`)
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** Returns all calls since this time, from every page. */
async function listAll(list: Following['list'], since: string): Promise<ShownCall[]> {
  const calls: ShownCall[] = []
  let cursor: string | null = null
  do {
    const page: Page = await list({ limit: PAGE, since, ...(cursor && { cursor }) })
    calls.push(...page.data)
    cursor = page.next_cursor
  } while (cursor)
  return calls
}

const byTime = (a: ShownCall, b: ShownCall): number => (a.created_at < b.created_at ? -1 : 1)
const byEnd = (a: ShownCall, b: ShownCall): number => (a.completed_at! < b.completed_at! ? -1 : 1)

const isOver = ({ completed_at }: ShownCall): boolean => completed_at !== null

interface ExportOptions
  extends Pick<LogsOptions, 'config' | 'url' | 'keyFile' | 'since' | 'until' | 'filters' | 'env'> {
  readonly form: string
  readonly columns?: string
}

/**
 * Writes the calls as they arrive, so their number does not matter. Resolves when everything is written or the reader has closed. Rejects if the gateway refuses or its answer
 * is cut off.
 */
export async function exportCalls(options: ExportOptions): Promise<void> {
  const { config, url, keyFile, since, until, filters, form, columns, env } = options
  const stop = new AbortController()
  process.stdout.on('error', () => stop.abort())
  const base = namedGateway(url, config, env)
  const stream = streamFrom(base, env, keyFile)
  const narrowed = filtersOf({ follow: false, limit: '1', since, until, filters })
  const query = new URLSearchParams({ ...narrowed, form, ...(columns !== undefined && { columns }) })
  let rows = form === 'json' ? -2 : -1 // without the header row or the two brackets
  try {
    await stream(`/api/usage/export?${query}`, stop.signal, async (piece) => {
      for (const byte of piece) if (byte === LINE_FEED) rows++
      if (!process.stdout.write(piece)) await once(process.stdout, 'drain', { signal: stop.signal })
    })
    if (rows > 0) return
    const get = gatewayAt(base, env, keyFile)
    complain(
      await nothingFound(narrowed, filters, (path, shape) =>
        get(path, shape, AbortSignal.timeout(ANSWER_MS)),
      ),
    )
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
}

const LINE_FEED = 10
